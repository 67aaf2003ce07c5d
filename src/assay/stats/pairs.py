"""Pairs that somebody chose, as one family: each step of a ladder against the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.stats.compare import assemble
from assay.stats.config import DEFAULT, Settings
from assay.stats.means import table_means
from assay.stats.records import Comparison
from assay.stats.rows import Pair, comparison_rows
from assay.stats.tables import check_engine, column, headline

if TYPE_CHECKING:
    from assay.stats.traits import MeasureLike
    from assay.types import Scores


@dataclass(frozen=True, slots=True)
class Versus:
    """An engine and what it is compared with."""

    engine: str
    baseline: str


def compare_pairs(
    scores: Scores,
    pairs: Sequence[Versus],
    *,
    primary: MeasureLike | str,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    B: int = DEFAULT.resamples,
    cluster: str = "auto",
) -> Comparison:
    """Compare each pair on the primary measure; all of them are one family, and rows are in the order of the pairs."""
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    for name in dict.fromkeys(name for pair in pairs for name in (pair.engine, pair.baseline)):
        check_engine(scores, name)
    measure, table = column(scores, primary), headline(scores, cluster)
    lined_up = [
        Pair(
            pair.engine,
            pair.baseline,
            measure.name,
            measure.bounds,
            table.row(pair.engine, measure),
            table.row(pair.baseline, measure),
        )
        for pair in pairs
    ]
    rows = comparison_rows(lined_up, table.units, settings)
    return assemble(rows, table_means(table, [measure], alpha, cluster), measure, "", settings, None)
