"""Who, when, on which commit: what stands beside every vote, label and look."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from pathlib import Path

from assay.corpus.config import Limits
from assay.corpus.git.command import git
from assay.corpus.git.worktree import find_top
from assay.errors import AssayError
from assay.types import Corpus


def now() -> str:
    """Give the time in UTC, to the millisecond: votes of one reviewer follow each other within a second."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def today() -> str:
    """Give the day in UTC."""
    return datetime.now(UTC).date().isoformat()


def commit_of(corpus: Corpus) -> str:
    """Name the commit or version of a corpus: what was checked out, or where the work tree of a folder stands."""
    if corpus.revision:
        return corpus.revision
    top = find_top(corpus.root)
    return _said("rev-parse", "--verify", "--quiet", "HEAD", folder=top) if top else ""


def user_name(folder: Path) -> str:
    """Name who sits here: git's user.name, else the login."""
    name = _said("config", "user.name", folder=folder)
    try:
        return name or getpass.getuser()
    except (KeyError, OSError):  # a container may have no entry for its user
        return "unknown"


def _said(*arguments: str, folder: Path) -> str:
    """Give the line that git answers; nothing where there is no git, or nothing to say."""
    try:
        answer = git(*arguments, cwd=folder, limits=Limits())
    except (AssayError, OSError):
        return ""
    return answer.out.decode("utf-8", "replace").strip() if answer.code == 0 else ""
