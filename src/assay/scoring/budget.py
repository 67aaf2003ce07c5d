"""Measures of reading cost: results are read in rank order, line by line.

A hit costs `approx4` of its bytes. A line that is returned twice costs twice, since a reader reads it twice. The hit
that exceeds a budget is cut at the last line that fits, and reading stops there. The cut-off is the budget, within the
number of results of the run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from assay.errors import InputError
from assay.scoring.grid import Grid, GridCell
from assay.scoring.ranks import MeasureRange, level_of
from assay.syntax.text import BYTES_PER_TOKEN, approx4
from assay.types import Run, Span, Target

if TYPE_CHECKING:
    from assay.scoring.measures import Measure
    from assay.types import FloatArray


def recall_at_tokens(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets of which at least one line is read within the budget.

    After the recall-under-budget curves of semble's token_efficiency.py, with partial hits and one token count for all.
    """
    budget = cast("int", measure["tokens"])
    lengths, wanted, values = LineLengths(grid.run), _select_targets(grid, measure), grid.blank()
    files = [frozenset(target.span.path for target in targets) for targets in wanted]
    for cell in grid.cells():
        targets, gold = wanted[cell.unit], grid.units[cell.unit].gold
        if targets:
            lengths.check(gold, cell)
            read = _read(lengths, gold, cell, files[cell.unit], budget)
            found = sum(any(span.common_lines(target.span) > 0 for span in read) for target in targets) if read else 0
            values[cell.engine, cell.unit] = found / len(targets)
    return values


def _read(lengths: LineLengths, gold: str, cell: GridCell, files: frozenset[str], budget: int) -> list[Span]:
    """Return what is read of some files until the budget is used up; hits below the last one in them are skipped."""
    places = [place for place, hit in enumerate(cell.hits) if hit.path in files]
    read: list[Span] = []
    for place in range(places[-1] + 1 if places else 0):
        cost = lengths.cost(gold, cell, place)
        if place in places:
            part = cost.span if cost.tokens <= budget else cost.cut(budget)
            read += [part] if part else []
        budget -= cost.tokens
        if budget <= 0:
            break
    return read


def tokens_to_hit(grid: Grid, measure: Measure) -> FloatArray:
    """Tokens read up to and including the first line of a target: all earlier hits, and this one down to that line.

    A list without a target costs the cap (rule 3), and so does a failed query.
    """
    cap = float(cast("int", measure["cap"]))
    lengths, wanted, values = LineLengths(grid.run), _select_targets(grid, measure), grid.blank()
    for cell in grid.cells():
        targets, gold = wanted[cell.unit], grid.units[cell.unit].gold
        if targets:
            lengths.check(gold, cell)
            values[cell.engine, cell.unit] = min(cap, _spend(lengths, gold, cell, targets, cap))
    return values


def _spend(lengths: LineLengths, gold: str, cell: GridCell, targets: Sequence[Target], never: float) -> float:
    spent = 0
    for position in range(len(cell.hits)):
        cost = lengths.cost(gold, cell, position)
        if cost.span is not None:
            start = cost.span.start or 1
            common = [target.span for target in targets if cost.span.common_lines(target.span) > 0]
            if common:
                return spent + cost.cost_to(min(max(start, target.start or 1) for target in common))
        spent += cost.tokens
    return never


def token_range(measure: Measure) -> MeasureRange:
    """Return the range of a token count: 0 is best, the cap is worst."""
    cap = float(cast("int", measure["cap"]))
    return MeasureRange(0.0, cap, cap)


def _select_targets(grid: Grid, measure: Measure) -> tuple[tuple[Target, ...], ...]:
    least = cast("int", measure["grade"])
    return tuple(tuple(t for t in p.targets if t.grade >= least) for p in grid.projections(level_of(measure)))


@dataclass(frozen=True, slots=True)
class HitCost:
    """The existing lines of a hit, and its cost."""

    span: Span | None  # None if the corpus does not have the file or the lines
    tokens: int
    lengths: tuple[int, ...]  # bytes of each line of the file

    def cost_to(self, line: int) -> int:
        """Return the tokens from the first line of the hit to a line, both included."""
        return approx4(sum(self.lengths[self._first - 1 : line]))

    def cut(self, tokens: int) -> Span | None:
        """Return the whole lines that fit; None if the first does not."""
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

    def check(self, gold: str, cell: GridCell) -> None:
        """Raise InputError for hits in a corpus without known lines."""
        if gold not in self._lines and cell.hits:
            hint = "run the engines again, or score without measures that count tokens"
            raise InputError(f"the run has no line lengths for {gold}", hint=hint)

    def cost(self, gold: str, cell: GridCell, position: int) -> HitCost:
        """Return the cost of one hit; a file outside the corpus costs what was recorded, or its snippet."""
        hit = cell.hits[position]
        key = (gold, hit.path, hit.start, hit.end)
        known = self._known.get(key)
        if known is not None:
            return known
        lengths = self._lines[gold].get(hit.path)
        if lengths is None:
            if position < len(cell.tokens):
                return HitCost(None, cell.tokens[position], ())
            return HitCost(None, approx4(len((hit.snippet or "").encode("utf-8", "surrogatepass"))), ())
        whole = hit.start is None or hit.end is None
        start = 1 if whole else max(1, hit.start or 1)
        end = len(lengths) if whole else min(hit.end or 0, len(lengths))
        if end < start:
            cost = HitCost(None, 0, ())
        else:
            cost = HitCost(Span(hit.path, start, end), approx4(sum(lengths[start - 1 : end])), lengths)
        self._known[key] = cost
        return cost
