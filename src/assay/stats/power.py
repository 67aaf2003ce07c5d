"""What could this set have shown, and what would a claim need."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from assay.errors import ConfigError
from assay.stats.clustered import row_blocks
from assay.stats.config import DEFAULT, TAG, StatsConfig
from assay.stats.distributions import t_quantile
from assay.stats.paired import Components
from assay.stats.records import Plan

# A plan that needs more than this is no plan; it also bounds the search.
_LARGEST = 10_000_000
# The tilt at which all but 1 in 10,000 queries of a set with 99 % ties differ, and the steps to it: an MDE to 2 %.
_LARGEST_TILT = 14.0
_TILTS = 1_400


def reach(df: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power) -> float:
    """Standard errors a true difference must measure to be found with this power: t(1 − α/2) + t(power).

    The t form of the usual z sum (Bloom 1995); within 1 % of the noncentral t from five degrees of freedom up.
    """
    return t_quantile(1.0 - alpha / 2.0, df) + t_quantile(power, df)


def minimal_difference(se: float, df: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power) -> float:
    """Smallest true difference that a set with this standard error finds with the power (MDE)."""
    return reach(df, alpha=alpha, power=power) * se


def observed_minimal_difference(
    se: float,
    df: float,
    clusters: int,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
) -> float:
    """MDE of a set whose standard error was estimated from it, for the sign-flip test as it is done.

    Two things a known SE and a smooth test would not need. An estimated SE is too small on average by
    c₄(ν) = √(2/ν) Γ((ν+1)/2)/Γ(ν/2) (Cochran 1934), so it is divided by it. And the exact test with G clusters gives
    only multiples of 2^(1−G): where few of them lie at or below α, what it can find is worked out for the test itself,
    else the t form is taken at the largest of them. Without the two, six clusters have power .57 at the stated
    difference, seven .70, ten .74.
    """
    c4 = math.sqrt(2.0 / df) * math.exp(math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0))
    steps = _attainable_steps(clusters, alpha, config)
    if 1 <= steps <= config.counted_steps:
        return _counted_reach(clusters, steps, power, config) * se / c4
    level = steps * 2.0 ** (1 - clusters) if steps else alpha
    return minimal_difference(se / c4, df, alpha=level, power=power)


def where_most_tie(mde: float, share: float, size: float) -> float:
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
    """How many of the exact test's p-values lie at or below α; 0 where it is not exact or has none."""
    return math.floor(alpha * 2.0 ** (clusters - 1) + config.tie) if clusters <= config.exact_clusters else 0


@lru_cache(maxsize=256)
def _counted_reach(clusters: int, steps: int, power: float, config: StatsConfig) -> float:
    """Standard errors a difference must measure for the exact test, whose p must be among its `steps` smallest.

    Flipping a set S of clusters leaves the sum as large as it is just when the sum over S is not above zero. With
    clusters δ + √G·SE·zᵢ that is δ ≤ −√G·SE·mean(z over S), so the test finds δ from the `steps`-th largest mean of a
    non-empty set upwards, the identity being one of the steps. A set that holds the r-th largest value has r − 1
    better ones (put a larger value in its place, or leave its smallest ones out), so the `steps` largest values are
    enough. For one step this is √G·Φ⁻¹(power^(1/G)): every cluster leans the same way.
    """
    rng = np.random.default_rng(config.seed)
    largest = min(steps, clusters)
    sets = ((np.arange(1, 2**largest)[:, None] >> np.arange(largest)) & 1).astype(np.float64)
    sets /= sets.sum(axis=1, keepdims=True)
    found = []
    for rows in row_blocks(config.power_draws, len(sets), config.cells):
        values = -np.sort(-rng.standard_normal((rows, clusters)), axis=1)[:, :largest]
        found.append(np.partition(values @ sets.T, len(sets) - steps, axis=1)[:, len(sets) - steps])
    return math.sqrt(clusters) * float(np.quantile(np.concatenate(found), power))


