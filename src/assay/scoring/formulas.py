from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from assay.errors import InputError
from assay.scoring.grid import BoolArray, FloatArray, Grid, GridCell, IntArray, SpanKey
from assay.scoring.match import PATH, PLACE, Level, assign_targets, project
from assay.syntax.text import BYTES_PER_TOKEN, estimate_tokens
from assay.types import Hit, Run, Span, Target

if TYPE_CHECKING:
    from assay.scoring.measures import Measure


class MeasureRange(NamedTuple):
    """The lowest and highest value of a measure, and the value of a failed query."""

    low: float
    high: float
    worst: float


#: Definitions of other benchmarks, each with the only level that it has; `rule=assay` has every level.
RULE_LEVELS: Mapping[str, Level] = MappingProxyType({"semble": "file", "octocode": "lines", "pyckle": "file"})


def share_range(_: Measure) -> MeasureRange:
    return MeasureRange(0.0, 1.0, 0.0)


def ndcg_range(measure: Measure) -> MeasureRange:
    """Return 0 to 1; under octocode's rule, up to the value of k results in the only target."""
    if measure["rule"] == "octocode":
        return MeasureRange(0.0, float(_discounts(cutoff_of(measure)).sum()), 0.0)
    return share_range(measure)


def matching_level(measure: Measure) -> Level:
    return cast("Level", measure["level"])


def cutoff_of(measure: Measure) -> int:
    """Return the cutoff, 0 for a measure that takes none; raise ConfigError if a cutoff or parameter is missing."""
    return measure.complete().k or 0


def grades_at(grid: Grid, measure: Measure) -> IntArray:
    k, level = cutoff_of(measure), matching_level(measure)
    return np.where(grid.within(level, k), grid.graded(level).grades[..., :k], 0)


def first_rank(relevant: BoolArray) -> IntArray:
    """Return the first true rank, from 1; k + 1 if there is none, so that misses are censored, not dropped."""
    k = relevant.shape[-1]
    return np.asarray(np.where(relevant.any(axis=-1), relevant.argmax(axis=-1) + 1, k + 1))


def _discounts(k: int) -> FloatArray:
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)))


def _relevant(grid: Grid, measure: Measure) -> tuple[BoolArray, FloatArray]:
    least = cast("int", measure["grade"])
    if any(param.name == "rule" for param in measure.kind.params) and measure["rule"] != "assay":
        targets = [sum(target.grade >= least for target in query.targets) for query in grid.queries]
        return _unfolded_grades(grid, measure) >= least, np.where(np.array(targets) > 0, targets, np.nan)
    total = (grid.graded(matching_level(measure)).ideal >= least).sum(axis=-1).astype(np.float64)
    return grades_at(grid, measure) >= least, np.where(total > 0, total, np.nan)


def ndcg(grid: Grid, measure: Measure) -> FloatArray:
    """Discounted gain of the ranking over that of the ideal one; the gain is the grade, the discount log2(1 + rank).

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002; the linear-gain form
    that trec_eval computes as ndcg_cut. `rule=semble` and `rule=octocode` are other formulas.
    """
    k = cutoff_of(measure)
    discounts = _discounts(k)
    if measure["rule"] == "semble":
        return _semble_ndcg(grid, discounts)
    if measure["rule"] == "octocode":
        grades = [sorted((target.grade for target in query.targets), reverse=True)[:k] for query in grid.queries]
        best = np.array([(discounts[: len(row)] * row).sum() for row in grades])
        return np.asarray((_unfolded_grades(grid, measure) * discounts).sum(axis=-1) / np.where(best > 0, best, np.nan))
    # both sums are over rows of equal length, so an ideal ranking is exactly 1
    ideal = (grid.graded(matching_level(measure)).ideal[:, :k] * discounts).sum(axis=-1)
    gained = (grades_at(grid, measure) * discounts).sum(axis=-1)
    return np.asarray(gained / np.where(ideal > 0, ideal, np.nan))


def _semble_ndcg(grid: Grid, discounts: FloatArray) -> FloatArray:
    """Score by semble's published rule (MinishLab/semble, benchmarks/), to reproduce semble's numbers.

    Every target counts 1, two spans of one file are two targets, a path matches by suffix in either direction,
    repeated results keep their ranks, and targets found at the same rank count once.
    """
    values = grid.blank()
    for cell in grid.cells():
        wanted = [target.span.path for target in grid.queries[cell.unit].targets]
        if wanted:
            paths = [hit.path for hit in cell.hits[: len(discounts)]]
            slots = {_semble_rank(path, paths) for path in wanted} - {len(paths)}
            values[cell.engine, cell.unit] = discounts[sorted(slots)].sum() / discounts[: len(wanted)].sum()
    return values


