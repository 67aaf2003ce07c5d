"""Exploratory comparisons on parts of the queries: by tag, by form and by repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from assay.scoring import Measure
from assay.stats.compare import compare_table
from assay.stats.config import DEFAULT, CompareOptions, CompareSettings, check_tag
from assay.stats.records import SliceRow
from assay.stats.tables import check_engine, column, headline, part
from assay.stats.verdicts import adjust, benjamini_hochberg
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
    primary: Measure | str,
    B: int = DEFAULT.resamples,
    **options: Unpack[CompareOptions],
) -> tuple[SliceRow, ...]:
    """Compare all other engines with the baseline on each tag value and phrasing, except if it covers all queries."""
    settings = CompareSettings(resamples=B, **options)
    check_engine(scores, baseline, "baseline")
    check_tag(settings.cluster, (tag for unit in scores.units for tag in unit.tags))
    measure = column(scores, primary)
    pairs = [(engine, baseline) for engine in scores.engines if engine != baseline]
    forms = sorted({unit.form for unit in scores.units})
    tables = [
        ("form", form, part(scores, [unit.form == form for unit in scores.units]))
        for form in (forms if len(forms) > 1 else ())
    ]
    whole = len(headline(scores).units)
    for tag, value in sorted({pair for unit in scores.units if unit.headline for pair in unit.tags.items()}):
        table = part(scores, [unit.headline and unit.tags.get(tag) == value for unit in scores.units])
        if len(table.units) < whole:
            tables.append((tag, value, table))
    found = [
        SliceRow(by, value, row)
        for by, value, table in tables
        if len(table.units) >= SMALLEST_SLICE
        for row in compare_table(table, pairs, [measure], settings)
    ]
    adjusted = adjust([slice_row.row for slice_row in found], benjamini_hochberg)
    return tuple(replace(slice_row, row=row) for slice_row, row in zip(found, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """The mean difference on the queries of one repository, in units of the measure."""

    repository: str
    queries: int
    difference: float  # engine − baseline
    gain: float  # the same; positive is better


@dataclass(frozen=True, slots=True)
class RepositoryTally:
    """The numbers of repositories that gained, stayed the same and lost."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def by_repository(scores: Scores, engine: str, baseline: str, measure: Measure | str) -> tuple[RepositoryChange, ...]:
    """Return the mean difference of each repository, sorted by name; queries without a value are ignored."""
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
    wins, losses = sum(c.gain > 0.0 for c in changes), sum(c.gain < 0.0 for c in changes)
    return RepositoryTally(wins, len(changes) - wins - losses, losses)


def worst(changes: Sequence[RepositoryChange]) -> RepositoryChange:
    """Return the repository with the smallest gain; of equals, the first by name."""
    return min(changes, key=lambda c: (c.gain, c.repository))