def components_of(sd: float, icc: float, repositories: int, queries: float) -> Components:
    """Variance components from a guess of the differences' standard deviation and ICC, for planning without a pilot."""
    if sd <= 0.0 or not 0.0 <= icc <= 1.0 or repositories < 1 or queries < 1:
        raise ConfigError(
            f"cannot plan from sd={sd}, icc={icc}, repositories={repositories}, queries={queries}",
            hint="sd is above 0, icc between 0 and 1, repositories and queries (in each) at least 1",
        )
    return Components(sd * sd * icc, sd * sd * (1.0 - icc), repositories, queries)


def plan(
    components: Components,
    delta: float,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
    cluster: str = "auto",
) -> Plan:
    """Say how many repositories, or how many queries in the present ones, a difference of `delta` would need.

    `cluster` is what will be drawn independently; with a tag, its values stand where repositories do.

    With R repositories of q queries the variance of the mean is σ²_between/R + σ²_within/(Rq). More
    queries lower only the second term; when the first alone is too large no number of queries will do.
    """
    if delta <= 0.0:
        raise ConfigError(f"a claim needs a size above 0, not {delta}", hint="for example --detect 0.02")

    def repositories_reach(count: int) -> float:
        """MDE with this many repositories of the present size."""
        variance = (components.between + components.within / components.queries) / count
        return minimal_difference(math.sqrt(variance), count - 1, alpha=alpha, power=power)

    def queries_reach(total: int) -> float:
        """MDE with this many queries in the present repositories."""
        return _mde_of_queries(components, total, alpha, power, config, cluster)

    now = queries_reach(max(2, round(components.repositories * components.queries)))
    repositories = _least(repositories_reach, delta, config.repositories_as_clusters)
    queries = _least(queries_reach, delta, max(config.p_value_clusters, components.repositories))
    sentence = _sentence(components, delta, repositories, queries, cluster)
    return Plan(delta, alpha, power, repositories, queries, now, sentence)


def _mde_of_queries(
    components: Components, total: int, alpha: float, power: float, config: StatsConfig, cluster: str
) -> float:
    """MDE of `total` queries in the present repositories, under the unit rule or the declared unit."""
    count = components.repositories
    whole = cluster not in ("auto", "intent")
    if whole and count < 2:
        return math.inf  # one cluster has no spread to learn from
    if whole or (cluster == "auto" and count >= config.repositories_as_clusters):
        variance = components.between / count + components.within / total
        return minimal_difference(math.sqrt(variance), count - 1, alpha=alpha, power=power)
    df = total - count
    return (
        minimal_difference(math.sqrt(components.within / total), df, alpha=alpha, power=power) if df > 0 else math.inf
    )


def _least(mde: Callable[[int], float], delta: float, start: int) -> int | None:
    """Find the smallest size from `start` whose MDE is at most delta; the MDE falls with the size."""
    high = start
    while mde(high) > delta:
        high *= 2
        if high > _LARGEST:
            return None
    low = max(start, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if mde(middle) <= delta else (middle + 1, high)
    return high


def _sentence(components: Components, delta: float, repositories: int | None, queries: int | None, cluster: str) -> str:
    """Put the plan in words."""
    count = components.repositories
    one, many = ("cluster", "clusters") if cluster.startswith(TAG) else ("repository", "repositories")
    by = f" by the {cluster.replace(':', ' ', 1)}" if cluster.startswith(TAG) else ""
    here = f"this {one}{by}" if count == 1 else f"these {count} {many}{by}"
    first = (
        f"{queries} queries in {here}"
        if queries is not None
        else f"no number of queries in {here}: they differ too much among themselves"
    )
    second = f"{repositories} {many} of {components.queries:.0f} queries" if repositories else "more than can be had"
    return f"To show a difference of {delta:g}: {first}; or, for a claim beyond them, {second}."
