"""Which repository is a gold set about? The one it names, on this machine or brought here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.corpus import Limits, cache_dir
from assay.corpus.cache import Store
from assay.corpus.git.command import git
from assay.corpus.git.mirror import fetch_commit
from assay.corpus.spec import is_url
from assay.errors import GoldError
from assay.gold.reanchor.trees import Repository
from assay.types import Gold


@dataclass(frozen=True, slots=True)
class Located:
    """A repository and two of its commits."""

    repository: Repository
    old: str
    new: str


def locate(gold: Gold, repo: str | None, old: str | None, new: str) -> Located:
    """Find the repository that holds both revisions: the one that is named, else the corpus of the set."""
    corpus = gold.corpus
    old = old or corpus.rev
    if old is None:
        raise GoldError(
            f"'{gold.name}' does not say which commit it was made at",
            file=gold.source,
            hint="name it with --from",
        )
    if repo is None and corpus.kind == "git" and is_url(corpus.value):
        return _mirrored(corpus.value, corpus.root or "", old, new)
    repository = _local(gold) if repo is None else Repository(Path(repo), corpus.root or "")
    return Located(repository, repository.commit(old), repository.commit(new))


def _local(gold: Gold) -> Repository:
    """Find the repository of a set whose corpus is a folder here; relative ones begin at the gold file."""
    corpus = gold.corpus
    if corpus.kind not in ("git", "path"):
        raise GoldError(
            f"the corpus of '{gold.name}' is {corpus.repository}, which has no history",
            file=gold.source,
            hint="name the git repository it was made from with --repo",
        )
    folder = (Path(gold.source).parent if gold.source else Path()) / Path(corpus.value).expanduser()
    inner = _prefix(folder) if corpus.kind == "path" and folder.is_dir() else ""
    return Repository(folder, "/".join(part for part in (inner, corpus.root or "") if part))


def _prefix(folder: Path) -> str:
    """Say where in its repository a folder lies; a bare one, or none, has nothing before it."""
    found = git("rev-parse", "--show-prefix", cwd=folder, limits=Limits())
    return "" if found.code else found.out.decode("utf-8", "surrogateescape").strip().rstrip("/")


def _mirrored(url: str, root: str, old: str, new: str) -> Located:
    """Bring both revisions of a remote repository into one mirror."""
    store = Store(cache_dir().absolute())
    with store.lock(f"mirror {url}"):
        first, last = (fetch_commit(store, url, rev, Limits()) for rev in (old, new))
    return Located(Repository(last.folder, root), first.commit, last.commit)
