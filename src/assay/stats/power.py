"""Minimum detectable differences of the sign-flip test."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import row_blocks
from assay.stats.config import DEFAULT, StatsConfig
from assay.stats.distributions import t_quantile
from assay.stats.paired import smallest_p

if TYPE_CHECKING:
    from assay.types import FloatArray

# The tilt at which all but 1 in 10,000 queries of a set with 99 % ties differ, and the steps to it: an MDE to 2 %.
_LARGEST_TILT = 14.0
_TILTS = 1_400
#: Correlations inside clusters for which unequal sizes are evaluated; an observed one is known no better.
_CORRELATIONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0)


def mde_multiplier(df: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power) -> float:
    """Return the MDE in standard errors: t(1 − α/2) + t(power).

    The t form of the usual z sum (Bloom 1995); within 1 % of the noncentral t from five degrees of freedom up.
    """
    return t_quantile(1.0 - alpha / 2.0, df) + t_quantile(power, df)


def mde_from_se(se: float, df: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power) -> float:
    """Return the smallest true difference that a set with this standard error finds with the power (MDE)."""
    return mde_multiplier(df, alpha=alpha, power=power) * se


def observed_mde(
    se: float,
    df: float,
    clusters: int,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
) -> float:
    """Return the MDE of a set whose standard error was estimated from it, for the sign-flip test.

    An estimated SE is too small on average by c₄(ν) = √(2/ν) Γ((ν+1)/2)/Γ(ν/2) (Cochran 1934), so it is divided by it.
    Without this and the attainable p-values, six clusters have power .57 at the stated difference, seven .70, ten .74.
    """
    c4 = math.sqrt(2.0 / df) * math.exp(math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0))
    return planned_mde(se / c4, df, clusters, alpha=alpha, power=power, config=config)


def planned_mde(
    se: float,
    df: float,
    clusters: int,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
) -> float:
    """Return the MDE of a set with a known standard error, for the sign-flip test; infinite if it cannot reach α.

    The exact test with G clusters gives only multiples of 2^(1−G). Where few of them lie at or below α, the MDE is that
    of the exact test (`_exact_multiplier`), else the t form at the largest of them.
    """
    least = smallest_p(clusters, config=config)
    if least is None or least > alpha + config.tie:
        return math.inf
    steps = _attainable_steps(clusters, alpha, config)
    if 1 <= steps <= config.counted_steps:
        return se * _exact_multiplier((1.0,) * clusters, 0.0, steps, power, config)
    return se * mde_multiplier(df, alpha=steps * 2.0 ** (1 - clusters) if steps else alpha, power=power)


def unequal_factor(
    sizes: FloatArray,
    icc: float,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
) -> float:
    """Return the MDE of the exact test with these clusters over that of equal clusters with the same standard error.

    With six clusters p ≤ .05 needs all of them to agree, and a small cluster agrees less often than a large one: six
    repositories of lognormal sizes found their MDE in 47 to 70 % of sets instead of 80 %. The factor is 1 where more
    than `counted_steps` p-values lie at or below α, and where there is none.
    """
    steps = _attainable_steps(len(sizes), alpha, config)
    if not 1 <= steps <= config.counted_steps or np.all(sizes == sizes[0]):
        return 1.0
    known = min(_CORRELATIONS, key=lambda one: abs(one - icc))
    equal = (1.0,) * len(sizes)
    unequal = tuple(sorted(sizes.tolist()))
    return max(
        1.0,
        _exact_multiplier(unequal, known, steps, power, config) / _exact_multiplier(equal, 0.0, steps, power, config),
    )


def raise_for_ties(mde: float, share: float, size: float) -> float:
    """Raise an MDE where few queries differ: a true difference makes more of them differ, which adds spread.

    Differences of ± `size` on a `share` of the queries, tilted exponentially to a mean δ, have a standard deviation
    s(δ); the MDE is the smallest δ ≥ mde · s(δ)/s(0). Without this, sets with 88 % ties found their MDE in 37 to 67 %
    of the cases instead of 80 %.
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


def _attainable_steps(clusters: int, alpha: float, config: StatsConfig) -> int:
    return math.floor(alpha * 2.0 ** (clusters - 1) + config.tie) if clusters <= config.exact_clusters else 0


@lru_cache(maxsize=4096)
def _exact_multiplier(sizes: tuple[float, ...], icc: float, steps: int, power: float, config: StatsConfig) -> float:
    """Return the MDE in standard errors for p to be among the `steps` smallest of the exact test.

    Flipping a set S of clusters leaves the sum as large as it is just when the sum over S is not above zero: with sums
    nᵢδ + sᵢzᵢ, when δ ≤ −Σ sᵢzᵢ/Σ nᵢ over S. So the test finds δ from the `steps`-th largest of these values upwards,
    the identity being one of the steps. Of equal clusters, a set that holds the r-th largest zᵢ has r − 1 better ones
    (put a larger value in its place, or leave its smallest ones out), so the `steps` largest are enough. For one step
    this is √G·Φ⁻¹(power^(1/G)): all clusters have the same sign.
    """
    rng, counts = np.random.default_rng(config.seed), np.array(sizes)
    spreads = np.sqrt(counts * (1.0 + (counts - 1.0) * icc))
    equal = sizes[0] == sizes[-1]
    used = min(steps, len(sizes)) if equal else len(sizes)
    sets = ((np.arange(1, 2**used)[:, None] >> np.arange(used)) & 1).astype(np.float64)
    weights = (sets * spreads[:used] / (sets @ counts[:used])[:, None]).T
    found = []
    for rows in row_blocks(config.power_draws, weights.shape[1], config.cells):
        drawn = rng.standard_normal((rows, len(sizes)))
        means = (-np.sort(-drawn, axis=1)[:, :used] if equal else drawn) @ weights
        found.append(np.partition(means, means.shape[1] - steps, axis=1)[:, means.shape[1] - steps])
    se = math.sqrt(float((spreads**2).sum())) / float(counts.sum())
    return float(np.quantile(np.concatenate(found), power)) / se
