"""Power of the sign-flip test: minimum detectable effects."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import row_blocks
from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.distributions import t_quantile
from assay.stats.paired import smallest_p
from assay.stats.records import ComparisonRow, ValueRange

if TYPE_CHECKING:
    from assay.types import FloatArray

# At the largest tilt all but 1 in 10,000 queries of a set with 99 % ties differ; the steps give the MDE to 2 %.
_LARGEST_TILT = 14.0
_TILTS = 1_400
#: ICCs for which unequal cluster sizes are evaluated; finer steps would exceed the precision of an estimate.
_CORRELATIONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0)


def can_decide(smallest_p: float | None, family: int, alpha: float) -> bool:
    return smallest_p is not None and smallest_p * family <= alpha


def family_mde(row: ComparisonRow, bounds: ValueRange, size: int, settings: CompareSettings) -> float | None:
    """Return the MDE of a row in a family of this size; None if no difference could be shown.

    The level is α/size, that of the first step of Holm, so that the MDE does not depend on the other rows.
    """
    decidable = can_decide(row.smallest_p, size, settings.alpha) and row.differing >= DEFAULT.p_value_clusters
    if not row.se or not decidable:
        return None
    mde = observed_mde(row.se, row.df, row.clusters, alpha=settings.alpha / size)
    return min(raise_for_ties(mde * row.unequal, 1.0 - row.ties / row.queries, row.typical_size), bounds.width)


def mde_from_se(se: float, df: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power) -> float:
    """Return the MDE, the smallest true difference that is detected with probability `power`.

    This is (t(1 − α/2) + t(power))·SE, the t form of the usual z sum (Bloom 1995), within 1 % of the noncentral t from
    five degrees of freedom up.
    """
    return (t_quantile(1.0 - alpha / 2.0, df) + t_quantile(power, df)) * se


def observed_mde(
    se: float, df: float, clusters: int, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power
) -> float:
    """Return the MDE of the sign-flip test for a standard error that was estimated from the set.

    An estimated SE is c₄ = √(2/ν) Γ((ν+1)/2)/Γ(ν/2) times the true one on average (ν = `df`, Cochran 1934).
    Uncorrected for this and for the attainable p-values, six clusters have power .57 at the MDE, seven .70, ten .74.
    """
    c4 = math.sqrt(2.0 / df) * math.exp(math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0))
    return planned_mde(se / c4, df, clusters, alpha=alpha, power=power)


def planned_mde(
    se: float, df: float, clusters: int, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power
) -> float:
    """Return the MDE of the sign-flip test for a known standard error; infinite if the test cannot reach α.

    The exact test with G clusters gives only multiples of 2^(1−G). If few multiples lie at or below α, the MDE is that
    of the exact test (`_exact_multiplier`), else the t form at the largest of them, or at α if the test is not exact.
    """
    least = smallest_p(clusters)
    if least is None or least > alpha + DEFAULT.tie:
        return math.inf
    steps = _attainable_steps(clusters, alpha)
    if 1 <= steps <= DEFAULT.counted_steps:
        return se * _exact_multiplier((1.0,) * clusters, 0.0, steps, power)
    return mde_from_se(se, df, alpha=steps * 2.0 ** (1 - clusters) if steps else alpha, power=power)


def unequal_factor(
    sizes: FloatArray, icc: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power
) -> float:
    """Return the MDE of the exact test divided by the MDE for clusters of equal size and the same standard error.

    With six clusters p ≤ .05 needs all of them to agree, and a small cluster agrees less often than a large one: with
    six repositories of lognormal sizes, the uncorrected MDE was detected in 47 to 70 % of sets instead of 80 %. The
    factor is at least 1, and it is 1 if none or more than `counted_steps` of the attainable p-values are at most α.
    """
    steps = _attainable_steps(len(sizes), alpha)
    if not 1 <= steps <= DEFAULT.counted_steps or np.all(sizes == sizes[0]):
        return 1.0
    known = min(_CORRELATIONS, key=lambda evaluated: abs(evaluated - icc))
    unequal = _exact_multiplier(tuple(sorted(sizes.tolist())), known, steps, power)
    return max(1.0, unequal / _exact_multiplier((1.0,) * len(sizes), 0.0, steps, power))


def raise_for_ties(mde: float, share: float, size: float) -> float:
    """Raise an MDE if queries tie, because a true difference makes more queries differ, which adds spread.

    Differences of ± `size` on a `share` of the queries, tilted exponentially to a mean δ, have a standard deviation
    s(δ); the MDE is the smallest δ ≥ mde · s(δ)/s(0). With 88 % ties, a difference of `mde` was detected in 37 to 67 %
    of simulations instead of 80 %.
    """
    if not 0.0 < share < 1.0 or mde >= size:
        return mde
    tilts = np.linspace(0.0, _LARGEST_TILT, _TILTS)
    raised = share * np.cosh(tilts)
    total = 1.0 - share + raised
    means = share * size * np.sinh(tilts) / total
    variances = size**2 * raised / total - means**2
    enough = means >= mde * np.sqrt(np.maximum(1.0, variances / (share * size**2)))
    return float(means[enough.argmax()]) if enough.any() else size


def _attainable_steps(clusters: int, alpha: float) -> int:
    return math.floor(alpha * 2.0 ** (clusters - 1) + DEFAULT.tie) if clusters <= DEFAULT.exact_clusters else 0


@lru_cache(maxsize=4096)
def _exact_multiplier(sizes: tuple[float, ...], icc: float, steps: int, power: float) -> float:
    """Return the MDE, in standard errors, for p to be among the `steps` smallest p-values of the exact test.

    Cluster i of nᵢ queries has the sum nᵢδ − sᵢzᵢ, with a true difference δ, a standard deviation sᵢ and a standard
    normal zᵢ. Flipping a set S of clusters lowers the total unless δ ≤ Σ sᵢzᵢ/Σ nᵢ over S. So the test detects any δ
    above the `steps`-th largest of these values: then fewer than `steps` sets do not lower it. For equal clusters, a
    set with the r-th largest zᵢ is exceeded by r − 1 others (replace zᵢ by a larger one, or omit smaller ones), so the
    `steps` largest zᵢ are enough. For one step and G clusters this is √G·Φ⁻¹(power^(1/G)): all have the same sign.
    """
    rng, counts = np.random.default_rng(DEFAULT.seed), np.array(sizes)
    spreads = np.sqrt(counts * (1.0 + (counts - 1.0) * icc))
    equal = sizes[0] == sizes[-1]
    used = min(steps, len(sizes)) if equal else len(sizes)
    sets = ((np.arange(1, 2**used)[:, None] >> np.arange(used)) & 1).astype(np.float64)
    weights = (sets * spreads[:used] / (sets @ counts[:used])[:, None]).T
    thresholds = []
    for rows in row_blocks(DEFAULT.power_draws, weights.shape[1], DEFAULT.cells):
        drawn = rng.standard_normal((rows, len(sizes)))
        means = (-np.sort(-drawn, axis=1)[:, :used] if equal else drawn) @ weights
        thresholds.append(np.partition(means, means.shape[1] - steps, axis=1)[:, means.shape[1] - steps])
    se = math.sqrt(float((spreads**2).sum())) / float(counts.sum())
    return float(np.quantile(np.concatenate(thresholds), power)) / se
