"""Names of files and definitions: matching with the words of a query, and the graph of who uses what."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.search.table import IntArray, LongArray, NameTable, ReferenceTable, Values, offsets, ranges

_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """When a part of a name matches a word by prefix: config and configuration, parse and parser."""

    inside: int = 4  # characters in common when one is the beginning of the other
    apart: int = 5  # ... and when they end differently
    weight: float = 0.9  # of the share in common; 0 leaves prefixes out


@dataclass(frozen=True, slots=True)
class Matches:
    """Names that share a part with a query."""

    owner: IntArray
    precision: Values  # share of the name's characters that are matched
    word: LongArray  # per match of a word with a part: the word,
    row: LongArray  # the position of the name among the owners,
    fit: Values  # and how well word and part match

    def recall(self, weights: Values) -> Values:
        """Return the weighted share of the query that each name matches, each word by its best part."""
        flat = np.zeros(len(weights) * len(self.owner))
        np.maximum.at(flat, self.word * len(self.owner) + self.row, self.fit)
        best = flat.reshape(len(weights), len(self.owner))
        total = float(weights.sum())
        shares: Values = weights @ best / total if total else best.sum(axis=0)
        return shares


class NameIndex:
    """Names by their parts."""

    def __init__(self, names: NameTable) -> None:
        self._parts = names.parts
        self._owner = names.owner
        length = np.array([len(part) for part in names.parts], dtype=np.float64)
        row = np.repeat(np.arange(len(names.owner)), np.diff(names.offset))
        order = np.argsort(names.part, kind="stable")
        self._row: LongArray = row[order]
        self._begin: list[int] = np.searchsorted(names.part[order], np.arange(len(names.parts) + 1)).tolist()
        self._total = np.bincount(row, weights=length[names.part], minlength=len(names.owner))

    def match(self, words: Sequence[str], prefixes: Prefixes) -> Matches:
        """Find the names that share a part with the words."""
        found = [(w, part, fit) for w, word in enumerate(words) for part, fit in self._similar(word, prefixes)]
        if not found:
            return Matches(self._owner[:0], np.zeros(0), self._row[:0], self._row[:0], np.zeros(0))
        held = [self._row[self._begin[part] : self._begin[part + 1]] for _, part, _ in found]
        times = np.array([len(one) for one in held])
        rows, row = _renumber(np.concatenate(held), len(self._owner))
        matched = np.bincount(row, weights=self._characters(found).repeat(times), minlength=len(rows))
        return Matches(
            self._owner[rows],
            np.minimum(matched / self._total[rows], 1.0),
            np.array([word for word, _, _ in found]).repeat(times),
            row,
            np.array([fit for _, _, fit in found]).repeat(times),
        )

    def _characters(self, found: Sequence[tuple[int, int, float]]) -> Values:
        best: dict[int, float] = {}
        for _, part, fit in found:
            best[part] = max(fit, best.get(part, 0.0))
        return np.array([best.pop(part, 0.0) * len(self._parts[part]) for _, part, _ in found])

    def _similar(self, word: str, prefixes: Prefixes) -> Iterator[tuple[int, float]]:
        parts = self._parts
        if not prefixes.weight or len(word) < prefixes.inside:
            at = bisect_left(parts, word)
            if at < len(parts) and parts[at] == word:
                yield at, 1.0
            return
        head = word[: prefixes.inside]
        for number in range(bisect_left(parts, head), bisect_left(parts, head + _LAST)):
            part = parts[number]
            if part == word:
                yield number, 1.0
            elif (common := _common(part, word, prefixes)) > 0:
                yield number, prefixes.weight * common / max(len(part), len(word))


def _renumber(values: LongArray, size: int) -> tuple[LongArray, LongArray]:
    there = np.zeros(size, dtype=bool)
    there[values] = True
    listed = there.nonzero()[0]
    place = np.empty(size, dtype=np.int64)
    place[listed] = np.arange(len(listed))
    return listed, place[values]


def _common(one: str, other: str, prefixes: Prefixes) -> int:
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return common if common == shorter or common >= prefixes.apart else 0


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """When a reference is an edge."""

    definers: int = field(
        default=3,  # a name that more files define is a common word
        metadata={"about": "files that may define a name for references to it to count"},
    )
    strength: float = field(
        default=0.2,  # below it two files share only common names
        metadata={"about": "least sum of shared names for an edge, each name 1 / (definers x log2(2 + users))"},
    )


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges by the file they start from."""

    begin: LongArray
    target: LongArray
    incoming: LongArray

    def votes(self, scores: Values, least: float) -> Values:
        """Return the votes of files that score above `least` for the files they use, damped by popularity."""
        voters = np.flatnonzero(scores > least)
        begin, end = self.begin[voters], self.begin[voters + 1]
        target = self.target[ranges(begin, end)]
        given = np.bincount(target, weights=np.repeat(scores[voters], end - begin), minlength=len(scores))
        return np.asarray(given / np.sqrt(self.incoming + 3.0))


def build_graph(defined: ReferenceTable, used: ReferenceTable, files: int, config: GraphConfig) -> Graph:
    """Return the graph of references to definitions."""
    names, name = np.unique(defined.name, return_inverse=True)
    definers = np.bincount(name, minlength=len(names))
    at = np.minimum(np.searchsorted(names, used.name), max(len(names) - 1, 0))
    known = names[at] == used.name if len(names) else np.zeros(len(used.name), dtype=bool)
    user, what = used.file[known].astype(np.int64), at[known]
    mentioners = np.bincount(what, minlength=len(names))
    weight = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + mentioners))
    rare = definers[what] <= config.definers
    user, what = user[rare], what[rare]
    by_name = defined.file[np.argsort(name, kind="stable")].astype(np.int64)
    begin = offsets(definers)
    target = by_name[ranges(begin[what], begin[what + 1])]
    times = definers[what]
    return _edges(np.repeat(user, times), target, np.repeat(weight[what], times), files, config)


def _edges(source: LongArray, target: LongArray, weight: Values, files: int, config: GraphConfig) -> Graph:
    other = source != target
    key, nth = np.unique(source[other] * files + target[other], return_inverse=True)
    tie = np.bincount(nth, weights=weight[other], minlength=len(key))
    source, target = np.divmod(key[tie > config.strength], max(files, 1))
    return Graph(np.searchsorted(source, np.arange(files + 1)), target, np.bincount(target, minlength=files))
