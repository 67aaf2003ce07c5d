"""Code that two repositories share, found by windows of a few lines, whatever the blanks in them.

A line is reduced to a checksum of its characters without blanks; a window mixes the checksums of consecutive lines
that are not blank into 64 bits. Two different windows are taken for equal by a chance of 1 in 10^11 against ten
million windows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.training.mining.config import WindowRules

_BLANKS: Final = b" \t\r\f\v"
#: Odd numbers with well-mixed bits, of splitmix64.
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

Windows = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The windows of a text: their hashes, and the first and last line of each, from 0."""

    hashes: Windows
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def cut_windows(data: bytes, rules: WindowRules) -> Cut:
    """Lay windows over the lines of a text that are not blank; those of too few characters are left out."""
    lines = data.translate(None, _BLANKS).split(b"\n")
    sizes = np.fromiter(map(len, lines), np.int64, len(lines))
    places = np.flatnonzero(sizes)
    count = len(places) - rules.lines + 1
    if count < 1:
        return Cut(np.empty(0, np.uint64), places[:0], places[:0])
    sums = np.fromiter(map(crc32, filter(None, lines)), np.uint64, len(places))
    total = np.concatenate([[0], np.cumsum(sizes[places])])
    long = total[rules.lines :] - total[:count] >= rules.characters
    hashes = _mixed([sums[nth : nth + count] for nth in range(rules.lines)])
    return Cut(hashes[long], places[:count][long], places[rules.lines - 1 :][long])


def hash_windows(data: bytes, rules: WindowRules) -> Windows:
    """Give the windows of a text, each once, rising."""
    return np.unique(cut_windows(data, rules).hashes)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The first and last line of each window of a text, from 0, and whether the window is known."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    known: NDArray[np.bool_]

    def lines(self, count: int) -> NDArray[np.bool_]:
        """Mark the lines, of so many, that lie in a window which is known."""
        marks = np.zeros(count + 1, dtype=np.int64)
        np.add.at(marks, self.first[self.known], 1)
        np.add.at(marks, self.last[self.known] + 1, -1)
        return np.cumsum(marks)[:-1] > 0

    def is_copy(self, rules: WindowRules, aside: range) -> bool:
        """Tell whether a file is largely known; windows that begin in the lines `aside` do not count."""
        counted = (self.first < aside.start) | (self.first >= aside.stop)
        known = int((self.known & counted).sum())
        return known >= rules.fewest and known >= rules.share * int(counted.sum())


def compare(data: bytes, known: Windows, rules: WindowRules) -> Compared:
    """Look for the windows of a text among those that are known, which rise."""
    if not len(known):
        return Compared(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    cut = cut_windows(data, rules)
    place = np.minimum(np.searchsorted(known, cut.hashes), len(known) - 1)
    return Compared(cut.first, cut.last, known[place] == cut.hashes)


def copied_lines(data: bytes, known: Windows, rules: WindowRules) -> NDArray[np.bool_]:
    """Mark the lines that lie in a window which is known; `known` rises."""
    return compare(data, known, rules).lines(data.count(b"\n") + 1)


def merge_windows(parts: Iterable[Windows]) -> Windows:
    """Put windows of several repositories together, each once, rising."""
    every = list(parts)
    return np.unique(np.concatenate(every)) if every else np.empty(0, np.uint64)


def _mixed(columns: list[Windows]) -> Windows:
    """Mix the checksums of lines that follow each other, in their order, into one number."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * _MIX[0] + _STEP
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX[1]
        mixed ^= mixed >> np.uint64(32)
    return mixed
