"""Estimation of between-run variance, and its effect on intervals, p-values and verdicts.

Queries of one run may share an error, as with a randomized index. The spread over queries does not show
this error, only repeated runs do. Random variation of single queries shows in both, so it is subtracted from the
spread over queries before the variance between runs is added (law of total variance).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.distributions import normal_cdf, normal_quantile, t_quantile
from assay.stats.paired import family_mde
from assay.stats.records import Comparison, ComparisonRow, Interval, ValueRange, Verdict
from assay.stats.score_table import range_of
from assay.stats.verdicts import judge, judgment_notes

#: Normal quantiles between which a p-value is searched: from 1 to 1e-12, far below what is displayed.
_QUANTILES = (1e-9, 7.1)
_PRECISION = 1e-12  # of the half-width, relative
_STEPS = 100


@dataclass(frozen=True, slots=True)
class RunVariance:
    """The between-run variance of a mean, pooled over the repeated runs of a baseline and an engine."""

    of_run: float  # variance of the mean of one run
    df: int
    runs: tuple[int, int] = (1, 1)  # of the baseline and of the engine
    of_queries: float = 0.0  # the part of `of_run` that random variation of single queries explains

    @property
    def variance(self) -> float:
        return self.of_run * self._factor

    @property
    def seen_by_queries(self) -> float:
        return self.of_queries * self._factor

    @property
    def _factor(self) -> float:
        return 1 / self.runs[0] + 1 / self.runs[1]

    def reach(self, alpha: float) -> float:
        """Return the difference that runs of equal engines exceed with probability `alpha` (Student 1908)."""
        return t_quantile(1 - alpha / 2, self.df) * math.sqrt(self.variance)

    def lucky_reach(self, alpha: float) -> float:
        """Return the loss that runs of an unchanged engine rarely exceed, even if the baseline was high by chance.

        A baseline in version control never changes, so a test at 2.5 % over all baselines raises false alarms in 20 %
        of the runs against the luckiest of twenty. The baseline is therefore taken at the end of its 1 − α interval,
        and the new runs must lie below that by a one-sided test at α: with a known variance, at most α of the runs
        fail against 1 − α/2 of all baselines (docs/how-we-know/gate.md has the rates for few runs). Control charts
        with estimated limits are set up the same way (Albers & Kallenberg 2005).
        """
        old, new = self.runs
        return self._bound(1 - alpha / 2) / math.sqrt(old) + self._bound(1 - alpha) / math.sqrt(new)

    def _bound(self, level: float) -> float:
        of_run = t_quantile(level, self.df) * math.sqrt(self.of_run)
        return max(of_run, normal_quantile(level) * math.sqrt(self.of_queries))


def estimate_run_variance(
    old: Sequence[float], new: Sequence[float], of_queries: tuple[float, float] = (0.0, 0.0)
) -> RunVariance | None:
    """Estimate the between-run variance from the means of runs; None without repeats or if a mean is missing.

    Variances of baseline (`old`) and engine (`new`) are pooled; single queries explain the parts `of_queries` of them.
    """
    df = len(old) + len(new) - 2
    if df < 1 or not all(map(math.isfinite, (*old, *new))):
        return None
    squares = math.fsum((value - math.fsum(side) / len(side)) ** 2 for side in (old, new) for value in side)
    sides = zip((old, new), of_queries, strict=True)
    noise = math.fsum((len(side) - 1) * variance for side, variance in sides if len(side) > 1)
    return RunVariance(squares / df, df, (len(old), len(new)), noise / df)


def is_regression(row: ComparisonRow, chance: RunVariance | None, alpha: float) -> bool:
    beyond_luck = chance is None or abs(row.difference) > chance.lucky_reach(alpha)
    return row.verdict is Verdict.WORSE and not row.within_margin and beyond_luck


def add_run_variance(
    comparison: Comparison, chance_of: Callable[[ComparisonRow], RunVariance | None], settings: CompareSettings
) -> Comparison:
    if all(chance_of(row) is None for row in (*comparison.rows, *comparison.secondary)):
        return comparison
    rows = []
    for row in comparison.rows:
        stale = judgment_notes(row, comparison.family_size, settings.alpha) if row.in_family else ()
        fresh = replace(row, notes=tuple(note for note in row.notes if note not in stale))
        rows.append(_include(fresh, chance_of(row), settings))
    members = [row for row in rows if row.in_family]
    untested = comparison.family_size - len(members)
    judged = iter(judge(members, range_of(comparison.primary), settings, untested))
    return replace(
        comparison,
        rows=tuple(next(judged) if row.in_family else row for row in rows),
        secondary=tuple(_include(row, chance_of(row), settings) for row in comparison.secondary),
    )


def _include(row: ComparisonRow, chance: RunVariance | None, settings: CompareSettings) -> ComparisonRow:
    if chance is None or chance.variance <= DEFAULT.tie**2:  # rounding of equal means
        return row
    bounds = range_of(row.measure)
    # the share of the SE that is not already random variation of single queries
    steady = math.sqrt(max(0.0, 1.0 - chance.seen_by_queries / row.se**2)) if row.se else 1.0
    equivalence = _widen(row.equivalence, row.difference, chance, steady, bounds)
    se = None if row.se is None else max(row.se, math.hypot(steady * row.se, math.sqrt(chance.variance)))
    made = replace(
        row,
        se=se,
        df=_degrees_of_freedom(row, chance, steady),
        interval=_widen(row.interval, row.difference, chance, steady, bounds),
        equivalence=equivalence,
        cross_check=_widen(row.cross_check, row.difference, chance, steady, bounds),
        p=None if row.p is None else max(row.p, _p_value(row, chance, steady)),
        within_margin=equivalence.inside(settings.margin),
        notes=(*row.notes, f"between-run variance is included; it alone reaches ±{chance.reach(settings.alpha):.3f}"),
    )
    return replace(made, mde=family_mde(made, bounds, 1, settings))


def _widen(given: Interval, center: float, chance: RunVariance, steady: float, bounds: ValueRange) -> Interval:
    """Widen an interval by between-run variance: the squared half-widths of queries and of runs add up.

    √(t₁²s₁² + t₂²s₂²), with the t quantile and standard error of each, has at least the stated coverage (Banerjee
    1960). One quantile at Satterthwaite's degrees of freedom is not used: with three runs in total it errs one time in
    eight. The interval never gets narrower, although few runs may have varied less than their queries by chance.
    """
    reach, limit = chance.reach(1 - given.level), bounds.differences
    low = min(given.low, center - math.hypot(steady * (center - given.low), reach))
    high = max(given.high, center + math.hypot(steady * (given.high - center), reach))
    return replace(given, low=max(low, limit.low), high=min(high, limit.high))


def _p_value(row: ComparisonRow, chance: RunVariance, steady: float) -> float:
    """Return the level at which the interval with between-run variance just includes zero.

    The log half-width is smooth in the normal quantile of the level: regula falsi (Illinois) needs about ten steps.
    """
    gap, se = abs(row.difference), steady * (row.se or 0.0)
    if gap == 0.0:
        return 1.0

    def excess(z: float) -> float:
        level = _two_sided(z)
        return math.log(math.hypot(t_quantile(1 - level / 2, row.df) * se, chance.reach(level)) / gap)

    low, high = _QUANTILES
    below, above = excess(low), excess(high)
    if below >= 0.0 or above <= 0.0:
        return _two_sided(low if below >= 0.0 else high)
    side = 0
    for _ in range(_STEPS):
        z = (low * above - high * below) / (above - below)
        value = excess(z)
        if abs(value) <= _PRECISION:
            return _two_sided(z)
        if value > 0.0:
            high, above, below, side = z, value, below / 2 if side > 0 else below, 1
        else:
            low, below, above, side = z, value, above / 2 if side < 0 else above, -1
    return _two_sided(low)


def _two_sided(z: float) -> float:
    return 2.0 * normal_cdf(-z)


def _degrees_of_freedom(row: ComparisonRow, chance: RunVariance, steady: float) -> float:
    """Return the degrees of freedom of an SE with between-run variance (Satterthwaite 1946); only the MDE uses them."""
    if row.se is None or row.df < 1:
        return row.df
    queries = (steady * row.se) ** 2
    if queries + chance.variance <= row.se**2:
        return row.df
    share = queries / (queries + chance.variance)
    return max(1, math.floor(1 / (share**2 / row.df + (1 - share) ** 2 / chance.df)))
