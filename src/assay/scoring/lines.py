"""Measures that make size count: which lines were returned, and which of them were wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from assay.scoring.grid import Grid, Place
from assay.scoring.match import Overlap, assign_targets, project
from assay.scoring.measure import Measure
from assay.scoring.ranks import cutoff_of
from assay.types import Hit, Span, Target

if TYPE_CHECKING:
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class Extents:
    """How long the files are, so that a whole file has lines that can be counted."""

    lengths: Mapping[str, int]

    def of(self, span: Span) -> Span | None:
        """The lines of a span that exist; None when there are none."""
        length = self.lengths.get(span.path)
        if span.start is None or span.end is None:
            start, end = 1, length or 0
        else:
            start, end = max(1, span.start), span.end if length is None else min(span.end, length)
        return Span(span.path, start, end) if start <= end else None

    def merged(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The lines of all spans as disjoint runs, each line once."""
        runs: list[Span] = []
        for span in sorted(found for found in map(self.of, spans) if found):
            last = runs[-1] if runs else None
            if last and last.path == span.path and _start(span) <= _end(last) + 1:
                runs[-1] = Span(last.path, last.start, max(_end(last), _end(span)))
            else:
                runs.append(span)
        return tuple(runs)


def _start(span: Span) -> int:
    return span.start or 1


def _end(span: Span) -> int:
    return span.end or 0


def _size(spans: Sequence[Span]) -> int:
    return sum(_end(span) - _start(span) + 1 for span in spans)


def _extents(files: Mapping[str, tuple[int, ...]], named: Iterable[Span]) -> Extents:
    lengths: dict[str, int] = {}
    for span in named:
        known = files.get(span.path)
        lengths[span.path] = max(lengths.get(span.path, 1), span.end or 1) if known is None else len(known)
    return Extents(lengths)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What one unit asks for: its targets that count, and what happens where none of their files is returned."""

    targets: tuple[Target, ...]
    files: frozenset[str]
    missed: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """One ranking beside its targets, as spans that can be counted."""

    returned: tuple[Span, ...]
    targets: tuple[Target, ...]
    extents: Extents


def _each(grid: Grid, measure: Measure, value: Callable[[_Seen], float], *, elsewhere: bool = False) -> FloatArray:
    """Compute a value for every ranking; all that return no file of a target have the same.

    `elsewhere` says that results in other files count too, where there is one in the right file.
    """
    values, k = grid.blank(), cutoff_of(measure)
    wanted = [_want(grid, unit, cast("int", measure["grade"]), value) for unit in range(grid.shape[1])]
    for cell in grid.cells():
        here, places = wanted[cell.unit], grid.places(cell, k)
        near = [place for place in places if place[0] in here.files]
        seen = _see(grid, cell.unit, here.targets, places if elsewhere else near) if near else None
        values[cell.engine, cell.unit] = value(seen) if seen else here.missed
    return values


def _want(grid: Grid, unit: int, least: int, value: Callable[[_Seen], float]) -> _Wanted:
    targets = tuple(t for t in grid.projections("lines")[unit].targets if t.grade >= least)
    files = frozenset(target.span.path for target in targets)
    return _Wanted(targets, files, value(_see(grid, unit, targets, ())))


def _see(grid: Grid, unit: int, targets: tuple[Target, ...], places: Sequence[Place]) -> _Seen:
    returned = tuple(Span(*place) for place in places)
    files = grid.run.lines.get(grid.units[unit].gold, {})
    return _Seen(returned, targets, _extents(files, [*returned, *(target.span for target in targets)]))


def _common(seen: _Seen) -> tuple[int, int, int]:
    returned = seen.extents.merged(seen.returned)
    wanted = seen.extents.merged(target.span for target in seen.targets)
    both = sum(a.common_lines(b) for a in returned for b in wanted)
    return _size(returned), _size(wanted), both


def line_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets' lines that the results inside the cut-off hold, each line counted once.

    ContextBench (arXiv 2602.05892) calls it line coverage.
    """

    def value(seen: _Seen) -> float:
        _, wanted, both = _common(seen)
        return both / wanted if wanted else float("nan")

    return _each(grid, measure, value)


def line_precision(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the lines inside the cut-off that are targets' lines, each line counted once; nothing returned is 0.

    ContextBench (arXiv 2602.05892) gives an empty answer 1, which rewards silence.
    """

    def value(seen: _Seen) -> float:
        returned, wanted, both = _common(seen)
        return both / max(returned, 1) if wanted else float("nan")

    return _each(grid, measure, value, elsewhere=True)


def span_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets met by a result of their own whose intersection over union is at least `iou`.

    Everingham et al., The PASCAL visual object classes challenge, IJCV 88, 2010, for lines instead of boxes.
    """
    least = cast("float", measure["iou"])

    def value(seen: _Seen) -> float:
        projection = project(seen.targets, "lines")
        hits = [Hit(span.path, span.start, span.end) for span in seen.returned]
        met = assign_targets(hits, projection, _at_least(least, seen.extents)).claims
        return sum(c is not None for c in met) / len(seen.targets) if seen.targets else float("nan")

    return _each(grid, measure, value)


def _at_least(least: float, extents: Extents) -> Overlap:
    def iou(first: Span, second: Span) -> float:
        a, b = extents.of(first), extents.of(second)
        if a is None or b is None:
            return 0.0
        common = a.common_lines(b)
        value = common / (_size((a, b)) - common)
        return value if value >= least else 0.0

    return iou
