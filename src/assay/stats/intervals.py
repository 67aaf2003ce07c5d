"""Intervals of a mean and of a paired difference.

mean of a measure with a finite range    Wilson at the effective n, after rescaling the range to [0, 1]
mean of a measure with infinite range    cluster-t, clipped to the range
paired difference                        cluster-t, clipped to the range of differences; bootstrap-t as cross-check
as in published results                  percentile and paired percentile bootstrap of queries
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusteredEstimate, ClusterTable, estimate, plain_spread, row_blocks, small_sample
from assay.stats.config import DEFAULT
from assay.stats.distributions import normal_quantile, t_quantile
from assay.stats.records import Interval, ValueRange

if TYPE_CHECKING:
    from assay.types import FloatArray


_STEPS = 60  # maximum steps of a root search; about six are needed
_PRECISION = 1e-8  # precision of a bound, as a share of the measure's range
_NEAR_MEAN = 1e-4  # |r| below which the limit of the tail formula replaces 0/0


def lower_bound(differences: FloatArray, weights: FloatArray, alpha: float, worst: float) -> float:
    """Return the lower 1 − `alpha` confidence bound of the mean of `differences`, none of which can be below `worst`.

    The weights add up to the number of independent observations; one more observation of `worst` is assumed.
    """
    distinct, indexes = np.unique(differences, return_inverse=True)
    weights = np.append(np.bincount(indexes, weights=weights), 1.0)
    values = np.append(distinct, worst)
    low, high, target, total = worst, float(values.max()), normal_quantile(alpha), float(weights.sum())
    if high <= low:
        return worst
    mean = float(weights @ values) / total
    slope = math.sqrt(total * (total + 1.0) / max(float(weights @ (values - mean) ** 2), 1e-300))
    precision = _PRECISION * (high - low)
    bound, before, before_excess = mean + target / slope, math.nan, math.nan
    for _ in range(_STEPS):
        if not low < bound < high:
            bound = 0.5 * (low + high)
        excess = _normal_score(values - bound, weights) - target
        low, high = (bound, high) if excess < 0.0 else (low, bound)
        if before_excess != excess and not math.isnan(before):
            slope = (excess - before_excess) / (bound - before)
        before, before_excess, step = bound, excess, excess / slope
        bound -= step
        if abs(step) <= precision or high - low <= precision:
            break
    return min(max(bound, low), high)


def upper_bound(differences: FloatArray, weights: FloatArray, alpha: float, best: float) -> float:
    return -lower_bound(-differences, weights, alpha, -best)


def _normal_score(values: FloatArray, weights: FloatArray) -> float:
    """Return z such that P(Σ gᵢ vᵢ ≤ 0) ≈ Φ(z) for the values vᵢ and independent gᵢ ~ Gamma(weightᵢ).

    z = r + ln(u/r)/r (Barndorff-Nielsen 1986) at the saddlepoint s of K(s) = −Σ weightᵢ ln(1 − s vᵢ), where
    r = sgn(s) √(−2K(s)) and u = s √K″(s). For two values, bounds agree with beta quantiles to three digits.
    """
    lowest, highest = float(values.min()), float(values.max())
    if lowest >= 0.0 or highest <= 0.0:
        return -math.inf if lowest >= 0.0 else math.inf
    point = _saddlepoint(values, weights, 1.0 / lowest, 1.0 / highest)
    ratios = values / (1.0 - point * values)
    curvature = float(weights @ ratios**2)
    exponent = -float(weights @ np.log1p(-point * values))
    r = math.copysign(math.sqrt(max(0.0, -2.0 * exponent)), point)
    if abs(r) < _NEAR_MEAN:
        return -float(weights @ ratios**3) / (3.0 * math.pow(curvature, 1.5))
    return r + math.log(point * math.sqrt(curvature) / r) / r


def _saddlepoint(values: FloatArray, weights: FloatArray, low: float, high: float) -> float:
    point = 0.0
    for _ in range(_STEPS):
        ratios = values / (1.0 - point * values)
        slope = float(weights.dot(ratios))
        low, high = (low, point) if slope > 0.0 else (point, high)
        following = point - slope / float(weights.dot(ratios * ratios))
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - point) <= 1e-12 * max(1.0, abs(following)):
            return following
        point = following
    return point


@dataclass(frozen=True, slots=True)
class IntervalEnds:
    low: FloatArray
    high: FloatArray
    method: str

    def at(self, column: int, level: float) -> Interval:
        return Interval(float(self.low[column]), float(self.high[column]), level, self.method)


def mean_interval(
    estimated: ClusteredEstimate, bounds: ValueRange, *, level: float = 1 - DEFAULT.alpha, units: float = math.inf
) -> IntervalEnds:
    """Return the interval of a mean: Wilson at the effective n on the rescaled range; cluster-t on an infinite range.

    `units` is the number of independent queries, which is the largest effective n if the values do not vary.
    """
    # Queries of one repository are at least as alike as queries of several, so an SE below that of independent
    # queries is chance; strata may lower it by design.
    se = estimated.se if estimated.stratified else np.maximum(estimated.se, estimated.plain_se)
    if not bounds.finite:
        return _clip_ends(estimated.mean, _quantile(estimated, level) * se, bounds, "cluster-t")
    unit = (estimated.mean - bounds.low) / bounds.width
    n = _effective_n(estimated, unit, se / bounds.width, bounds, units)
    low, high = _wilson(unit, n, _quantile(estimated, level))
    return IntervalEnds(bounds.low + bounds.width * low, bounds.low + bounds.width * high, "wilson")


def _effective_n(
    estimated: ClusteredEstimate, mean: FloatArray, se: FloatArray, bounds: ValueRange, units: float
) -> FloatArray:
    """Return the n at which a proportion of mean m has the standard error SE: m(1 − m)/SE²; at most `units` without SE.

    Near 0 and 1 few clusters cannot estimate the ICC. Without strata, an ICC below `assumed_icc_of_values` is therefore
    raised toward that value by the share w/(w + G − 1) for G clusters, where w = |1 − 2m|/√(m(1 − m)) is the skewness
    of a proportion. At a mean Hit of .95, 6 to 20 repositories and ICC .3, coverage rises from .81–.86 to .94–.99; at
    a mean of .57 it is .95 (docs/how-we-know/statistics.md).
    """
    spread = np.maximum(0.0, mean * (1.0 - mean))
    lean = np.abs(1.0 - 2.0 * mean)
    weight = lean / (lean + max(1, estimated.clusters - 1) * np.sqrt(spread))
    shortfall = np.maximum(0.0, DEFAULT.assumed_icc_of_values - estimated.icc)
    shortfall = np.zeros_like(mean) if estimated.stratified else shortfall
    extra = (estimated.size - 1.0) * shortfall * weight
    variance = se**2 + (estimated.plain_se / bounds.width) ** 2 * extra
    independent = np.minimum(estimated.n / (1.0 + extra), units)
    usable = np.isfinite(variance) & (variance > 0.0) & (spread > 0.0)
    return np.asarray(np.divide(spread, variance, out=independent, where=usable))


def _wilson(mean: FloatArray, n: FloatArray, q: float) -> tuple[FloatArray, FloatArray]:
    """Solve |mean − π| = q √(π(1 − π)/n) for π (Wilson 1927).

    Unlike mean ± q·SE, the interval stays inside the range and keeps its coverage near 0 and 1 (Brown, Cai & DasGupta
    2001).
    """
    if math.isinf(q):
        return np.zeros_like(mean), np.ones_like(mean)
    scale = 1.0 + q * q / n
    center = (mean + q * q / (2.0 * n)) / scale
    half = q / scale * np.sqrt(mean * (1.0 - mean) / n + (q / (2.0 * n)) ** 2)
    # In exact arithmetic the interval contains the mean, which is one of its ends at 0 and 1; rounding must keep that.
    return np.clip(np.minimum(center - half, mean), 0.0, 1.0), np.clip(np.maximum(center + half, mean), 0.0, 1.0)


def share_interval(count: int, n: int, *, level: float = 1 - DEFAULT.alpha) -> Interval:
    share = np.array([count / n])
    low, high = _wilson(share, np.array([float(n)]), normal_quantile(0.5 + level / 2.0))
    return Interval(float(low[0]), float(high[0]), level, "wilson")


def difference_interval(
    estimated: ClusteredEstimate, bounds: ValueRange, *, level: float = 1 - DEFAULT.alpha
) -> IntervalEnds:
    """Return the interval of a paired difference: mean ± t·SE, clipped to the possible differences.

    If all G clusters have the same mean, SE = 0 would suggest certainty. The rate of unseen clusters with another mean
    is then at most 3/G, and each can differ by at most the width of the measure: ± 3/G of the width.
    """
    spreadless = DEFAULT.rule_of_three / estimated.clusters * bounds.width
    half = np.where(estimated.se > 0.0, _quantile(estimated, level) * estimated.se, spreadless)
    return _clip_ends(estimated.mean, half, bounds.differences, "cluster-t")


def widen(given: Interval, differences: FloatArray, bounds: ValueRange, effective_n: float) -> Interval:
    """Widen an interval of a finite range for large differences that `effective_n` queries may not contain."""
    if not bounds.finite:
        return given
    weights = np.full(len(differences), effective_n / len(differences))
    return _extend(given, differences, weights, -bounds.width, bounds.width)


def widen_by_clusters(given: Interval, table: ClusterTable, column: int, bounds: ValueRange) -> Interval:
    """Widen an interval to allow for an unseen cluster, `unseen_cluster` times as extreme as the most extreme one.

    Used if clusters differ by more than chance. At the margin, with 6 to 20 repositories and ICC .15 to .3, "not
    inferior" is wrong in 8 to 10 % of sets near the ceiling without this, in at most 5 % with it.
    """
    means, weights = table.sums[:, column] / table.sizes, table.sizes / table.n * table.clusters
    worst = max(-bounds.width, DEFAULT.unseen_cluster * min(0.0, float(means.min())))
    best = min(bounds.width, DEFAULT.unseen_cluster * max(0.0, float(means.max())))
    return _extend(given, means, weights, worst, best)


def _extend(given: Interval, values: FloatArray, weights: FloatArray, worst: float, best: float) -> Interval:
    tail = (1.0 - given.level) / 2.0
    low = min(given.low, lower_bound(values, weights, tail, worst))
    high = max(given.high, upper_bound(values, weights, tail, best))
    return replace(given, low=low, high=high, method="cluster-t, bounded")


def _quantile(estimated: ClusteredEstimate, level: float) -> float:
    return t_quantile(0.5 + level / 2.0, float(estimated.df)) if estimated.df > 0 else math.inf


def _clip_ends(mean: FloatArray, half: FloatArray, bounds: ValueRange, method: str) -> IntervalEnds:
    half = np.where(np.isnan(half), math.inf, half)
    return IntervalEnds(
        np.clip(mean - half, bounds.low, bounds.high), np.clip(mean + half, bounds.low, bounds.high), method
    )


def bootstrap_t(
    table: ClusterTable,
    rng: np.random.Generator,
    *,
    level: float = 1 - DEFAULT.alpha,
    resamples: int = DEFAULT.resamples,
    cells: int = DEFAULT.cells,
) -> IntervalEnds:
    """Return the cluster bootstrap-t interval of each column; clusters are redrawn inside strata (Cameron et al. 2008).

    The ends are mean − t*·SE at order statistics of t*, the studentized mean of a redraw. Columns share the redraws.
    """
    estimated = estimate(table)
    columns = table.sums.shape[1]
    if estimated.df < 1:
        return IntervalEnds(np.full(columns, -math.inf), np.full(columns, math.inf), "bootstrap-t")
    drawn = np.empty((columns, resamples))
    start = 0
    for rows in row_blocks(resamples, max(table.clusters, columns), cells):
        drawn[:, start : start + rows] = _studentize(table, _counts(table, rows, rng))
        start += rows
    rank = tail_rank(resamples, level)
    drawn.partition((rank - 1, resamples - rank), axis=1)
    low, high = drawn[:, rank - 1], drawn[:, resamples - rank]
    se = np.sqrt(plain_spread(table)) / table.n
    lower, upper = (estimated.mean - np.multiply(t, se, out=np.zeros_like(se), where=se > 0.0) for t in (high, low))
    return IntervalEnds(lower, upper, "bootstrap-t")


def _counts(table: ClusterTable, rows: int, rng: np.random.Generator) -> FloatArray:
    """Count the draws of each cluster (resamples × clusters); one double per draw, so block sizes do not matter."""
    draws = rng.random((rows, table.clusters))
    for part in table.strata:
        size = part.stop - part.start
        draws[:, part] = part.start + np.floor(draws[:, part] * size)
    flat = draws.astype(np.intp) + table.clusters * np.arange(rows)[:, None]
    counts = np.bincount(flat.ravel(), minlength=rows * table.clusters)
    return counts.reshape(rows, table.clusters).astype(np.float64)


def _studentize(table: ClusterTable, counts: FloatArray) -> FloatArray:
    drawn = counts.T
    total = np.zeros((table.sums.shape[1], len(counts)))
    spread = np.zeros_like(total)
    for part in table.strata:
        sizes = table.sizes[part]
        residual = (table.sums[part] - np.outer(sizes, table.sums[part].sum(axis=0) / sizes.sum())).T
        off = residual @ drawn[part]
        mean = off / (sizes @ drawn[part])
        squares = mean * (sizes**2 @ drawn[part])
        squares -= 2.0 * (off if table.single else (residual * sizes) @ drawn[part])
        squares *= mean
        squares += residual**2 @ drawn[part]
        spread += small_sample(len(sizes)) * squares
        total += off
    largest = np.abs(table.sums).max(axis=0)[:, None]
    flat = spread <= DEFAULT.rounding * largest**2  # rounding of zero
    total[flat & (np.abs(total) <= DEFAULT.rounding * table.n * largest)] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = total / np.sqrt(np.where(flat, 0.0, spread))
    t[flat & (total == 0.0)] = 0.0
    return t


def tail_rank(resamples: int, level: float) -> int:
    """Return k such that the ends are the k-th smallest and k-th largest of B resamples: ⌊(B + 1)(1 − level)/2⌋.

    Efron & Tibshirani 1993, section 12.5. Without interpolation, each end is a resampled value, and mirrored data
    have mirrored ends.
    """
    return max(1, math.floor((resamples + 1) * (1.0 - level) / 2.0 + 1e-9))


def percentile_bootstrap(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    level: float = 1 - DEFAULT.alpha,
    resamples: int = DEFAULT.percentile_resamples,
) -> Interval:
    """Return the percentile bootstrap interval of a mean over queries, as in published results; ignores clusters."""
    n = len(values)
    means = np.empty(resamples)
    start = 0
    for rows in row_blocks(resamples, n, DEFAULT.cells):
        means[start : start + rows] = values[np.floor(rng.random((rows, n)) * n).astype(np.intp)].mean(axis=1)
        start += rows
    means.sort()
    rank = tail_rank(resamples, level)
    return Interval(float(means[rank - 1]), float(means[resamples - rank]), level, "percentile bootstrap")


def paired_percentile_bootstrap(
    a: FloatArray,
    b: FloatArray,
    rng: np.random.Generator,
    *,
    level: float = 1 - DEFAULT.alpha,
    resamples: int = DEFAULT.percentile_resamples,
) -> Interval:
    """Return the percentile bootstrap interval of the mean of b − a, paired by query."""
    interval = percentile_bootstrap(b - a, rng, level=level, resamples=resamples)
    return Interval(interval.low, interval.high, level, "paired percentile bootstrap")
