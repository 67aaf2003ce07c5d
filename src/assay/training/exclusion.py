"""Repositories that are never learned from, and detection of code copied from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.corpus.languages import detect
from assay.errors import ConfigError
from assay.files import read_utf8
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.training.config import WindowRules
from assay.training.forks import WorkerTask, run_tasks
from assay.training.repositories import GitRepo, list_files, read_files, repository_name

Windows = NDArray[np.uint64]  # hashes, ascending

#: Raised when the meaning of a window changes, so that cached ones are recomputed.
_FORMAT: Final = 1
_BLANKS: Final = b" \t\r\f\v"
#: Odd numbers with well-mixed bits, of splitmix64.
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Excluded repositories as `owner/name`, sorted."""

    names: tuple[str, ...]

    def find_reason(self, repository: GitRepo) -> str | None:
        """Return why a repository is excluded: it is listed, or has the name of a listed one (a fork, a mirror)."""
        own = {repository.name.casefold(), (repository_name(repository.url) or "").casefold()}
        for name in self.names:
            if name.casefold() in own:
                return f"excluded: {name} is on the exclusion list"
        base = repository.name.rpartition("/")[2].casefold()
        for name in self.names:
            if name.rpartition("/")[2].casefold() == base:
                return f"excluded: it has the name of {name}, which is on the exclusion list"
        return None


@dataclass(frozen=True, slots=True, eq=False)
class ExclusionIndex:
    """The exclusions with the windows of their code."""

    exclusions: Exclusions
    windows: Windows = field(repr=False)
    checked: Mapping[str, str]  # repositories whose windows are known, with the commit
    unchecked: tuple[str, ...]  # repositories whose code is missing or unreadable
    digest: str


def read_exclusions(path: Path) -> Exclusions:
    """Read a list with one URL or owner/name per line; `#` begins a comment."""
    names: set[str] = set()
    for number, line in enumerate(read_utf8(path, ConfigError).splitlines(), 1):
        text = line.partition("#")[0].strip()
        name = repository_name(text)
        if text and name is None:
            hint = "write a URL or owner/name a line"
            raise ConfigError(f"{text!r} names no repository", file=path, line=number, hint=hint)
        names |= {name} if name else set()
    return Exclusions(tuple(sorted(names)))


def build_exclusions(
    exclusions: Exclusions, found: Sequence[GitRepo], rules: WindowRules, cache: Path, workers: int
) -> ExclusionIndex:
    """Collect the windows of the excluded repositories among `found`, cached by commit."""
    here = [one for one in found if exclusions.find_reason(one)]
    missing = [one for one in here if _read_windows(_cache_path(one, rules, cache)) is None]
    tasks = [WorkerTask(one.name, partial(_cache_windows, one, rules, cache)) for one in missing]
    failed = {done.name for done in run_tasks(tasks, workers) if done.error is not None}
    read = [one for one in here if one.name not in failed]
    windows = _merge_cached(sorted({_cache_path(one, rules, cache) for one in read}), cache)
    checked = {one.name: one.commit for one in sorted(read, key=lambda one: one.name)}
    known = {name.casefold() for name in checked}
    unchecked = tuple(name for name in exclusions.names if name.casefold() not in known)
    digest = hashlib.sha256("\n".join(exclusions.names).encode() + windows.tobytes()).hexdigest()
    return ExclusionIndex(exclusions, windows, checked, unchecked, digest)


def _cache_path(repository: GitRepo, rules: WindowRules, cache: Path) -> Path:
    cut = (rules.lines, rules.characters, rules.bytes)
    key = hashlib.sha256(f"{_FORMAT} {repository.commit} {cut}".encode()).hexdigest()[:12]
    return cache / f"{repository.file_name}-{key}.windows"


def _cache_windows(repository: GitRepo, rules: WindowRules, cache: Path) -> None:
    entries = [
        one
        for one in list_files(repository)
        if one.size <= rules.bytes and ("." not in one.path.rpartition("/")[2] or detect(one.path, b"").kind != "other")
    ]
    found = (hash_windows(data, rules) for _, data in read_files(repository, entries) if b"\0" not in data)
    path = _cache_path(repository, rules, cache)
    write_store(path, {"windows": _FORMAT, "repository": repository.name}, {"windows": merge_windows(found)})


