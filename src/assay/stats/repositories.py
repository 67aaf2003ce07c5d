"""What a difference is made of, repository by repository: where it was won, and where it was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.config import DEFAULT
from assay.stats.tables import column, headline

if TYPE_CHECKING:
    from assay.stats.traits import MeasureLike
    from assay.types import Scores


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """The mean difference on the queries of one repository, in the measure's own units."""

    repository: str
    queries: int
    difference: float  # engine − baseline
    gain: float  # the same, with the good end up


@dataclass(frozen=True, slots=True)
class Tally:
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
    """Average the differences of one repository; rounding of zero is zero."""
    mean = float(np.mean(differences))
    mean = mean if abs(mean) > DEFAULT.tie else 0.0
    return RepositoryChange(repository, len(differences), mean, sign * mean + 0.0)


def tally(changes: Sequence[RepositoryChange]) -> Tally:
    """Count who gained and who lost."""
    wins, losses = sum(c.gain > 0.0 for c in changes), sum(c.gain < 0.0 for c in changes)
    return Tally(wins, len(changes) - wins - losses, losses)


def worst(changes: Sequence[RepositoryChange]) -> RepositoryChange:
    """Find the repository that gained least; the name decides between equals."""
    return min(changes, key=lambda c: (c.gain, c.repository))
