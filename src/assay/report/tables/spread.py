"""Where the first right answer stood, engine by engine, and what a rule of thumb would make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from assay.report.case import rank_measure
from assay.report.pages.document import Block, Heading, Paragraph, table
from assay.report.results import Ranks, Results
from assay.report.tables.base import OnDemand


@dataclass(frozen=True, slots=True)
class Thumb:
    """Pyckle's measure-it-yourself guide: words for a mean reciprocal rank. Nobody calibrated them."""

    strong: float = 0.4
    usable: float = 0.2

    def word(self, value: float) -> str:
        """Say what the guide would."""
        return "strong" if value >= self.strong else "usable" if value >= self.usable else "poor"


THUMB = Thumb()


def _blocks(results: Results) -> list[Block]:
    """Show one row an engine, one column a rank; then the winner by the largest number, and the verdict beside it."""
    measure = rank_measure(results.comparison.primary, results.k)
    columns = ["engine", f">{measure}", "the guide says", *(f">{rank}" for rank in range(1, results.k + 1))]
    rows = [
        [results.shown(item.engine), f"{_mean(item):.3f}", THUMB.word(_mean(item)), *map(str, _counts(item))]
        for item in results.ranks
    ]
    note = (
        f"Queries by the rank of their first right answer. The guide calls {THUMB.strong:g} and more strong and less "
        f"than {THUMB.usable:g} poor, on any code and any questions: read the verdict and the references instead."
    )
    return [
        Heading("Ranks"),
        table([*columns, ">not found"], rows, note),
        *(Paragraph(text) for text in [_winner(results)] if text),
    ]


def _counts(item: Ranks) -> tuple[int, ...]:
    """Give the counts by rank, then those that stand nowhere."""
    return (*item.counts, item.missed)


def _mean(item: Ranks) -> float:
    """Give the mean reciprocal rank, of which the counts hold all there is."""
    total = sum(item.counts) + item.missed
    return sum(count / rank for rank, count in enumerate(item.counts, start=1)) / total if total else 0.0


def _winner(results: Results) -> str:
    """Say who wins by the largest number, and what may be claimed of it."""
    rows = [row for row in results.comparison.rows if row.in_family]
    if not rows:
        return ""
    compared = {name for row in rows for name in (row.engine, row.baseline)}
    means = {item.engine: _mean(item) for item in results.ranks if item.engine in compared}
    best = [name for name, mean in means.items() if mean == max(means.values())]
    won = f"{best[0]} ({means[best[0]]:.3f})" if len(best) == 1 else f"nobody, {' and '.join(best)} are equal"
    said = "; ".join(f"{r.engine} against {r.baseline}: {r.claim}, MDE {r.mde_text}" for r in rows)
    return (
        f"Winner by the largest {rank_measure(results.comparison.primary, results.k)}: {won}. What may be claimed on "
        f"{results.comparison.primary}: {said}. The MDE is the smallest difference that these queries would probably "
        "have shown; below it the larger number may be either's."
    )


RANKS: Final[OnDemand[object]] = OnDemand("ranks", _blocks)
