"""Measures of reading cost: results are read in rank order, line by line.

A hit costs `estimate_tokens` of its bytes. A line that is returned twice costs twice, since a reader reads it twice.
The hit that exceeds a budget is cut at the last line that fits, and reading stops there. The cutoff is the budget,
within the number of results of the run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from assay.errors import InputError
from assay.scoring.grid import FloatArray, Grid, GridCell
from assay.scoring.lines import clip
from assay.scoring.ranks import MeasureRange, level_of
from assay.syntax.tokens import BYTES_PER_TOKEN, estimate_tokens
from assay.types import Run, Span, Target

if TYPE_CHECKING:
    from assay.scoring.measures import Measure


def recall_at_tokens(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets of which at least one line is read within the budget.

    After the recall-under-budget curves of semble's token_efficiency.py, with partial hits and one token count.
    """
    values, lengths = grid.blank(), LineLengths(grid.run)
    for cell, gold, targets in _cells_with_targets(grid, measure):
        files = {target.span.path for target in targets}
        places = [place for place, hit in enumerate(cell.hits) if hit.path in files]
        budget = cast("int", measure["tokens"])
        read: list[Span] = []
        for place in range(places[-1] + 1 if places else 0):  # lower hits are in no target's file
            cost = lengths.cost(gold, cell, place)
            if place in places:
                part = cost.span if cost.tokens <= budget else cost.cut(budget)
                read += [part] if part else []
            budget -= cost.tokens
            if budget <= 0:
                break
        found = sum(any(span.common_lines(target.span) > 0 for span in read) for target in targets) if read else 0
        values[cell.engine, cell.unit] = found / len(targets)
    return values


def tokens_to_hit(grid: Grid, measure: Measure) -> FloatArray:
    """Tokens read up to and including the first line of a target: all earlier hits, and this one down to that line.

    A list without a target costs the cap (rule 3), and so does a failed query.
    """
    values, lengths, cap = grid.blank(), LineLengths(grid.run), token_range(measure).high
    for cell, gold, targets in _cells_with_targets(grid, measure):
        spent, found = 0, cap
        for position in range(len(cell.hits)):
            cost = lengths.cost(gold, cell, position)
            if cost.span is not None:
                start = cost.span.start or 1
                common = [target.span for target in targets if cost.span.common_lines(target.span) > 0]
                if common:
                    found = spent + cost.cost_to(min(max(start, target.start or 1) for target in common))
                    break
            spent += cost.tokens
        values[cell.engine, cell.unit] = min(cap, found)
    return values


def token_range(measure: Measure) -> MeasureRange:
    """Return the range of a token count: 0 is best, the cap is worst."""
    cap = float(cast("int", measure["cap"]))
    return MeasureRange(0.0, cap, cap)


def _cells_with_targets(grid: Grid, measure: Measure) -> Iterator[tuple[GridCell, str, list[Target]]]:
    """Yield the rankings whose queries have targets of the measure's grades, with their gold sets and targets.

    Raise InputError for hits in a corpus without known lines.
    """
    least = cast("int", measure["grade"])
    projections = grid.projections(level_of(measure))
    wanted = [[target for target in projection.targets if target.grade >= least] for projection in projections]
    for cell in grid.cells():
        gold = grid.units[cell.unit].gold
        if wanted[cell.unit] and cell.hits and gold not in grid.run.lines:
            hint = "run the engines again, or score without measures that count tokens"
            raise InputError(f"the run has no line lengths for {gold}", hint=hint)
        if wanted[cell.unit]:
            yield cell, gold, wanted[cell.unit]


@dataclass(frozen=True, slots=True)
class HitCost:
    """The existing lines of a hit, and its cost."""

    span: Span | None  # None if the corpus does not have the file or the lines
    tokens: int
    lengths: tuple[int, ...] = ()  # bytes of each line of the file

    def cost_to(self, line: int) -> int:
        """Return the tokens from the first line of the hit to a line, both included."""
        return estimate_tokens(sum(self.lengths[self._first - 1 : line]))

    def cut(self, tokens: int) -> Span | None:
        """Return the whole lines that fit into `tokens`; None if the first line does not fit."""
        if self.span is None:
            return None
        sums = list(accumulate(self.lengths[self._first - 1 : self.span.end]))
        end = self._first - 1 + bisect_right(sums, tokens * BYTES_PER_TOKEN)
        return Span(self.span.path, self._first, end) if end >= self._first else None

    @property
    def _first(self) -> int:
        return self.span.start or 1 if self.span else 1


class LineLengths:
    """The line lengths of a run's corpora, with cached costs of hits."""

    def __init__(self, run: Run) -> None:
        self._lines = run.lines
        self._known: dict[tuple[str, str, int | None, int | None], HitCost] = {}

    def cost(self, gold: str, cell: GridCell, position: int) -> HitCost:
        """Return the cost of one hit; a file outside the corpus costs what was recorded, or its snippet."""
        hit = cell.hits[position]
        key = (gold, hit.path, hit.start, hit.end)
        if key in self._known:
            return self._known[key]
        lengths = self._lines[gold].get(hit.path)
        if lengths is None:
            if position < len(cell.tokens):
                return HitCost(None, cell.tokens[position])
            return HitCost(None, estimate_tokens(len((hit.snippet or "").encode("utf-8", "surrogatepass"))))
        span = clip(hit.span, len(lengths))
        tokens = estimate_tokens(sum(lengths[(span.start or 1) - 1 : span.end])) if span else 0
        self._known[key] = cost = HitCost(span, tokens, lengths)
        return cost
