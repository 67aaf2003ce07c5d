"""What does it cost to read until the answer? Results are read in rank order, line by line; a line costs its bytes.

A hit is charged `approx4` of its own bytes. A line that an engine returns twice is paid twice: whoever reads the list
reads it twice. The hit that crosses a budget is cut at the last line that fits, and nothing after it is read. There is
no cut-off but the number of results the run asked for; the budget is the cut-off.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, repeat
from typing import TYPE_CHECKING, cast

from assay.errors import InputError
from assay.scoring.grid import Grid, GridCell
from assay.scoring.measure import Measure, MeasureRange
from assay.scoring.ranks import level_of
from assay.syntax.text import BYTES_PER_TOKEN, approx4
from assay.types import Hit, Run, Span, Target

if TYPE_CHECKING:
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class HitCost:
    """A hit as it is read: the lines of it that exist, and what all of it costs."""

    span: Span | None  # None: a file that the corpus does not have
    tokens: int
    lengths: tuple[int, ...]  # bytes of each line of the file

    def cost_to(self, line: int) -> int:
        """Tokens from the passage's first line to this one, both included."""
        return approx4(sum(self.lengths[self._first - 1 : line]))

    def cut(self, tokens: int) -> Span | None:
        """The part that fits, whole lines only; None when not even the first line does."""
        if self.span is None:
            return None
        sums = list(accumulate(self.lengths[self._first - 1 : self.span.end]))
        end = self._first - 1 + bisect_right(sums, tokens * BYTES_PER_TOKEN)
        return Span(self.span.path, self._first, end) if end >= self._first else None

    @property
    def _first(self) -> int:
        return self.span.start or 1 if self.span else 1


class LineLengths:
    """The line lengths of a run; what engines return again and again is priced once."""

    def __init__(self, run: Run) -> None:
        self._lines = run.lines
        self._known: dict[tuple[str, str, int | None, int | None], HitCost] = {}

    def passages(self, gold: str, cell: GridCell) -> Iterator[HitCost]:
        """Price the hits of one ranking in rank order, repeated ones included."""
        self.check(gold, cell)
        for hit, recorded in zip(cell.hits, chain(cell.tokens, repeat(None)), strict=False):
            yield self.passage(gold, hit, recorded)

    def check(self, gold: str, cell: GridCell) -> None:
        """Refuse hits in a corpus whose lines are not known."""
        if gold not in self._lines and cell.hits:
            hint = "run the engines again, or score without measures that count tokens"
            raise InputError(f"the run holds no line lengths for {gold}", hint=hint)

    def passage(self, gold: str, hit: Hit, recorded: int | None) -> HitCost:
        """Price one hit; a file the corpus lacks costs what was recorded, or its snippet."""
        key = (gold, hit.path, hit.start, hit.end)
        known = self._known.get(key)
        if known is not None:
            return known
        if hit.path not in self._lines[gold]:
            snippet = approx4(len((hit.snippet or "").encode("utf-8", "surrogatepass")))
            return HitCost(None, snippet if recorded is None else recorded, ())
        self._known[key] = made = self._lines_of(gold, hit)
        return made

    def _lines_of(self, gold: str, hit: Hit) -> HitCost:
        lengths = self._lines[gold][hit.path]
        whole = hit.start is None or hit.end is None
        start = 1 if whole else max(1, hit.start or 1)
        end = len(lengths) if whole else min(hit.end or 0, len(lengths))
        if end < start:
            return HitCost(None, 0, ())
        return HitCost(Span(hit.path, start, end), approx4(sum(lengths[start - 1 : end])), lengths)


def capped(measure: Measure) -> MeasureRange:
    """Tokens: the fewer the better, never more than the cap."""
    cap = float(cast("int", measure["cap"]))
    return MeasureRange(0.0, cap, cap)


def _wanted(grid: Grid, measure: Measure) -> tuple[tuple[Target, ...], ...]:
    least = cast("int", measure["grade"])
    return tuple(tuple(t for t in p.targets if t.grade >= least) for p in grid.projections(level_of(measure)))


def recall_at_tokens(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets of which at least one line was read when the budget was used up.

    After the recall-under-budget curves of semble's token_efficiency.py, with partial hits and one token count for all.
    """
    budget = cast("int", measure["tokens"])
    library, wanted, values = LineLengths(grid.run), _wanted(grid, measure), grid.blank()
    files = [frozenset(target.span.path for target in targets) for targets in wanted]
    for cell in grid.cells():
        targets, gold = wanted[cell.unit], grid.units[cell.unit].gold
        if targets:
            library.check(gold, cell)
            read = _read(library, gold, cell, files[cell.unit], budget)
            found = sum(any(span.common_lines(target.span) > 0 for span in read) for target in targets) if read else 0
            values[cell.engine, cell.unit] = found / len(targets)
    return values


def _read(library: LineLengths, gold: str, cell: GridCell, files: frozenset[str], budget: int) -> list[Span]:
    """Read in rank order until the budget is used up, and give what was read of some files.

    What stands below the last hit in them is left out: whether it is read changes nothing.
    """
    places = [place for place, hit in enumerate(cell.hits) if hit.path in files]
    read: list[Span] = []
    for place in range(places[-1] + 1 if places else 0):
        recorded = cell.tokens[place] if place < len(cell.tokens) else None
        passage = library.passage(gold, cell.hits[place], recorded)
        if place in places:
            part = passage.span if passage.tokens <= budget else passage.cut(budget)
            read += [part] if part else []
        budget -= passage.tokens
        if budget <= 0:
            break
    return read


def tokens_to_hit(grid: Grid, measure: Measure) -> FloatArray:
    """Tokens read up to and including the first line of a target: all earlier hits, and this one down to that line.

    A list that holds none costs the cap (rule 3), and so does a failed query.
    """
    cap = float(cast("int", measure["cap"]))
    library, wanted, values = LineLengths(grid.run), _wanted(grid, measure), grid.blank()
    for cell in grid.cells():
        if wanted[cell.unit]:
            passages = library.passages(grid.units[cell.unit].gold, cell)
            values[cell.engine, cell.unit] = min(cap, _spent(passages, wanted[cell.unit], cap))
    return values


def _spent(passages: Iterator[HitCost], targets: Sequence[Target], never: float) -> float:
    spent = 0
    for passage in passages:
        line = _first_common(passage.span, targets)
        if line is not None:
            return spent + passage.cost_to(line)
        spent += passage.tokens
    return never


def _first_common(span: Span | None, targets: Sequence[Target]) -> int | None:
    if span is None:
        return None
    met = [target.span for target in targets if span.common_lines(target.span) > 0]
    return min((max(span.start or 1, target.start or 1) for target in met), default=None)
