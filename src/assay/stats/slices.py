"""Exploratory comparisons on parts of the queries: by tag, by form and by repository."""

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
#: A slice of one query has no spread.
SMALLEST_SLICE = 2


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
    """Compare every other engine with the baseline on each tag value and each form, unless it is the whole set."""
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    check_engine(scores, baseline, "baseline")
    check_tag(cluster, (tag for unit in scores.units for tag in unit.tags))
    measure = column(scores, primary)
    found = [
        (by, value, row)
        for by, value, table in _slices(scores)
        if len(table.units) >= SMALLEST_SLICE
        for row in _rows(table, baseline, measure, settings)
    ]
    adjusted = explore([row for _, _, row in found])
    return tuple(SliceRow(by, value, row) for (by, value, _), row in zip(found, adjusted, strict=True))


def _rows(table: ScoreTable, baseline: str, measure: MeasureColumn, settings: Settings) -> tuple[ComparisonRow, ...]:
    old = table.row(baseline, measure)
    pairs = [
        EnginePair(engine, baseline, measure.name, measure.bounds, table.row(engine, measure), old)
        for engine in table.engines
        if engine != baseline
    ]
    return comparison_rows(pairs, table.units, settings)


def _slices(scores: Scores) -> Iterator[tuple[str, str, ScoreTable]]:
    forms = sorted({unit.form for unit in scores.units})
    for form in forms if len(forms) > 1 else ():
        yield "form", form, part(scores, [unit.form == form for unit in scores.units])
    whole = len(headline(scores).units)
    for tag, value in sorted({pair for unit in scores.units if unit.headline for pair in unit.tags.items()}):
        table = part(scores, [unit.headline and unit.tags.get(tag) == value for unit in scores.units])
        if len(table.units) < whole:
            yield tag, value, table


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """The mean difference on the queries of one repository, in units of the measure."""

    repository: str
    queries: int
    difference: float  # engine − baseline
    gain: float  # the same, with the good end up


@dataclass(frozen=True, slots=True)
class RepositoryTally:
    """The numbers of repositories that gained, stayed the same and lost."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def by_repository(
    scores: Scores, engine: str, baseline: str, measure: MeasureLike | str
) -> tuple[RepositoryChange, ...]:
    """Return the mean difference of each repository, by name; queries without a value do not count."""
    chosen, table = column(scores, measure), headline(scores)
    differences = table.row(engine, chosen) - table.row(baseline, chosen)
    sign = 1.0 if chosen.bounds.higher_is_better else -1.0
    found: dict[str, list[float]] = {}
    for unit, value in zip(table.units, differences.tolist(), strict=True):
        if not np.isnan(value):
            found.setdefault(unit.repository, []).append(value)
    changes = []
    for name in sorted(found):
        mean = float(np.mean(found[name]))
        mean = mean if abs(mean) > DEFAULT.tie else 0.0
        changes.append(RepositoryChange(name, len(found[name]), mean, sign * mean + 0.0))
    return tuple(changes)


def tally(changes: Sequence[RepositoryChange]) -> RepositoryTally:
    """Count the repositories that gained and lost."""
    wins, losses = sum(c.gain > 0.0 for c in changes), sum(c.gain < 0.0 for c in changes)
    return RepositoryTally(wins, len(changes) - wins - losses, losses)


def worst(changes: Sequence[RepositoryChange]) -> RepositoryChange:
    """Return the repository that gained least, the first by name of equals."""
    return min(changes, key=lambda c: (c.gain, c.repository))
