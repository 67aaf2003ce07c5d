"""From scored units to spans: hits grow into neighbours that match too, and no two hits share a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.search.evidence import Values
from assay.search.table import LongArray
from assay.search.view import CorpusView
from assay.syntax.outline import LineSpan


@dataclass(frozen=True, slots=True)
class SpanGrowth:
    """When a hit takes in the units beside it."""

    neighbour: float = field(
        default=0.6,  # .4 gives more overlap and looser spans; 0 turns growing off
        metadata={"about": "share of the hit's score that a neighbour must have to be taken in; 0 for never"},
    )
    lines: int = field(
        default=60,  # about what a reader takes in at once
        metadata={"about": "lines that a grown hit may have"},
    )
    times: float = field(
        default=3.0,  # a hit three times its unit still meets it with an IoU of .3
        metadata={"about": "how many times its own length a hit may grow to"},
    )


@dataclass(frozen=True, slots=True)
class SpanHit:
    """Units first..last of a file, found by `unit`; `lines` are those of them that are shown, all if None."""

    unit: int
    first: int
    last: int
    lines: LineSpan | None = None


def select_spans(
    scores: Values, view: CorpusView, growth: SpanGrowth, asked: Mapping[int, LineSpan] = MappingProxyType({})
) -> Iterator[SpanHit]:
    """Walk the units from the best on; what an earlier hit has taken in is not found again.

    `asked` has the lines of the definition that was asked for by name, by the unit that holds its name.
    """
    taken = np.zeros(view.units, dtype=bool)
    grows = growth.neighbour and view.apart
    for unit in _ranked(scores):
        if taken[unit] or (not view.apart and _touches(unit, taken, view)):
            continue
        hit = _definition(unit, asked[unit], taken, view, growth) if unit in asked and view.apart else None
        hit = hit or (_grow(unit, scores, taken, view, growth) if grows else SpanHit(unit, unit, unit))
        taken[hit.first : hit.last + 1] = True
        yield hit


def _definition(
    unit: int, lines: LineSpan, taken: NDArray[np.bool_], view: CorpusView, growth: SpanGrowth
) -> SpanHit | None:
    units = view.table.units
    low, high = view.first_unit[(file := int(units.file[unit])) : file + 2].tolist()
    first = low + int(np.searchsorted(units.end[low:high], lines.start))
    last = low + int(np.searchsorted(units.end[low:high], lines.end))
    free = last < high and not taken[first : last + 1].any()
    return SpanHit(unit, first, last, lines) if free and lines.end - lines.start < growth.lines else None


def _ranked(scores: Values) -> Iterator[int]:
    rows = (scores > 0).nonzero()[0]
    slab = 256  # ten hits hardly ever need more
    while len(rows) > slab:
        least = np.partition(scores[rows], len(rows) - slab)[len(rows) - slab]
        top = rows[scores[rows] >= least]
        yield from top[np.argsort(-scores[top], kind="stable")].tolist()
        rows = rows[scores[rows] < least]
        slab *= 4
    yield from rows[np.argsort(-scores[rows], kind="stable")].tolist()


def _touches(unit: int, taken: NDArray[np.bool_], view: CorpusView) -> bool:
    units = view.table.units
    file = int(units.file[unit])
    rows = np.arange(view.first_unit[file], view.first_unit[file + 1])
    rows = rows[taken[rows]]
    return bool(np.any((units.start[rows] <= units.end[unit]) & (units.end[rows] >= units.start[unit])))


def _grow(unit: int, scores: Values, taken: NDArray[np.bool_], view: CorpusView, growth: SpanGrowth) -> SpanHit:
    units = view.table.units
    low, high = view.first_unit[(file := int(units.file[unit])) : file + 2].tolist()
    room = min(growth.lines, int(growth.times * int(units.end[unit] - units.start[unit] + 1)))
    least = growth.neighbour * float(scores[unit])
    first = last = unit
    while True:
        sides = []
        for row, begin, stop in ((first - 1, first - 1, last), (last + 1, first, last + 1)):
            fits = low <= row < high and not taken[row] and scores[row] >= least
            if fits and units.end[stop] - units.start[begin] + 1 <= room:
                sides.append((-scores[row], row))
        if not sides:
            return SpanHit(unit, first, last)
        row = min(sides)[1]
        first, last = min(first, row), max(last, row)


def order_of(scores: Values) -> LongArray:
    """Order what matches, best first, ties by number."""
    rows = np.flatnonzero(scores > 0)
    return rows[np.argsort(-scores[rows], kind="stable")]