def _merge_cached(parts: Sequence[Path], cache: Path) -> Windows:
    key = hashlib.sha256("\n".join(part.name for part in parts).encode()).hexdigest()
    path = cache / f"all-{key[:12]}.windows"
    cached = _read_windows(path)
    if cached is not None:
        return cached
    windows = merge_windows(read_store(part).arrays["windows"] for part in parts)
    write_store(path, {"windows": _FORMAT}, {"windows": windows})
    return read_store(path).arrays["windows"]


def _read_windows(path: Path) -> Windows | None:
    try:
        return read_store(path).arrays["windows"]
    except (IndexFormatError, KeyError):
        return None


@dataclass(frozen=True, slots=True, eq=False)
class WindowHashes:
    """The windows of a text: their hashes, and the first and last line of each, from 0."""

    hashes: Windows
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def cut_windows(data: bytes, rules: WindowRules) -> WindowHashes:
    """Hash every run of consecutive nonblank lines of a text that has enough characters."""
    lines = data.translate(None, _BLANKS).split(b"\n")
    sizes = np.fromiter(map(len, lines), np.int64, len(lines))
    places = np.flatnonzero(sizes)
    count = len(places) - rules.lines + 1
    if count < 1:
        return WindowHashes(np.empty(0, np.uint64), places[:0], places[:0])
    sums = np.fromiter(map(crc32, filter(None, lines)), np.uint64, len(places))
    total = np.concatenate([[0], np.cumsum(sizes[places])])
    long = total[rules.lines :] - total[:count] >= rules.characters
    hashes = np.zeros(count, dtype=np.uint64)
    for nth in range(rules.lines):
        hashes = (hashes ^ sums[nth : nth + count]) * _MIX[0] + _STEP
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _MIX[1]
        hashes ^= hashes >> np.uint64(32)
    return WindowHashes(hashes[long], places[:count][long], places[rules.lines - 1 :][long])


def hash_windows(data: bytes, rules: WindowRules) -> Windows:
    """Return the distinct windows of a text."""
    return np.unique(cut_windows(data, rules).hashes)


def merge_windows(parts: Iterable[Windows]) -> Windows:
    """Return the distinct windows of several repositories."""
    every = list(parts)
    return np.unique(np.concatenate(every)) if every else np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class WindowMatches:
    """The first and last line of each window of a text, from 0, and whether the window is known."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    known: NDArray[np.bool_]

    def lines(self, count: int) -> NDArray[np.bool_]:
        """Return, for each of `count` lines, whether it is in a known window."""
        marks = np.zeros(count + 1, dtype=np.int64)
        np.add.at(marks, self.first[self.known], 1)
        np.add.at(marks, self.last[self.known] + 1, -1)
        return np.cumsum(marks)[:-1] > 0

    def is_copy(self, rules: WindowRules, ignored: range) -> bool:
        """Return whether a file is largely copied, not counting windows that begin in `ignored` lines."""
        counted = (self.first < ignored.start) | (self.first >= ignored.stop)
        known = int((self.known & counted).sum())
        return known >= rules.fewest and known >= rules.share * int(counted.sum())


def compare(data: bytes, known: Windows, rules: WindowRules) -> WindowMatches:
    """Look up the windows of a text among the known ones."""
    if not len(known):
        return WindowMatches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    cut = cut_windows(data, rules)
    place = np.minimum(np.searchsorted(known, cut.hashes), len(known) - 1)
    return WindowMatches(cut.first, cut.last, known[place] == cut.hashes)


def copied_lines(data: bytes, known: Windows, rules: WindowRules) -> NDArray[np.bool_]:
    """Return, for each line of a text, whether it is in a known window."""
    return compare(data, known, rules).lines(data.count(b"\n") + 1)


NO_EXCLUSIONS: Final = ExclusionIndex(Exclusions(()), merge_windows(()), {}, (), "")