def _semble_rank(wanted: str, paths: list[str]) -> int:
    for position, path in enumerate(paths):
        if path == wanted or path.endswith("/" + wanted) or wanted.endswith("/" + path):
            return position
    return len(paths)


def _unfolded_grades(grid: Grid, measure: Measure) -> IntArray:
    """Return the best grade of the targets that each of the first k results touches; repeated results keep their ranks.

    The rule of octocode (Muvon/octocode, benchmark/score.py: one common line is enough, a target may count several
    times, so that nDCG can exceed 1) and of Pyckle's guide (equal paths).
    """
    k, by_file = cutoff_of(measure), matching_level(measure) == "file"
    grades = np.zeros((*grid.shape, k), dtype=np.int64)
    for cell in grid.cells():
        for rank, hit in enumerate(cell.hits[:k]):
            touched = (target for target in grid.queries[cell.unit].targets if _shares_line(hit, target, by_file))
            grades[cell.engine, cell.unit, rank] = max((target.grade for target in touched), default=0)
    return grades


def _shares_line(hit: Hit, target: Target, by_file: bool) -> bool:
    if by_file or target.span.start is None:
        return hit.path == target.span.path
    return hit.start is not None and hit.span.common_lines(target.span) > 0


def reciprocal_rank(grid: Grid, measure: Measure) -> FloatArray:
    """One over the rank of the first relevant result; 0 without one inside the cutoff.

    Kantor and Voorhees, The TREC-5 confusion track, Information Retrieval 2, 2000.
    """
    relevant, total = _relevant(grid, measure)
    ranks = first_rank(relevant)
    return np.where(ranks <= relevant.shape[-1], 1.0 / ranks, 0.0) + 0.0 * total


def hit(grid: Grid, measure: Measure) -> FloatArray:
    """1 if a relevant result is inside the cutoff, else 0; trec_eval's success."""
    relevant, total = _relevant(grid, measure)
    return relevant.any(axis=-1) + 0.0 * total


def recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets that were found inside the cutoff. Cleverdon and Mills, Aslib Proceedings 15(4), 1963."""
    relevant, total = _relevant(grid, measure)
    if measure["rule"] == "assay":
        return np.asarray(relevant.sum(axis=-1) / total)
    values, k, least = grid.blank(), cutoff_of(measure), cast("int", measure["grade"])
    for cell in grid.cells():  # octocode: a result may find several targets, a target is found once
        wanted = [target for target in grid.queries[cell.unit].targets if target.grade >= least]
        found = sum(any(_shares_line(hit, target, by_file=False) for hit in cell.hits[:k]) for target in wanted)
        values[cell.engine, cell.unit] = found / len(wanted) if wanted else np.nan
    return values


def precision(grid: Grid, measure: Measure) -> FloatArray:
    """Number of relevant results divided by the cutoff; missing results of a short list count as irrelevant."""
    relevant, total = _relevant(grid, measure)
    return np.asarray(relevant.sum(axis=-1) / relevant.shape[-1] + 0.0 * total)


def average_precision(grid: Grid, measure: Measure) -> FloatArray:
    """Sum of the precision at each relevant result over the number of targets, found or not; trec_eval's map_cut.

    Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000.
    """
    relevant, total = _relevant(grid, measure)
    precisions = relevant.cumsum(axis=-1) / np.arange(1, relevant.shape[-1] + 1)
    return np.asarray((precisions * relevant).sum(axis=-1) / total)


def judged(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the distinct results inside the cutoff that overlap a target, an adversary or a span of grade 0."""
    k, level = cutoff_of(measure), matching_level(measure)
    within = grid.within(level, k)
    known = (grid.marks(level).judged[..., :k] & within).sum(axis=-1)
    return np.asarray(known / np.maximum(within.sum(axis=-1), 1))  # 0 without results, as for a failure


# ---------------------------------------------------------------------------------------------- returned lines

#: Computes a value from the returned spans, the targets, and the number of lines of each of their files.
_Value = Callable[[Sequence[Span], Sequence[Target], Mapping[str, int]], float]


def line_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets' lines that the results inside the cutoff contain, each line counted once.

    ContextBench (arXiv 2602.05892) calls this line coverage.
    """
    return _line_share(grid, measure, precision=False)


def line_precision(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the returned lines inside the cutoff that are targets' lines, each counted once; 0 without results.

    ContextBench (arXiv 2602.05892) scores an empty ranking 1, which rewards returning nothing.
    """
    return _line_share(grid, measure, precision=True)


