"""Measures of returned lines, which penalize long results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from assay.scoring.grid import Grid, Place
from assay.scoring.match import Overlap, assign_targets, project
from assay.scoring.ranks import cutoff_of
from assay.types import Hit, Span, Target

if TYPE_CHECKING:
    from assay.scoring.measures import Measure
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class Extents:
    """The lengths of files, so that the lines of a whole file can be counted."""

    lengths: Mapping[str, int]

    def of(self, span: Span) -> Span | None:
        """Return the existing lines of a span; None without any."""
        length = self.lengths.get(span.path)
        if span.start is None or span.end is None:
            start, end = 1, length or 0
        else:
            start, end = max(1, span.start), span.end if length is None else min(span.end, length)
        return Span(span.path, start, end) if start <= end else None

    def merge(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Return the lines of all spans as disjoint spans."""
        runs: list[Span] = []
        for span in sorted(found for found in map(self.of, spans) if found):
            last = runs[-1] if runs else None
            if last and last.path == span.path and (span.start or 1) <= (last.end or 0) + 1:
                runs[-1] = Span(last.path, last.start, max(last.end or 0, span.end or 0))
            else:
                runs.append(span)
        return tuple(runs)


def _size(spans: Sequence[Span]) -> int:
    return sum((span.end or 0) - (span.start or 1) + 1 for span in spans)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The returned spans of a ranking and its targets."""

    returned: tuple[Span, ...]
    targets: tuple[Target, ...]
    extents: Extents


def _compute(
    grid: Grid, measure: Measure, value: Callable[[_Comparison], float], *, elsewhere: bool = False
) -> FloatArray:
    """Compute a value for every ranking; rankings without any file of a target share one value.

    With `elsewhere`, results in other files count too if there is one in the right file.
    """
    values, k, least = grid.blank(), cutoff_of(measure), cast("int", measure["grade"])
    projections = grid.projections("lines")
    wanted = [tuple(target for target in projection.targets if target.grade >= least) for projection in projections]
    files = [frozenset(target.span.path for target in targets) for targets in wanted]
    missed = [value(_compare(grid, unit, targets, ())) for unit, targets in enumerate(wanted)]
    for cell in grid.cells():
        places = grid.places(cell, k)
        near = [place for place in places if place[0] in files[cell.unit]]
        if near:
            seen = _compare(grid, cell.unit, wanted[cell.unit], places if elsewhere else near)
            values[cell.engine, cell.unit] = value(seen)
        else:
            values[cell.engine, cell.unit] = missed[cell.unit]
    return values


def _compare(grid: Grid, unit: int, targets: tuple[Target, ...], places: Sequence[Place]) -> _Comparison:
    returned = tuple(Span(*place) for place in places)
    files = grid.run.lines.get(grid.units[unit].gold, {})
    lengths: dict[str, int] = {}
    for span in (*returned, *(target.span for target in targets)):
        known = files.get(span.path)
        lengths[span.path] = max(lengths.get(span.path, 1), span.end or 1) if known is None else len(known)
    return _Comparison(returned, targets, Extents(lengths))


def _count_lines(seen: _Comparison) -> tuple[int, int, int]:
    """Return the numbers of returned, wanted and common lines."""
    returned = seen.extents.merge(seen.returned)
    wanted = seen.extents.merge(target.span for target in seen.targets)
    both = sum(a.common_lines(b) for a in returned for b in wanted)
    return _size(returned), _size(wanted), both


def line_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets' lines that the results inside the cut-off contain, each line counted once.

    ContextBench (arXiv 2602.05892) calls it line coverage.
    """

    def value(seen: _Comparison) -> float:
        _, wanted, both = _count_lines(seen)
        return both / wanted if wanted else float("nan")

    return _compute(grid, measure, value)


def line_precision(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the returned lines inside the cut-off that are targets' lines, each counted once; 0 without results.

    ContextBench (arXiv 2602.05892) scores an empty ranking 1, which rewards returning nothing.
    """

    def value(seen: _Comparison) -> float:
        returned, wanted, both = _count_lines(seen)
        return both / max(returned, 1) if wanted else float("nan")

    return _compute(grid, measure, value, elsewhere=True)


def span_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets matched one-to-one by a result with an intersection over union of at least `iou`.

    Everingham et al., The PASCAL visual object classes challenge, IJCV 88, 2010, for lines instead of boxes.
    """
    least = cast("float", measure["iou"])

    def value(seen: _Comparison) -> float:
        projection = project(seen.targets, "lines")
        hits = [Hit(span.path, span.start, span.end) for span in seen.returned]
        met = assign_targets(hits, projection, _iou_from(least, seen.extents)).claims
        return sum(c is not None for c in met) / len(seen.targets) if seen.targets else float("nan")

    return _compute(grid, measure, value)


def _iou_from(least: float, extents: Extents) -> Overlap:
    def iou(first: Span, second: Span) -> float:
        a, b = extents.of(first), extents.of(second)
        if a is None or b is None:
            return 0.0
        common = a.common_lines(b)
        value = common / (_size((a, b)) - common)
        return value if value >= least else 0.0

    return iou
