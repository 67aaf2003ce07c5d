"""Measures of returned lines, which penalize long results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from assay.scoring.grid import FloatArray, Grid, Place
from assay.scoring.match import assign_targets, project
from assay.scoring.ranks import cutoff_of
from assay.types import Hit, Span, Target

if TYPE_CHECKING:
    from assay.scoring.measures import Measure

#: Computes a value from the returned spans, the targets and the lengths of all their files in lines.
_Value = Callable[[Sequence[Span], Sequence[Target], Mapping[str, int]], float]


def line_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets' lines that the results inside the cutoff contain, each line counted once.

    ContextBench (arXiv 2602.05892) calls it line coverage.
    """
    return _line_share(grid, measure, precision=False)


def line_precision(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the returned lines inside the cutoff that are targets' lines, each counted once; 0 without results.

    ContextBench (arXiv 2602.05892) scores an empty ranking 1, which rewards returning nothing.
    """
    return _line_share(grid, measure, precision=True)


def _line_share(grid: Grid, measure: Measure, *, precision: bool) -> FloatArray:
    def value(returned: Sequence[Span], targets: Sequence[Target], lengths: Mapping[str, int]) -> float:
        found, wanted = _merge(returned, lengths), _merge((target.span for target in targets), lengths)
        common = sum(a.common_lines(b) for a in found for b in wanted)
        return common / max(_size(found if precision else wanted), 1) if wanted else float("nan")

    return _compute(grid, measure, value, elsewhere=precision)


def span_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets matched one-to-one by a result with an intersection over union of at least `iou`.

    Everingham et al., The PASCAL visual object classes challenge, IJCV 88, 2010, for lines instead of boxes.
    """
    least = cast("float", measure["iou"])

    def value(returned: Sequence[Span], targets: Sequence[Target], lengths: Mapping[str, int]) -> float:
        def iou(first: Span, second: Span) -> float:
            a, b = (clip(span, lengths[span.path]) for span in (first, second))
            if a is None or b is None:
                return 0.0
            common = a.common_lines(b)
            ratio = common / (_size((a, b)) - common)
            return ratio if ratio >= least else 0.0

        hits = [Hit(span.path, span.start, span.end) for span in returned]
        claims = assign_targets(hits, project(targets, "lines"), iou).claims
        return sum(claim is not None for claim in claims) / len(targets) if targets else float("nan")

    return _compute(grid, measure, value)


def _compute(grid: Grid, measure: Measure, value: _Value, *, elsewhere: bool = False) -> FloatArray:
    """Compute a value for every ranking; rankings without any file of a target share one value.

    With `elsewhere`, results in other files count too if there is one in a file of a target.
    """
    values, k, least = grid.blank(), cutoff_of(measure), cast("int", measure["grade"])
    wanted = [[t for t in projection.targets if t.grade >= least] for projection in grid.projections("lines")]
    files = [frozenset(target.span.path for target in targets) for targets in wanted]

    def compute(unit: int, places: Iterable[Place]) -> float:
        returned, targets = [Span(*place) for place in places], wanted[unit]
        known = grid.run.lines.get(grid.units[unit].gold, {})
        lengths: dict[str, int] = {}
        for span in (*returned, *(target.span for target in targets)):
            lines = known.get(span.path)
            lengths[span.path] = max(lengths.get(span.path, 1), span.end or 1) if lines is None else len(lines)
        return value(returned, targets, lengths)

    missed = [compute(unit, ()) for unit in range(len(wanted))]
    for cell in grid.cells():
        places = grid.places(cell, k)
        inside = [place for place in places if place[0] in files[cell.unit]]
        found = compute(cell.unit, places if elsewhere else inside) if inside else missed[cell.unit]
        values[cell.engine, cell.unit] = found
    return values


def _merge(spans: Iterable[Span], lengths: Mapping[str, int]) -> list[Span]:
    """Return the lines of all spans as disjoint spans."""
    merged: list[Span] = []
    for span in sorted(found for found in (clip(span, lengths[span.path]) for span in spans) if found):
        last = merged[-1] if merged else None
        if last and last.path == span.path and (span.start or 1) <= (last.end or 0) + 1:
            merged[-1] = Span(last.path, last.start, max(last.end or 0, span.end or 0))
        else:
            merged.append(span)
    return merged


def clip(span: Span, last: int) -> Span | None:
    """Return a span without lines beyond the end of its file; None if no line is left."""
    whole = span.start is None or span.end is None
    start, end = (1, last) if whole else (max(1, span.start or 1), min(span.end or 0, last))
    return Span(span.path, start, end) if start <= end else None


def _size(spans: Iterable[Span]) -> int:
    return sum((span.end or 0) - (span.start or 1) + 1 for span in spans)
