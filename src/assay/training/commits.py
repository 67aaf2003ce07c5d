"""Pairs from the history: the subject of a commit with the lines that it wrote and those around them."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Final

from assay.corpus.config import ArchiveLimits
from assay.corpus.git import git, git_stream
from assay.corpus.languages import FileType, detect
from assay.search.words import runs
from assay.syntax.secrets import secret_lines
from assay.training.config import MiningConfig
from assay.training.exclusion import Windows, copied_lines
from assay.training.repositories import EVERYBODYS, GitRepo, LearningScope, LicensedFolders, TreeEntry, read_files
from assay.training.sampling import Collection, PairCandidate, draw_rank
from assay.training.sources import COPIED_FILE, OTHER_LICENCE, SelectedFile, is_code, is_foreign, is_test, open_source
from assay.training.text import ask_subject, path_terms

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
class CommitChange:
    """What a commit made of a file: its new lines and those around them."""

    path: str
    text: bytes


@dataclass(frozen=True, slots=True)
class CommitRead:
    """A change of a commit; None for a commit whose content is not here."""

    commit: str
    change: CommitChange | None


def list_subjects(repository: GitRepo) -> Iterator[tuple[str, str]]:
    """List the commits that are no merges with their subjects, as far as the history is here."""
    arguments = ("log", "--no-merges", "--no-show-signature", "--format=%H %s", repository.commit)
    listed = git(*_PLAIN, *arguments, cwd=repository.folder, limits=ArchiveLimits())
    for line in listed.out.decode("utf-8", "replace").split("\n"):
        commit, _, subject = line.partition(" ")
        if subject:
            yield commit, subject


def changed_paths(repository: GitRepo, commits: Sequence[str]) -> dict[str, list[str]]:
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
    repository: GitRepo, commits: Sequence[str], wanted: Callable[[str], bool], config: MiningConfig
) -> Iterator[CommitRead]:
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
        yield CommitRead(left[named - 1], None)
        left = left[named:]
    yield from (CommitRead(commit, None) for commit in left)


def _read(patch: _Patch | None) -> Iterator[CommitRead]:
    if patch is not None:
        yield from (CommitRead(patch.commit, change) for change in patch.changes())


def _patches(stream: IO[bytes], wanted: Callable[[str], bool], config: MiningConfig) -> Iterator[_Patch]:
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
        return self._old > 0 or self._new > 0

    def head(self, line: bytes) -> None:
        self.begun = self.begun or line.startswith(b"diff ")
        if line.startswith(b"+++ "):
            path = line[4:].rstrip(b"\n\t").removeprefix(b"b/").decode("utf-8", "surrogateescape")
            self._path = path if self._wanted(path) else ""
        elif found := _HUNK.match(line):
            self._old, self._new = (1 if count is None else int(count) for count in found.groups())

    def line(self, line: bytes) -> None:
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

    def changes(self) -> tuple[CommitChange, ...]:
        return tuple(CommitChange(path, b"".join(lines)) for path, lines in self._texts.items())


@contextmanager
def _printed(repository: GitRepo, commits: Sequence[str], *options: str) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{commit}\n" for commit in commits).encode("ascii"))
        names.seek(0)
        arguments = ("log", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--format=%x01%H", *_DIFF, *options)
        with git_stream(*_PLAIN, *arguments, cwd=repository.folder, stdin=names) as stream:
            yield stream


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit whose subject says something."""

    id: str
    asked: str
    rank: int
    paths: tuple[str, ...] = ()  # what it changed


class _Languages(dict[str, str]):
    """The languages of changed files by path; "" for what is no code of the project's own, tests included."""

    def __init__(self, scripts: Mapping[str, FileType], folders: LicensedFolders, here: Container[str]) -> None:
        super().__init__()
        self._scripts = scripts
        self._folders = folders
        self._here = here

    def __missing__(self, path: str) -> str:
        kind = self._scripts.get(path) or detect(path, b"")
        code = is_code(kind) and not is_test(path) and not is_foreign(path)
        code = code and not self._folders.bars_past(path, self._here)
        found = self[path] = (kind.language or "") if code else ""
        return found


