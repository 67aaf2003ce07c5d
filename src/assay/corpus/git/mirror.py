"""Bare copies of remote repositories: one commit deep where the server allows it, all of it where it does not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from assay.corpus.cache import Store
from assay.corpus.config import Limits
from assay.corpus.git.command import git
from assay.corpus.tools import Answer
from assay.corpus.urls import without_credentials
from assay.errors import CorpusError, EnvironmentFailure

#: A full hash: what it names never changes.
COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: A fetch is under way, or was killed: what lies there is not built upon.
_BUSY: Final = "assay-busy"
_ALL: Final = ("+HEAD:refs/assay/head", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_NO_REPOSITORY: Final = re.compile(
    r"not found|does not exist|does not appear to be a git repository|could not read Username|authentication failed"
    r"|permission denied|access denied|not a git repository",
    re.IGNORECASE,
)
_NO_REVISION: Final = re.compile(
    r"couldn't find remote ref|not our ref|unadvertised object|invalid refspec|no such ref|not a valid|bad object",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare repository that holds the commit."""

    folder: Path
    commit: str


def fetch_commit(store: Store, url: str, rev: str, limits: Limits) -> Mirror:
    """Bring a revision into the mirror of a URL; the caller holds the lock of that mirror."""
    folder = store.mirror(url)
    if (folder / _BUSY).exists() or not (folder / "HEAD").exists():
        store.discard(folder)
        _create(folder, limits)
    (folder / _BUSY).touch()
    here = _commit(folder, rev, limits) if COMMIT.fullmatch(rev) else None
    commit = here or _shallow(folder, url, rev, limits) or _whole(folder, url, rev, limits)
    (folder / _BUSY).unlink()
    return Mirror(folder, commit)


def _create(folder: Path, limits: Limits) -> None:
    """Make an empty bare repository without hooks or templates."""
    folder.mkdir(parents=True)
    made = git("init", "--quiet", "--bare", "--template=", ".", cwd=folder, limits=limits)
    if made.code:
        raise EnvironmentFailure(f"git init failed: {made.last_words}", file=folder, hint="check `git --version`")


def _shallow(folder: Path, url: str, rev: str, limits: Limits) -> str | None:
    """Ask for one commit; None when the server gives no such thing by that name."""
    if re.search(r"[~^]", rev):
        return None
    fetched = _git(folder, "fetch", "--quiet", "--no-tags", "--depth=1", "--", url, rev, limits=limits)
    if fetched.code == 0:
        return _commit(folder, "FETCH_HEAD", limits)
    if not _NO_REVISION.search(fetched.err) and _NO_REPOSITORY.search(fetched.err):
        _no_repository(url, fetched)
    return None


def _whole(folder: Path, url: str, rev: str, limits: Limits) -> str:
    """Ask for all branches and tags, then look the revision up: an abbreviated commit, `v1~2`."""
    deepen = ("--unshallow",) if (folder / "shallow").exists() else ()
    options = ("--quiet", "--prune", "--update-head-ok", *deepen)
    fetched = _git(folder, "fetch", *options, "--", url, *_ALL, limits=limits)
    if fetched.code and not _NO_REVISION.search(fetched.err):
        if _NO_REPOSITORY.search(fetched.err):
            _no_repository(url, fetched)
        raise EnvironmentFailure(
            f"{without_credentials(url)} cannot be fetched: {without_credentials(fetched.last_words)}",
            hint="check the network and the URL",
        )
    name = re.sub(r"^HEAD(?=[~^]|$)", "refs/assay/head", rev)
    commit = _commit(folder, name, limits)
    if commit is None:
        (folder / _BUSY).unlink()
        raise CorpusError(
            f"revision {rev!r} is not found in {without_credentials(url)}",
            hint=f"see `git ls-remote {without_credentials(url)}`",
        )
    return commit


def _commit(folder: Path, rev: str, limits: Limits) -> str | None:
    """Resolve a revision to a commit."""
    found = _git(folder, "rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", limits=limits)
    return None if found.code else found.out.decode().strip()


def _no_repository(url: str, fetched: Answer) -> NoReturn:
    """Say that there is no such repository, or none that we may read."""
    raise CorpusError(
        f"{without_credentials(url)} is no git repository that can be read: {without_credentials(fetched.last_words)}",
        hint="check the URL; for a private repository set up git's own credentials (git-credential, ssh)",
    )


def _git(folder: Path, *arguments: str, limits: Limits) -> Answer:
    """Run git on a mirror, named relatively: a process that outlives us stays with the folder if it is moved."""
    return git("--git-dir=.", *arguments, cwd=folder, limits=limits)
