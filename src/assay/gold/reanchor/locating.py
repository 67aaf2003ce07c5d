"""Which repository is a gold set about? The one it names, on this machine or brought here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.corpus import Limits, cache_dir
from assay.corpus.cache import Store
from assay.corpus.git.command import git
from assay.corpus.git.mirror import fetch_commit
from assay.corpus.spec import is_url
from assay.errors import GoldError
from assay.gold.reanchor.trees import Repository
from assay.types import Gold, Label

_SHORT = 12  # digits of a commit in a message
_NAMED = 3  # commits that a message names; the rest is counted


@dataclass(frozen=True, slots=True)
class Located:
    """A repository and two of its commits."""

    repository: Repository
    old: str
    new: str


def locate(gold: Gold, repo: str | None, old: str | None, new: str) -> Located:
    """Find the repository that holds both revisions: the one that is named, else the corpus of the set."""
    corpus = gold.corpus
    old = old or made_at(gold)
    if repo is None and corpus.kind == "git" and is_url(corpus.value):
        return _mirrored(corpus.value, corpus.root or "", old, new)
    repository = _local(gold) if repo is None else Repository(Path(repo), corpus.root or "")
    return Located(repository, repository.commit(old), repository.commit(new))


def made_at(gold: Gold) -> str:
    """Say at which revision a set was made: that of its corpus, else the one commit that all of its labels name."""
    if gold.corpus.rev is not None:
        return gold.corpus.rev
    labels = [label for query in gold.queries for label in query.labels]
    commits = sorted({label.commit for label in labels})
    if gold.corpus.kind in ("git", "path") and len(commits) == 1 and commits[0]:
        return commits[0]
    raise GoldError(
        f"'{gold.name}' does not say which commit it was made at{_said(labels)}",
        file=gold.source,
        hint="name it with --from",
    )


def unlabelled(gold: Gold) -> int:
    """Count the anchors that no label says the commit of."""
    count = 0
    for query in gold.queries:
        labels = {label.target for label in query.labels}
        anchors = {target.anchor for target in (*query.targets, *(one.target for one in query.adversaries))}
        count += len(anchors - labels)
    return count


def _said(labels: Sequence[Label]) -> str:
    """Say what labels know of the commit, where it is not one."""
    commits = Counter(label.commit for label in labels)
    told = ", ".join(f"{commit[:_SHORT] or 'none'} ({count})" for commit, count in sorted(commits.items())[:_NAMED])
    more = f" and {len(commits) - _NAMED} more" if len(commits) > _NAMED else ""
    return f": its labels name {told}{more}" if any(commits) else ""


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
