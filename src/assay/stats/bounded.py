"""Bounds of a mean that also hold when large differences are rare: what was not seen may still exist.

A t interval trusts the spread it saw. With one query in fifty falling from the first rank to nothing, half of all sets
of 30 queries show no loss at all, and the interval of what they do show is almost a point. The bound here adds one
observation at the worst possible value and reweights all of them at random (Gaffke 2005): with weights wᵢ ~ Gamma(aᵢ),

    the lower bound is the α-quantile of (Σ wᵢ dᵢ + w₀ · worst) / Σ wᵢ,      w₀ ~ Gamma(1).

For differences that are 0 or the worst value this is the exact bound of Clopper and Pearson, and 3/n (rule of three)
where nothing differs. Queries that are alike count less: aᵢ = effective n / n.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.distributions import normal_quantile

if TYPE_CHECKING:
    from assay.types import FloatArray

_STEPS = 60  # of a root search inside a bracket; it needs about six
_PRECISION = 1e-8  # of a bound, as a share of the measure's range
_NEAR_MEAN = 1e-4  # |r| below which the tail formula is 0/0 and its limit is taken


def lower_bound(differences: FloatArray, weights: FloatArray, alpha: float, worst: float) -> float:
    """Return the one-sided lower bound of the weighted mean of `differences`, none of which can be below `worst`.

    The weights add up to the number of independent observations.
    """
    distinct, places = np.unique(differences, return_inverse=True)
    weights = np.append(np.bincount(places, weights=weights), 1.0)
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
    """Return the one-sided upper bound of the weighted mean of `differences`, none of which can be above `best`."""
    return -lower_bound(-differences, weights, alpha, -best)


def _normal_score(values: FloatArray, weights: FloatArray) -> float:
    """Return z such that P(Σ gᵢ vᵢ ≤ 0) = Φ(z) for gᵢ ~ Gamma(weightᵢ).

    By the saddlepoint formula r* = r + ln(u/r)/r (Barndorff-Nielsen 1986). Against the beta quantiles that are known
    for two values it is right to three digits of the bound.
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
    """Return the zero of the cumulant function's derivative between the poles `low` < 0 < `high`."""
    point = 0.0
    for _ in range(_STEPS):
        ratios = values / (1.0 - point * values)
        slope = float(weights @ ratios)
        low, high = (low, point) if slope > 0.0 else (point, high)
        following = point - slope / float(weights @ ratios**2)
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - point) <= 1e-12 * max(1.0, abs(following)):
            return following
        point = following
    return point
