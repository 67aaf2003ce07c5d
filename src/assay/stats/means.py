"""Means of every engine on every measure, over queries with an interval and over repositories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusteredEstimate, cluster_table, estimate
from assay.stats.config import DEFAULT
from assay.stats.intervals import mean_interval
from assay.stats.records import MeanRow
from assay.stats.tables import MeasureColumn, ScoreTable, column, headline, same_queries
from assay.stats.units import Partition, partition, repository_codes

if TYPE_CHECKING:
    from assay.stats.records import MeasureLike
    from assay.stats.units import IntArray
    from assay.types import FloatArray, Scores


def means(
    scores: Scores,
    *,
    measures: Sequence[MeasureLike | str] | None = None,
    alpha: float = DEFAULT.alpha,
    cluster: str = "auto",
) -> tuple[MeanRow, ...]:
    """Return the headline mean of each engine on each measure, by measure."""
    chosen = [column(scores, measure) for measure in (scores.measures if measures is None else measures)]
    return table_means(headline(scores), chosen, alpha, cluster)


def table_means(
    table: ScoreTable, chosen: Sequence[MeasureColumn], alpha: float, cluster: str = "auto"
) -> tuple[MeanRow, ...]:
    """Return the mean of each engine on each measure that applies to any query."""
    cells = [(engine, measure) for measure in chosen for engine in table.engines]
    values = [table.row(engine, measure) for engine, measure in cells]
    rows: dict[int, MeanRow] = {}
    for group in same_queries(values):
        units = [table.units[i] for i in group.kept]
        stacked = np.stack([values[i][group.kept] for i in group.members], axis=1)
        members = [cells[i] for i in group.members]
        parts, homes = partition(units, cluster), repository_codes(units)
        found = _rows(members, stacked, parts, homes, alpha, len(table.units) - len(units))
        rows.update(zip(group.members, found, strict=True))
    return tuple(rows[i] for i in sorted(rows))


def _rows(
    cells: Sequence[tuple[str, MeasureColumn]],
    values: FloatArray,
    parts: Partition,
    repositories: IntArray,
    alpha: float,
    left_out: int,
) -> list[MeanRow]:
    found = estimate(cluster_table(values, parts))
    sizes = np.bincount(repositories)
    units = parts.count if parts.shared else len(values)
    return [
        MeanRow(
            engine=engine,
            measure=measure.name,
            mean=float(found.mean[at]),
            interval=mean_interval(found.column(at), measure.bounds, level=1 - alpha, units=units).at(0, 1 - alpha),
            repository_mean=float((np.bincount(repositories, weights=values[:, at]) / sizes).mean()),
            queries=len(values),
            left_out=left_out,
            clusters=parts.count,
            repositories=parts.repositories,
            effective_n=min(_effective_n(found, at), units),
            label=parts.label,
        )
        for at, (engine, measure) in enumerate(cells)
    ]


def _effective_n(found: ClusteredEstimate, at: int) -> float:
    se, plain = float(found.se[at]), float(found.plain_se[at])
    return found.n * min(1.0, (plain / se) ** 2) if se > 0.0 and plain > 0.0 else found.n
