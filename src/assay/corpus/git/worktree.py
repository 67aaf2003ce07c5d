"""What git knows about a folder: which files it tracks, and which rules are in .git/info/exclude."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.corpus.config import Limits
from assay.corpus.git.command import git
from assay.corpus.walking.ignore import Level, read_level
from assay.errors import EnvironmentFailure


@dataclass(frozen=True, slots=True)
class Repository:
    """The files git tracks, and the folders they lie in, as paths of the walk."""

    files: frozenset[str]
    folders: frozenset[str]
    exclude: Level | None

    def tracks(self, path: str) -> bool:
        """Tell whether git tracks this file, or something below this folder."""
        return path in self.files or path in self.folders


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A repository that git did not read, and what it said."""

    why: str


def find_top(folder: Path) -> Path | None:
    """Find the work tree a folder lies in."""
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / ".git"):
            return candidate
    return None


def is_linked_worktree(folder: str) -> bool:
    """Tell whether a folder is a second work tree of some repository: the same source once more."""
    try:
        with open(os.path.join(folder, ".git"), "rb") as stream:
            text = stream.read(4096)
    except OSError:
        return False
    return text.startswith(b"gitdir:") and b"/worktrees/" in text


def read_repository(top: Path, below: Path, base: str, limits: Limits) -> Repository | Unreadable:
    """Ask git for the tracked files below a folder; `base` is the path of `top` in the walk."""
    try:
        where = git("rev-parse", "--show-toplevel", "--git-path", "info/exclude", cwd=below, limits=limits)
        listed = git("ls-files", "-z", "--full-name", cwd=below, limits=limits)
    except EnvironmentFailure as error:
        return Unreadable(error.message)
    lines = os.fsdecode(where.out).split("\n")
    if where.code or listed.code or not os.path.isdir(lines[0]) or not os.path.samefile(lines[0], top):
        return Unreadable((where if where.code else listed).last_words if where.code or listed.code else "not its own")
    names = [os.fsdecode(name) for name in listed.out.split(b"\0") if name]
    prefix = f"{base}/" if base else ""
    files = frozenset(prefix + name for name in names)
    return Repository(files, _folders(files), read_level(below / lines[1], base))


def _folders(files: Iterable[str]) -> frozenset[str]:
    """Collect every folder above the files."""
    found: set[str] = set()
    for path in files:
        parent = path.rpartition("/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return frozenset(found)