def _line_share(grid: Grid, measure: Measure, *, precision: bool) -> FloatArray:
    def value(returned: Sequence[Span], targets: Sequence[Target], lengths: Mapping[str, int]) -> float:
        lines, wanted = _merge(returned, lengths), _merge((target.span for target in targets), lengths)
        common = sum(a.common_lines(b) for a in lines for b in wanted)
        return common / max(_size(lines if precision else wanted), 1) if wanted else float("nan")

    return _compute(grid, measure, value, elsewhere=precision)


def span_recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets matched one-to-one inside the cutoff, with an intersection over union of at least `iou`.

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
        found = assign_targets(hits, project(targets, "lines"), iou).found
        return len(found) / len(targets) if targets else float("nan")

    return _compute(grid, measure, value)


def _compute(grid: Grid, measure: Measure, value: _Value, *, elsewhere: bool = False) -> FloatArray:
    """Compute `value` for every ranking from its results in files of targets; with `elsewhere`, from all its results.

    A ranking without a result in a file of a target has the value of an empty ranking.
    """
    values, k, least = grid.blank(), cutoff_of(measure), cast("int", measure["grade"])
    wanted = [[t for t in projection.targets if t.grade >= least] for projection in grid.projections("lines")]
    files = [frozenset(target.span.path for target in targets) for targets in wanted]

    def compute(unit: int, spans: Iterable[SpanKey]) -> float:
        returned, targets = [Span(*span) for span in spans], wanted[unit]
        known = grid.run.lines.get(grid.units[unit].gold, {})
        lengths: dict[str, int] = {}
        for span in (*returned, *(target.span for target in targets)):
            lines = known.get(span.path)
            lengths[span.path] = max(lengths.get(span.path, 1), span.end or 1) if lines is None else len(lines)
        return value(returned, targets, lengths)

    computed: dict[tuple[int, tuple[SpanKey, ...]], float] = {}  # engines of a sweep return many equal lists
    for cell in grid.cells():
        spans = grid.distinct_spans(cell, k)
        inside = [span for span in spans if span[0] in files[cell.unit]]
        key = cell.unit, tuple(spans if elsewhere and inside else inside)
        if key not in computed:
            computed[key] = compute(*key)
        values[cell.engine, cell.unit] = computed[key]
    return values


