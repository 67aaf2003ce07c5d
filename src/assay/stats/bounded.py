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

from assay.stats.distributions import normal_cdf

if TYPE_CHECKING:
    from assay.types import FloatArray

_HALVINGS = 26  # of the range of the measure: the bound is known to 1e-7
_STEPS = 60  # of Newton's method inside a bracket; it needs about six
_NEAR_MEAN = 1e-4  # |r| below which the tail formula is 0/0 and its limit is taken


def lower_bound(differences: FloatArray, alpha: float, worst: float, effective_n: float) -> float:
    """Give the one-sided lower bound of the mean of `differences`, none of which can be below `worst`."""
    values, counts = np.unique(differences, return_counts=True)
    weights = np.append(counts * (effective_n / len(differences)), 1.0)
    values = np.append(values, worst)
    low, high = worst, float(values.max())
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = _share_below_zero(values - middle, weights)
        low, high = (middle, high) if below < alpha else (low, middle)
    return low


def upper_bound(differences: FloatArray, alpha: float, best: float, effective_n: float) -> float:
    """Give the one-sided upper bound, none of the differences being above `best`."""
    return -lower_bound(-differences, alpha, -best, effective_n)


def _share_below_zero(values: FloatArray, weights: FloatArray) -> float:
    """P(Σ gᵢ vᵢ ≤ 0) for gᵢ ~ Gamma(weightᵢ), by the saddlepoint formula of Lugannani and Rice (1980).

    Against the beta quantiles that are known for two values it is right to three digits of the bound.
    """
    lowest, highest = float(values.min()), float(values.max())
    if lowest >= 0.0 or highest <= 0.0:
        return 0.0 if lowest >= 0.0 else 1.0
    point = _saddlepoint(values, weights, 1.0 / lowest, 1.0 / highest)
    ratios = values / (1.0 - point * values)
    curvature = float(weights @ ratios**2)
    exponent = -float(weights @ np.log1p(-point * values))
    r = math.copysign(math.sqrt(max(0.0, -2.0 * exponent)), point)
    if abs(r) < _NEAR_MEAN:
        skewness = 2.0 * float(weights @ ratios**3) / curvature**1.5
        return 0.5 - skewness / (6.0 * math.sqrt(2.0 * math.pi))
    density = math.exp(-0.5 * r * r) / math.sqrt(2.0 * math.pi)
    share = normal_cdf(r) + density * (1.0 / r - 1.0 / (point * math.sqrt(curvature)))
    return min(1.0, max(0.0, share))


def _saddlepoint(values: FloatArray, weights: FloatArray, low: float, high: float) -> float:
    """Find the zero of the cumulant function's derivative between the poles `low` < 0 < `high`."""
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
