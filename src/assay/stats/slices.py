"""Where does it help and where does it hurt? Parts of the queries, by tag and by form. Exploratory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.config import DEFAULT, Settings, check_tag
from assay.stats.family import explore
from assay.stats.records import ComparisonRow, SliceRow
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.tables import MeasureColumn, ScoreTable, check_engine, column, headline, part

if TYPE_CHECKING:
    from assay.stats.records import MeasureLike
    from assay.types import Scores


EXPLORATORY = (
    "Slices are exploratory: p-values are adjusted over all slices by Benjamini–Hochberg, and there is no verdict."
)
#: A slice of one query has no spread to speak of.
SMALLEST_SLICE = 2


@dataclass(frozen=True, slots=True)
class _Slice:
    """A named part of the queries."""

    by: str
    value: str
    table: ScoreTable


def compare_slices(
    scores: Scores,
    *,
    baseline: str,
    primary: MeasureLike | str,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    B: int = DEFAULT.resamples,
    cluster: str = "auto",
) -> tuple[SliceRow, ...]:
    """Compare every other engine with the baseline on each tag value and each form that is not the whole set."""
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    check_engine(scores, baseline, "baseline")
    check_tag(cluster, (tag for unit in scores.units for tag in unit.tags))
    measure = column(scores, primary)
    found = [(piece, row) for piece in _slices(scores) for row in _rows(piece.table, baseline, measure, settings)]
    adjusted = explore([row for _, row in found])
    return tuple(SliceRow(piece.by, piece.value, row) for (piece, _), row in zip(found, adjusted, strict=True))


def _rows(table: ScoreTable, baseline: str, measure: MeasureColumn, settings: Settings) -> tuple[ComparisonRow, ...]:
    old = table.row(baseline, measure)
    pairs = [
        EnginePair(engine, baseline, measure.name, measure.bounds, table.row(engine, measure), old)
        for engine in table.engines
        if engine != baseline
    ]
    return comparison_rows(pairs, table.units, settings)


def _slices(scores: Scores) -> Iterator[_Slice]:
    forms = sorted({unit.form for unit in scores.units})
    for form in forms if len(forms) > 1 else ():
        yield from _large_enough("form", form, part(scores, [unit.form == form for unit in scores.units]))
    whole = len(headline(scores).units)
    for tag, value in sorted({pair for unit in scores.units if unit.headline for pair in unit.tags.items()}):
        table = part(scores, [unit.headline and unit.tags.get(tag) == value for unit in scores.units])
        if len(table.units) < whole:
            yield from _large_enough(tag, value, table)


def _large_enough(by: str, value: str, table: ScoreTable) -> Iterator[_Slice]:
    if len(table.units) >= SMALLEST_SLICE:
        yield _Slice(by, value, table)


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """The mean difference on the queries of one repository, in the measure's own units."""

    repository: str
    queries: int
    difference: float  # engine − baseline
    gain: float  # the same, with the good end up


@dataclass(frozen=True, slots=True)
class RepositoryTally:
    """Repositories that gained, stayed and lost."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def by_repository(
    scores: Scores, engine: str, baseline: str, measure: MeasureLike | str
) -> tuple[RepositoryChange, ...]:
    """Give the mean difference of each repository, in order of name; a query without a value does not count."""
    chosen, table = column(scores, measure), headline(scores)
    differences = table.row(engine, chosen) - table.row(baseline, chosen)
    sign = 1.0 if chosen.bounds.higher_is_better else -1.0
    found: dict[str, list[float]] = {}
    for unit, value in zip(table.units, differences.tolist(), strict=True):
        if not np.isnan(value):
            found.setdefault(unit.repository, []).append(value)
    return tuple(_change(name, found[name], sign) for name in sorted(found))


def _change(repository: str, differences: Sequence[float], sign: float) -> RepositoryChange:
    mean = float(np.mean(differences))
    mean = mean if abs(mean) > DEFAULT.tie else 0.0
    return RepositoryChange(repository, len(differences), mean, sign * mean + 0.0)


def tally(changes: Sequence[RepositoryChange]) -> RepositoryTally:
    """Count who gained and who lost."""
    wins, losses = sum(c.gain > 0.0 for c in changes), sum(c.gain < 0.0 for c in changes)
    return RepositoryTally(wins, len(changes) - wins - losses, losses)


def worst(changes: Sequence[RepositoryChange]) -> RepositoryChange:
    """Find the repository that gained least; the name decides between equals."""
    return min(changes, key=lambda c: (c.gain, c.repository))