def _merge(spans: Iterable[Span], lengths: Mapping[str, int]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(clipped for clipped in (clip(span, lengths[span.path]) for span in spans) if clipped):
        last = merged[-1] if merged else None
        if last and last.path == span.path and (span.start or 1) <= (last.end or 0) + 1:
            merged[-1] = Span(last.path, last.start, max(last.end or 0, span.end or 0))
        else:
            merged.append(span)
    return merged


def clip(span: Span, last: int) -> Span | None:
    """Return the lines of a span up to `last`, the end of its file; None if no line is left."""
    whole = span.start is None or span.end is None
    start, end = (1, last) if whole else (max(1, span.start or 1), min(span.end or 0, last))
    return Span(span.path, start, end) if start <= end else None


def _size(spans: Iterable[Span]) -> int:
    return sum((span.end or 0) - (span.start or 1) + 1 for span in spans)


# ---------------------------------------------------------------------------------------------- reading cost

# Results are read in rank order, line by line. A hit costs `estimate_tokens` of its bytes. A line that is returned
# twice costs twice, since a reader reads it twice. The hit that exceeds a budget is cut at the last line that fits, and
# reading stops there. There is no cutoff k.


def recall_at_tokens(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets of which at least one line is read within the budget.

    After the recall-under-budget curves of semble's token_efficiency.py, but a hit may be read in part.
    """
    values, lengths, files = grid.blank(), LineLengths(grid.run), dict[int, frozenset[str]]()
    most = cast("int", measure["tokens"])
    for cell, gold, targets in _cells_with_targets(grid, measure):
        if cell.unit not in files:
            files[cell.unit] = frozenset(target.span.path for target in targets)
        inside = files[cell.unit]
        positions = [position for position, path in enumerate(map(PATH, cell.hits)) if path in inside]
        budget, start, reached = most, 0, set[int]()
        costs = lengths.costs(gold, cell, positions[-1] + 1) if positions else []
        for position in positions:  # the other hits are in no target's file
            budget -= sum([cost.tokens for cost in costs[start:position]])
            if budget <= 0:
                break
            cost, start = costs[position], position + 1
            part = cost.span if cost.tokens <= budget else cost.cut(budget)
            if part:
                reached |= {at for at, target in enumerate(targets) if part.common_lines(target.span) > 0}
            budget -= cost.tokens
        values[cell.engine, cell.unit] = len(reached) / len(targets)
    return values


def tokens_to_hit(grid: Grid, measure: Measure) -> FloatArray:
    """Tokens read up to and including the first line of a target: earlier hits in full, then one hit up to that line.

    Rankings without a target and failed queries count as the cap.
    """
    values, lengths, cap = grid.blank(), LineLengths(grid.run), token_range(measure).high
    for cell, gold, targets in _cells_with_targets(grid, measure):
        spent, total = 0, cap
        for cost in lengths.costs(gold, cell, len(cell.hits)):
            if cost.span is not None:
                start = cost.span.start or 1
                common = [target.span for target in targets if cost.span.common_lines(target.span) > 0]
                if common:
                    total = spent + cost.cost_to(min(max(start, target.start or 1) for target in common))
                    break
            spent += cost.tokens
        values[cell.engine, cell.unit] = min(cap, total)
    return values


def token_range(measure: Measure) -> MeasureRange:
    cap = float(cast("int", measure["cap"]))
    return MeasureRange(0.0, cap, cap)


def _cells_with_targets(grid: Grid, measure: Measure) -> Iterator[tuple[GridCell, str, list[Target]]]:
    """Yield each ranking, the name of its gold set, and its targets of the measure's `grade` or above, if it has any.

    Raise InputError if the run has no line lengths for the gold set of a ranking with hits.
    """
    least = cast("int", measure["grade"])
    projections = grid.projections(matching_level(measure))
    wanted = [[target for target in projection.targets if target.grade >= least] for projection in projections]
    for cell in grid.cells():
        gold = grid.units[cell.unit].gold
        if wanted[cell.unit] and cell.hits and gold not in grid.run.lines:
            hint = "run the engines again, or score without measures that count tokens"
            raise InputError(f"the run has no line lengths for {gold}", hint=hint)
        if wanted[cell.unit]:
            yield cell, gold, wanted[cell.unit]


class HitCost(NamedTuple):
    """The lines of a hit that exist in the corpus, and the cost of the hit in tokens."""

    span: Span | None  # None if the corpus does not have the file or the lines
    tokens: int
    lengths: tuple[int, ...] = ()  # bytes of each line of the file

    def cost_to(self, line: int) -> int:
        return estimate_tokens(sum(self.lengths[self._first - 1 : line]))

    def cut(self, tokens: int) -> Span | None:
        """Return the whole lines of the hit that fit into `tokens`; None if there are none."""
        if self.span is None:
            return None
        sums = list(accumulate(self.lengths[self._first - 1 : self.span.end]))
        end = self._first - 1 + bisect_right(sums, tokens * BYTES_PER_TOKEN)
        return Span(self.span.path, self._first, end) if end >= self._first else None

    @property
    def _first(self) -> int:
        return self.span.start or 1 if self.span else 1


class LineLengths:
    def __init__(self, run: Run) -> None:
        self._lines = run.lines
        self._known: dict[str, dict[SpanKey, HitCost]] = {}

    def costs(self, gold: str, cell: GridCell, count: int) -> list[HitCost]:
        """Return the cost of each of the first `count` hits."""
        known = self._known.setdefault(gold, {})
        places = map(PLACE, cell.hits[:count])
        return [known.get(place) or self._cost(gold, cell, at) for at, place in enumerate(places)]

    def _cost(self, gold: str, cell: GridCell, position: int) -> HitCost:
        """Return the cost of one hit; without line lengths of its file, from its recorded tokens or its snippet."""
        hit = cell.hits[position]
        lengths = self._lines[gold].get(hit.path)
        if lengths is None:
            if position < len(cell.tokens):
                return HitCost(None, cell.tokens[position])
            return HitCost(None, estimate_tokens(len((hit.snippet or "").encode("utf-8", "surrogatepass"))))
        path, start, end = place = PLACE(hit)
        inside = start is not None and end is not None and 1 <= start <= end <= len(lengths)
        span = Span(path, start, end) if inside else clip(hit.span, len(lengths))
        tokens = estimate_tokens(sum(lengths[(span.start or 1) - 1 : span.end])) if span else 0
        self._known[gold][place] = cost = HitCost(span, tokens, lengths)
        return cost