@dataclass(frozen=True, slots=True)
class CommitMiner:
    """What is needed to read the history of a repository."""

    repository: GitRepo
    entries: Mapping[str, tuple[int, TreeEntry]]  # the files that are there now, with their numbers
    scripts: Mapping[str, FileType]  # programs without an extension
    refused: Mapping[str, str | None]  # files that were read: why they were not learned from, None where they were
    known: Windows
    folders: LicensedFolders
    config: MiningConfig
    collection: Collection
    scope: LearningScope = EVERYBODYS

    def mine(self) -> None:
        """Offer the commits that changed a few code files, in the order of the draw."""
        languages = _Languages(self.scripts, self.folders, self.entries)
        numbers = {path: number for path, (number, _) in self.entries.items()}
        told = {commit.id: commit for commit in self._narrow(languages)}
        refused = self._refused(told.values(), languages)
        for each in read_changes(self.repository, list(told), lambda path: bool(languages[path]), self.config):
            if each.change is None:
                self.collection.dropped["commit without its content"] += 1
                continue
            number = numbers.setdefault(each.change.path, len(numbers))
            if reason := refused.get(each.change.path):
                self.collection.dropped[reason] += 1
                continue
            self._offer(told[each.commit], each.change, languages[each.change.path], number)

    def _refused(self, commits: Iterable[_Commit], languages: Mapping[str, str]) -> dict[str, str]:
        found = dict(self.refused)
        changed = {path for commit in commits for path in commit.paths if languages[path]}
        new = [self.entries[path] for path in sorted(changed & self.entries.keys() - found.keys())]
        small = {entry.path: (number, entry) for number, entry in new if entry.size <= self.config.files.bytes}
        for entry, data in read_files(self.repository, [entry for _, entry in small.values()]):
            file = SelectedFile(small[entry.path][0], entry, languages[entry.path], test=False)
            source = open_source(file, data, self.known, self.config, self.scope)
            found[entry.path] = source if isinstance(source, str) else None
        return {path: reason for path, reason in found.items() if reason in (COPIED_FILE, OTHER_LICENCE)}

    def _narrow(self, languages: Mapping[str, str]) -> list[_Commit]:
        rules = self.config.commits
        kept: list[_Commit] = []
        telling = sorted(self._telling(), key=lambda commit: (commit.rank, commit.id))
        for begin in range(0, len(telling), rules.read):
            part = telling[begin : begin + rules.read]
            paths = changed_paths(self.repository, [commit.id for commit in part])
            changed = [replace(commit, paths=tuple(paths.get(commit.id, ()))) for commit in part]
            kept += [commit for commit in changed if self._fits(commit.paths, languages)]
            if len(kept) >= rules.read:
                break
        return kept[: rules.read]

    def _fits(self, paths: Sequence[str], languages: Mapping[str, str]) -> bool:
        code = sum(bool(languages[path]) for path in paths)
        fits = 0 < code <= self.config.commits.files and len(paths) <= self.config.commits.paths
        return fits and not any(self.scope.withholds(path, self.entries) for path in paths)

    def _telling(self) -> Iterator[_Commit]:
        for commit, subject in list_subjects(self.repository):
            asked = ask_subject(subject, self.config.pairs)
            if asked is None:
                self.collection.dropped["subject says little"] += 1
            else:
                yield _Commit(commit, asked, draw_rank(self.config.seed, "commit", commit))

    def _offer(self, commit: _Commit, change: CommitChange, language: str, number: int) -> None:
        rank = draw_rank(self.config.seed, "change", commit.id, change.path)
        if self.collection.wants("commit", rank):
            text = change.text.decode("utf-8", "replace")
            path = path_terms(change.path)
            candidate = PairCandidate("commit", rank, commit.asked, Counter(runs(text)), path, language, number)
            self.collection.offer(candidate, self._taint(change, text))

    def _taint(self, change: CommitChange, text: str) -> str | None:
        """Say why a change must not be learned from."""
        if copied_lines(change.text, self.known, self.config.windows).any():
            return "copied"
        return "secret" if next(secret_lines(text), None) is not None else None
