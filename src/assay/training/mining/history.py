"""What git remembers of a repository: subjects, changed paths, changed lines; as far as its objects are here."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

from assay.corpus.config import Limits
from assay.corpus.git.command import git, git_stream
from assay.training.mining.config import MiningConfig
from assay.training.mining.repositories import Repository

#: Begins a commit in what git prints: no line of a patch begins with it.
_BEGIN: Final = b"\x01"
_HUNK: Final = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
#: Paths as they are, and nothing that a configuration could make of a patch.
_PLAIN: Final = ("-c", "core.quotePath=false", "--git-dir=.")
_DIFF: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short")
_PATCH: Final = (
    *("-p", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_RESTARTS: Final = 50  # times that git may stop over an object that is not here; each costs a start of git


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit made of a file: its new lines and those around them."""

    path: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Read:
    """A change of a commit; None for a commit whose content is not here."""

    commit: str
    change: Change | None


def list_subjects(repository: Repository) -> Iterator[tuple[str, str]]:
    """List the commits that are no merges with their subjects, as far as the history is here."""
    arguments = ("log", "--no-merges", "--no-show-signature", "--format=%H %s", repository.commit)
    listed = git(*_PLAIN, *arguments, cwd=repository.folder, limits=Limits())
    for line in listed.out.decode("utf-8", "replace").split("\n"):
        commit, _, subject = line.partition(" ")
        if subject:
            yield commit, subject


def changed_paths(repository: Repository, commits: Sequence[str]) -> dict[str, list[str]]:
    """List the files that commits changed: trees are compared, no content is read."""
    paths: dict[str, list[str]] = {}
    here: list[str] = []
    with _printed(repository, commits, "--name-only") as stream:
        for line in stream:
            text = line.rstrip(b"\n").decode("utf-8", "surrogateescape")
            if line.startswith(_BEGIN):
                here = paths.setdefault(text[1:], [])
            elif text:
                here.append(text)
    return paths


def read_changes(
    repository: Repository, commits: Sequence[str], wanted: Callable[[str], bool], config: MiningConfig
) -> Iterator[Read]:
    """Read what commits did to wanted paths; where git stops over an object, go on with the next commit.

    It stops after the name of the commit, or before it: so the last one that it named is not trusted, unless that is
    the last of all and something is said of it.
    """
    left = list(commits)
    for _ in range(_RESTARTS):
        if not left:
            return
        named, last = 0, None
        with _printed(repository, left, *_PATCH) as stream:
            for patch in _patches(stream, wanted, config):
                yield from _read(last)
                named, last = named + 1, patch
        if named == len(left) and last is not None and last.begun:
            yield from _read(last)
            return
        named = max(named, 1)
        yield Read(left[named - 1], None)
        left = left[named:]
    yield from (Read(commit, None) for commit in left)


def _read(patch: _Patch | None) -> Iterator[Read]:
    """Give the changes of a patch."""
    if patch is not None:
        yield from (Read(patch.commit, change) for change in patch.changes())


def _patches(stream: IO[bytes], wanted: Callable[[str], bool], config: MiningConfig) -> Iterator[_Patch]:
    """Read the patches of commits, whole ones only: the one that git stopped in is left out."""
    patch: _Patch | None = None
    for line in stream:
        if patch is not None and patch.inside:
            patch.line(line)
        elif line.startswith(_BEGIN):
            if patch is not None:
                yield patch
            patch = _Patch(line[1:].strip().decode("ascii"), wanted, config)
        elif patch is not None:
            patch.head(line)
    if patch is not None and not patch.inside:
        yield patch


class _Patch:
    """The patch of one commit, being read; lines inside a hunk are counted, since they may look like anything."""

    def __init__(self, commit: str, wanted: Callable[[str], bool], config: MiningConfig) -> None:
        self.commit = commit
        self.begun = False  # whether git printed more than the name
        self._wanted = wanted
        self._config = config
        self._texts: dict[str, list[bytes]] = {}
        self._path = ""
        self._old = self._new = 0
        self._bytes = 0

    @property
    def inside(self) -> bool:
        """Whether the hunk goes on."""
        return self._old > 0 or self._new > 0

    def head(self, line: bytes) -> None:
        """Read a line between hunks."""
        self.begun = self.begun or line.startswith(b"diff ")
        if line.startswith(b"+++ "):
            path = line[4:].rstrip(b"\n\t").removeprefix(b"b/").decode("utf-8", "surrogateescape")
            self._path = path if self._wanted(path) else ""
        elif found := _HUNK.match(line):
            self._old, self._new = (1 if count is None else int(count) for count in found.groups())

    def line(self, line: bytes) -> None:
        """Read a line of a hunk; a note that a file lacks its last newline is not one of them."""
        sign = line[:1]
        if sign == b"\\":
            return
        self._old -= sign != b"+"
        self._new -= sign != b"-"
        if sign != b"-" and self._path and self._bytes < self._config.commits.bytes:
            kept = self._texts.setdefault(self._path, [])
            if len(kept) < self._config.pairs.lines:
                kept.append(line[1:])
                self._bytes += len(line)

    def changes(self) -> tuple[Change, ...]:
        """Give what was read, file by file."""
        return tuple(Change(path, b"".join(lines)) for path, lines in self._texts.items())


@contextmanager
def _printed(repository: Repository, commits: Sequence[str], *options: str) -> Iterator[IO[bytes]]:
    """Let git print something of each commit, in their order."""
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{commit}\n" for commit in commits).encode("ascii"))
        names.seek(0)
        arguments = ("log", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--format=%x01%H", *_DIFF, *options)
        with git_stream(*_PLAIN, *arguments, cwd=repository.folder, stdin=names) as stream:
            yield stream
