"""From scores to results: the order, spans that grow into matching neighbors, and filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.corpus.ignore import Globs, select_paths
from assay.corpus.languages import LANGUAGES
from assay.errors import ConfigError, closest_match
from assay.search.table import FILE_KINDS, UNIT_KINDS, IndexTable, LongArray, Values
from assay.search.view import CorpusView
from assay.syntax.outline import LineSpan

KINDS: Final = (*FILE_KINDS, *UNIT_KINDS)


@dataclass(frozen=True, slots=True)
class SpanGrowth:
    """When a hit grows into adjacent chunks."""

    neighbour: float = field(
        default=0.6,  # .4 gives more overlap and looser spans; 0 turns growing off
        metadata={"about": "share of the hit's score that an adjacent chunk needs to be included; 0 for never"},
    )
    lines: int = field(
        default=60,  # about what a reader takes in at once
        metadata={"about": "lines that a grown hit may have"},
    )
    times: float = field(
        default=3.0,  # a hit three times its chunk still meets it with an IoU of .3
        metadata={"about": "how many times its own length a hit may grow to"},
    )


@dataclass(frozen=True, slots=True)
class SpanHit:
    """Chunks first..last of a file, found by `unit`; `lines` are those of them that are shown, all if None."""

    unit: int
    first: int
    last: int
    lines: LineSpan | None = None


def order_of(scores: Values) -> LongArray:
    """Return the rows that match, best first, ties by number."""
    rows = np.flatnonzero(scores > 0)
    return rows[np.argsort(-scores[rows], kind="stable")]


def select_spans(
    scores: Values, view: CorpusView, growth: SpanGrowth, wanted: Mapping[int, LineSpan] = MappingProxyType({})
) -> Iterator[SpanHit]:
    """Yield spans from the best chunk on, none of which shares a line with an earlier one.

    `wanted` has the lines of the definitions whose name is the query, by chunk.
    """
    taken = np.zeros(view.units, dtype=bool)
    grows = growth.neighbour and view.disjoint
    for unit in _ranked(scores):
        if taken[unit] or (not view.disjoint and _touches(unit, taken, view)):
            continue
        hit = _definition(unit, wanted[unit], taken, view, growth) if unit in wanted and view.disjoint else None
        hit = hit or (_grow(unit, scores, taken, view, growth) if grows else SpanHit(unit, unit, unit))
        taken[hit.first : hit.last + 1] = True
        yield hit


def _ranked(scores: Values) -> Iterator[int]:
    """Yield the order of `order_of`, sorted block by block: ten hits hardly ever need more than the first."""
    rows = (scores > 0).nonzero()[0]
    block = 256
    while len(rows) > block:
        least = np.partition(scores[rows], len(rows) - block)[len(rows) - block]
        top = rows[scores[rows] >= least]
        yield from top[np.argsort(-scores[top], kind="stable")].tolist()
        rows = rows[scores[rows] < least]
        block *= 4
    yield from rows[np.argsort(-scores[rows], kind="stable")].tolist()


def _touches(unit: int, taken: NDArray[np.bool_], view: CorpusView) -> bool:
    units = view.table.units
    rows = np.arange(*view.units_of(int(units.file[unit])))
    rows = rows[taken[rows]]
    return bool(np.any((units.start[rows] <= units.end[unit]) & (units.end[rows] >= units.start[unit])))


def _definition(
    unit: int, lines: LineSpan, taken: NDArray[np.bool_], view: CorpusView, growth: SpanGrowth
) -> SpanHit | None:
    units = view.table.units
    low, high = view.units_of(int(units.file[unit]))
    first = low + int(np.searchsorted(units.end[low:high], lines.start))
    last = low + int(np.searchsorted(units.end[low:high], lines.end))
    free = last < high and not taken[first : last + 1].any()
    return SpanHit(unit, first, last, lines) if free and lines.end - lines.start < growth.lines else None


def _grow(unit: int, scores: Values, taken: NDArray[np.bool_], view: CorpusView, growth: SpanGrowth) -> SpanHit:
    units = view.table.units
    low, high = view.units_of(int(units.file[unit]))
    most = min(growth.lines, int(growth.times * int(units.end[unit] - units.start[unit] + 1)))
    least = growth.neighbour * float(scores[unit])
    first = last = unit
    while True:
        sides = []
        for row, begin, stop in ((first - 1, first - 1, last), (last + 1, first, last + 1)):
            fits = low <= row < high and not taken[row] and scores[row] >= least
            if fits and units.end[stop] - units.start[begin] + 1 <= most:
                sides.append((-scores[row], row))
        if not sides:
            return SpanHit(unit, first, last)
        row = min(sides)[1]
        first, last = min(first, row), max(last, row)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on results, which change neither scores nor order; an empty tuple accepts everything."""

    paths: tuple[str, ...] = ()  # globs, as in a corpus: `src/**`, `*.py`
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of files (code, docs, ...) or chunks (function, class, ...); a method is a function
    regex: str | None = None  # must be found in the text of the file, or of the span
    min_score: float | None = None

    def __post_init__(self) -> None:
        if self.min_score is not None and not isfinite(self.min_score):
            raise ConfigError(f"min_score = {self.min_score}", hint="it is a number")
        for language in self.languages:
            if language not in LANGUAGES:
                near = closest_match(language, LANGUAGES)
                hint = f"did you mean {near[0]}?" if near else "such as python, go or typescript"
                raise ConfigError(f"unknown language {language!r}", hint=hint)
        for kind in self.kinds:
            if kind not in KINDS:
                raise ConfigError(f"unknown kind {kind!r}", hint=f"kinds: {', '.join(KINDS)}")
        if self.regex is not None:
            try:
                re.compile(self.regex)
            except re.error as error:
                raise ConfigError(f"not a regular expression: {self.regex!r}", hint=str(error)) from error

    def compile(self, table: IndexTable) -> TableFilter:
        """Return the filter for one table."""
        return TableFilter(
            self,
            table,
            select_paths(self.paths) if self.paths else None,
            frozenset({*self.kinds, *(["method"] if "function" in self.kinds else [])}),
            re.compile(self.regex, re.MULTILINE) if self.regex is not None else None,
        )


@dataclass(frozen=True, slots=True)
class TableFilter:
    """A filter over one table."""

    filter: Filter
    table: IndexTable
    globs: Globs | None
    kinds: frozenset[str]
    pattern: re.Pattern[str] | None

    def passes(self, file: int, unit: int, score: float, text: Callable[[], str]) -> bool:
        """Return whether a result that was found by `unit` is accepted; `text` reads what the pattern searches."""
        files, wanted = self.table.files, self.filter
        if wanted.min_score is not None and score < wanted.min_score:
            return False
        if self.globs is not None and not self.globs.selects(files.paths[file]):
            return False
        if wanted.languages and files.languages[file] not in wanted.languages:
            return False
        own = {FILE_KINDS[files.kind[file]], UNIT_KINDS[self.table.units.kind[unit]]}
        if self.kinds and not own & self.kinds:
            return False
        return self.pattern is None or self.pattern.search(text()) is not None
