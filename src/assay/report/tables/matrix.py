"""Every variant on every measure, in the shape of published tables: one row a variant, hard queries apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay.report.case import Case
from assay.report.groups import by_tag, group_means
from assay.report.pages.document import Block, Cell, Heading, Table, table
from assay.report.results import EngineFacts, Results
from assay.report.tables.base import OnDemand
from assay.scoring import parse_measure
from assay.stats.records import Comparison, MeanRow

#: Each value of this tag has a matrix of its own: hard queries are there to be seen apart.
_APART = "difficulty"
_WITHOUT = "Means without intervals, as published tables have them: Scores has them with. The best variant is in bold."


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """Every engine on every measure, over all queries or a part of them."""

    part: str  # "all", or a tag's value such as "difficulty = hard"
    queries: int
    means: tuple[MeanRow, ...]


def _numbers(case: Case, comparison: Comparison) -> Iterator[MatrixPart]:
    """Average every measure over all headline queries, then over those of each difficulty."""
    del comparison
    measures = case.claim.measures
    yield MatrixPart("all", len(case.headline), tuple(group_means(case, case.headline, measures)))
    parts = by_tag(case, _APART)
    for value, columns in parts.items() if len(parts) > 1 else ():
        yield MatrixPart(f"{_APART} = {value}", len(columns), tuple(group_means(case, columns, measures)))


def _blocks(results: Results) -> list[Block]:
    """Show them."""
    blocks: list[Block] = []
    for part in MATRIX.of(results):
        title = "Matrix" if part.part == "all" else f"Matrix, {part.part}"
        blocks += [Heading(f"{title} ({part.queries} queries)"), _table(results, part)]
    return blocks


def _table(results: Results, part: MatrixPart) -> Table:
    """Write one matrix: engines in the order of the run, then those that were not run, with the reason."""
    cells = {(row.engine, row.measure): row for row in part.means}
    best = {measure: _best(results, part.means, measure) for measure in results.measures}
    rows: list[list[str | Cell]] = [
        [results.shown(facts.name), *(_cell(cells.get((facts.name, m)), best[m], facts) for m in results.measures)]
        for facts in results.engines
    ]
    skipped: list[list[str | Cell]] = [
        [f"{name} (skipped)", *["–"] * len(results.measures)] for name in results.header.skipped
    ]
    reasons = [f"Skipped: {name}: {why}." for name, why in results.header.skipped.items()]
    return table(["variant", *(f">{m}" for m in results.measures)], [*rows, *skipped], " ".join([_WITHOUT, *reasons]))


def _best(results: Results, means: Sequence[MeanRow], measure: str) -> float | None:
    """Find the best value among the engines that compete."""
    real = {facts.name for facts in results.engines if facts.role == "contestant"}
    values = [row.mean for row in means if row.measure == measure and row.engine in real]
    choose = max if parse_measure(measure).higher_is_better else min
    return choose(values) if len(values) > 1 else None


def _cell(row: MeanRow | None, best: float | None, facts: EngineFacts) -> Cell:
    """Write a mean; the references may have the best value too, but nobody looks for one among them."""
    if row is None:
        return Cell("–")
    return Cell(f"{row.mean:.3f}", "good" if row.mean == best and facts.role == "contestant" else "plain")


MATRIX: Final = OnDemand("matrix", _blocks, _numbers)
