"""Chance between whole runs: what repeats say of it, and how it goes into intervals, p-values and verdicts.

Queries of one run may share their luck, such as an index that is built by lot. No spread over queries shows that; only
whole runs do. Both sources of chance are independent, so their variances add up (law of total variance).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.stats.config import Settings
from assay.stats.distributions import t_quantile
from assay.stats.family import judge, shown_difference
from assay.stats.records import Comparison, ComparisonRow, Interval, Range
from assay.stats.traits import range_of

#: Halvings of [0, 1] until a p-value is known to 1e-12, far below what is shown.
_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class RunChance:
    """How much the difference of two sides varies from run to run."""

    variance: float
    df: int

    def reach(self, alpha: float) -> float:
        """Give the difference that chance between runs alone reaches in `alpha` of the cases (Student 1908)."""
        return t_quantile(1 - alpha / 2, self.df) * math.sqrt(self.variance)


def run_chance(old: Sequence[float], new: Sequence[float]) -> RunChance | None:
    """Estimate it from the means of the runs of both sides, with one pooled variance; None where none was repeated."""
    df = len(old) + len(new) - 2
    if df < 1 or not all(map(math.isfinite, (*old, *new))):
        return None
    squares = math.fsum((value - math.fsum(side) / len(side)) ** 2 for side in (old, new) for value in side)
    return RunChance(squares / df * (1 / len(old) + 1 / len(new)), df)


def with_run_chance(
    found: Comparison, chance_of: Callable[[ComparisonRow], RunChance | None], settings: Settings
) -> Comparison:
    """Give a comparison whose intervals, p-values and verdicts know of the chance between runs."""
    rows = [_widened(row, chance_of(row), settings) for row in found.rows]
    judged = iter(judge([row for row in rows if row.in_family], range_of(found.primary), settings))
    return replace(
        found,
        rows=tuple(_once(next(judged)) if row.in_family else row for row in rows),
        secondary=tuple(_widened(row, chance_of(row), settings) for row in found.secondary),
    )


def _once(row: ComparisonRow) -> ComparisonRow:
    """Say once what both judgements of a row said."""
    return replace(row, notes=tuple(dict.fromkeys(row.notes)))


def _widened(row: ComparisonRow, chance: RunChance | None, settings: Settings) -> ComparisonRow:
    """Add the chance between runs to one row; where runs do not differ there is none."""
    if chance is None or chance.variance == 0.0:
        return row
    bounds = range_of(row.measure)
    equivalence = _wider(row.equivalence, row.difference, chance, bounds)
    made = replace(
        row,
        se=None if row.se is None else math.hypot(row.se, math.sqrt(chance.variance)),
        df=_freedom(row, chance),
        interval=_wider(row.interval, row.difference, chance, bounds),
        equivalence=equivalence,
        cross_check=_wider(row.cross_check, row.difference, chance, bounds),
        p=None if row.p is None else max(row.p, _p_value(row, chance)),
        within_margin=equivalence.inside(settings.margin),
        notes=(*row.notes, _NOTE.format(chance.reach(settings.alpha))),
    )
    return replace(made, mde=shown_difference(made, bounds, 1, settings))


_NOTE = "interval and p hold chance between whole runs, which alone reaches ±{:.3f}"


def _wider(given: Interval, centre: float, chance: RunChance, bounds: Range) -> Interval:
    """Widen an interval: half-widths of independent parts add up by their squares.

    √(t₁²s₁² + t₂²s₂²) with each part's own quantile covers at least as often as it says (Banerjee 1960). One quantile
    at Satterthwaite's degrees of freedom is rejected: with three runs in all it errs one time in eight.
    """
    reach, limit = chance.reach(1 - given.level), bounds.differences
    low, high = centre - math.hypot(centre - given.low, reach), centre + math.hypot(given.high - centre, reach)
    return replace(given, low=max(low, limit.low), high=min(high, limit.high))


def _p_value(row: ComparisonRow, chance: RunChance) -> float:
    """Find the level at which the interval of both parts just touches zero."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        half = math.hypot(t_quantile(1 - middle / 2, row.df) * (row.se or 0.0), chance.reach(middle))
        low, high = (low, middle) if half < abs(row.difference) else (middle, high)
    return high


def _freedom(row: ComparisonRow, chance: RunChance) -> float:
    """Give the degrees of freedom of both parts together (Satterthwaite 1946), for the MDE, which is known roughly."""
    if row.se is None or row.df < 1:
        return row.df
    parts = row.se**4 / row.df + chance.variance**2 / chance.df
    return max(1, math.floor((row.se**2 + chance.variance) ** 2 / parts))
