"""Which word stands in which chunk, and how often: one pass over the files, counted in slabs.

Every file is read once. Its text is cut into runs that no word can cross, runs are numbered, and only the distinct
runs of the whole corpus are taken apart into words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.search.chunks import Chunks, count_windows, lay_windows, windows_of
from assay.search.config import SearchConfig
from assay.syntax.identifiers import words
from assay.syntax.lines import count_lines

FloatArray = NDArray[np.float64]
LongArray = NDArray[np.int64]

# Newlines come along so that every run knows its line. ASCII punctuation and blanks are in no word.
_RUN = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+|\n")
_NEWLINE = 0  # the number of a newline among the runs
_SHIFT = 32  # a key is chunk << 32 | run: both stay far below 2**31


@dataclass(frozen=True, slots=True)
class Slab:
    """How much is held before it is counted; no effect on any answer."""

    pairs: int = 2_000_000  # about 50 MB of working memory, and few passes


SLAB = Slab()


@dataclass(frozen=True, slots=True)
class Document:
    """A file to index."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each key occurs; keys are distinct and rising."""

    key: LongArray
    count: FloatArray


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The chunks of a corpus with their words; a key is word number × number of chunks + chunk."""

    chunks: Chunks
    numbers: Mapping[str, int]
    content: Counts
    path: Counts  # words of the file's path, once in each of its chunks per time they stand there


def count_words(documents: Iterable[Document], config: SearchConfig) -> Occurrences:
    """Cut documents, given in path order, into chunks and count the words of each."""
    reader = _Reader(config)
    for document in documents:
        reader.read(document)
    chunks = lay_windows(tuple(reader.paths), reader.lines, config)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    content = _spell(reader.finish(), _words_of_runs(reader.runs, numbers, config), len(chunks))
    path = _count_paths(chunks, numbers)
    return Occurrences(chunks, dict(numbers), content, path)


def merge_counts(parts: list[Counts]) -> Counts:
    """Add counts up by key."""
    if not parts:
        return Counts(np.zeros(0, np.int64), np.zeros(0))
    keys = np.concatenate([part.key for part in parts])
    counts = np.concatenate([part.count for part in parts])
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return Counts(keys[first], np.add.reduceat(counts, first) if len(first) else counts)


class _Reader:
    """Turn documents into counted (chunk, run) pairs, a slab at a time so that memory stays flat."""

    def __init__(self, config: SearchConfig) -> None:
        self.paths: list[str] = []
        self.lines: list[int] = []
        self.runs: defaultdict[str, int] = defaultdict()
        self.runs.default_factory = self.runs.__len__
        self.runs["\n"] = _NEWLINE
        self._config = config
        self._chunks = 0
        self._held: list[LongArray] = []
        self._pairs = 0
        self._counted: list[Counts] = []

    def read(self, document: Document) -> None:
        """Take in one document."""
        tokens = _RUN.findall(document.text)
        runs = np.fromiter(map(self.runs.__getitem__, tokens), np.int64, len(tokens))
        newline = runs == _NEWLINE
        lines = count_lines(document.text)
        windows = count_windows(lines, self._config)
        line, runs = np.cumsum(newline)[~newline], runs[~newline]
        for window in windows_of(line, windows, self._config):
            inside = window >= 0
            self._hold(((self._chunks + window[inside]) << _SHIFT) | runs[inside])
        self.paths.append(document.path)
        self.lines.append(lines)
        self._chunks += windows

    def finish(self) -> Counts:
        """Give all pairs with their counts."""
        self._count()
        return merge_counts(self._counted)

    def _hold(self, keys: LongArray) -> None:
        """Keep keys until there are enough of them to count."""
        self._held.append(keys)
        self._pairs += len(keys)
        if self._pairs >= SLAB.pairs:
            self._count()

    def _count(self) -> None:
        """Count the keys held so far."""
        if self._held:
            keys, counts = np.unique(np.concatenate(self._held), return_counts=True)
            self._counted.append(Counts(keys, counts.astype(np.float64)))
        self._held, self._pairs = [], 0


def _words_of_runs(runs: Iterable[str], numbers: Mapping[str, int], config: SearchConfig) -> list[list[int]]:
    """Number the words of each run; an overlong ASCII run has none."""
    return [
        [] if len(run) > config.longest_word and run.isascii() else [numbers[word] for word in words(run)]
        for run in runs
    ]


def _spell(pairs: Counts, spelled: list[list[int]], chunks: int) -> Counts:
    """Turn (chunk, run) pairs into (word, chunk) pairs."""
    length = np.array([len(numbers) for numbers in spelled], dtype=np.int64)
    flat = np.fromiter((number for numbers in spelled for number in numbers), np.int64, int(length.sum()))
    run = pairs.key & ((1 << _SHIFT) - 1)
    times = length[run]
    first = (np.cumsum(length) - length)[run]
    nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    word = flat[np.repeat(first, times) + nth]
    key = word * chunks + np.repeat(pairs.key >> _SHIFT, times)
    return merge_counts([Counts(key, np.repeat(pairs.count, times))])


def _count_paths(chunks: Chunks, numbers: Mapping[str, int]) -> Counts:
    """Give every chunk the words of its file's path."""
    named = [np.array([numbers[word] for word in words(path)], dtype=np.int64) for path in chunks.paths]
    parts = [named[file] * len(chunks) + chunk for chunk, file in enumerate(chunks.file.tolist())]
    keys = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return merge_counts([Counts(keys, np.ones(len(keys)))])
