"""Minimum detectable differences, and the size of a set that finds a given one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import ConfigError
from assay.stats.clustered import row_blocks
from assay.stats.config import DEFAULT, TAG, StatsConfig
from assay.stats.distributions import chi_square_quantile, t_quantile
from assay.stats.paired import Components, smallest_p
from assay.stats.records import Plan, SizeRange

if TYPE_CHECKING:
    from assay.types import FloatArray

# A plan that needs more than this is no plan; it also bounds the search.
_LARGEST = 10_000_000
# The tilt at which all but 1 in 10,000 queries of a set with 99 % ties differ, and the steps to it: an MDE to 2 %.
_LARGEST_TILT = 14.0
_TILTS = 1_400
# Exponents of a pilot's steepest tilt, and halvings of the interval that finds one: nine digits.
_STEEPEST = 500.0
_HALVINGS = 40
# Sums of more differences have steps too small to matter; and steps of one difference.
_LONGEST_SUM = 64
_GRID = 200
# Skewness of few clusters is rounded to a quarter, so that their exact test is worked out a few times only.
_SKEWS = 4
_LARGEST_SKEW = 1.5  # beyond, means of clusters are not like gamma variables
# Up to here the exact test of skewed clusters is worked out, in a tenth of a second; beyond, `_skewed_reach` is close.
_SKEWED_CLUSTERS = 10
# A difference shown with one digit is found to this precision.
_SHOWN = 1e-3


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

    An estimated SE is too small on average by c₄(ν) = √(2/ν) Γ((ν+1)/2)/Γ(ν/2) (Cochran 1934), so it is divided by it.
    Without this and the attainable p-values, six clusters have power .57 at the stated difference, seven .70, ten .74.
    """
    c4 = math.sqrt(2.0 / df) * math.exp(math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0))
    return planned_minimal_difference(se / c4, df, clusters, alpha=alpha, power=power, config=config)


def planned_minimal_difference(
    se: float,
    df: float,
    clusters: int,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
    coarse: Callable[[float], float] = lambda _: 0.0,
    skew: float = 0.0,
) -> float:
    """MDE of a set with a known standard error, for the sign-flip test as it is done; infinite if it cannot reach α.

    The exact test with G clusters gives only multiples of 2^(1−G). Where few of them lie at or below α, the MDE is that
    of the exact test (`_counted_reach`), else the t form at the largest of them. `coarse` adds what the test loses to
    equal sums (`Pilot.half_step`), given how many clusters its decision hangs on. `skew` is the skewness of cluster
    means: with a long tail on the side of the difference, fewer clusters lean the other way.
    """
    least = smallest_p(clusters, config=config)
    if least is None or least > alpha + config.tie:
        return math.inf
    steps = _attainable_steps(clusters, alpha, config)
    rounded = round(max(-_LARGEST_SKEW, min(skew, _LARGEST_SKEW)) * _SKEWS) / _SKEWS
    if 1 <= steps <= config.counted_steps or (rounded and steps and clusters <= _SKEWED_CLUSTERS):
        reached, deciding = _counted_reach(clusters, steps, power, config, rounded)
        return reached * se + coarse(deciding)
    level = steps * 2.0 ** (1 - clusters) if steps else alpha
    reached = _skewed_reach(df, clusters, skew, alpha=level, power=power)
    least_steps = _attainable_steps(_SKEWED_CLUSTERS, alpha, config)
    if rounded and least_steps:  # the error of the expansion at ten clusters, which soon vanishes
        level = least_steps * 2.0 ** (1 - _SKEWED_CLUSTERS)
        exact = _counted_reach(_SKEWED_CLUSTERS, least_steps, power, config, rounded)[0]
        near = _skewed_reach(_SKEWED_CLUSTERS - 1, _SKEWED_CLUSTERS, rounded, alpha=level, power=power)
        reached += (exact - near) * (_SKEWED_CLUSTERS / clusters) ** 2
    return reached * se + coarse(clusters / 2.0)


def _skewed_reach(df: float, clusters: int, skew: float, *, alpha: float, power: float) -> float:
    """Return `reach` where cluster means are skewed.

    With θ = δ/σ the t statistic has the variance 1 − γθ + (κ − 1)θ²/4; with normal values it is 1 + θ²/2, which the
    quantile of t includes. The kurtosis κ is that of a gamma variable, 3 + 1.5γ².
    """
    theta = reach(df, alpha=alpha, power=power) / math.sqrt(clusters)
    variance = 1.0 - skew * theta + (0.5 + 0.375 * skew**2) * theta**2
    ratio = math.sqrt(variance / (1.0 + 0.5 * theta**2))
    return t_quantile(1.0 - alpha / 2.0, df) + t_quantile(power, df) * ratio


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
def _counted_reach(
    clusters: int, steps: int, power: float, config: StatsConfig, skew: float = 0.0
) -> tuple[float, float]:
    """Standard errors a difference must measure for the exact test, whose p must be among its `steps` smallest.

    The second value is the mean number of clusters whose flip decides. Skewed clusters are gamma variables.

    Flipping a set S of clusters leaves the sum as large as it is just when the sum over S is not above zero. With
    clusters δ + √G·SE·zᵢ that is δ ≤ −√G·SE·mean(z over S), so the test finds δ from the `steps`-th largest mean of a
    non-empty set upwards, the identity being one of the steps. A set that holds the r-th largest value has r − 1
    better ones (put a larger value in its place, or leave its smallest ones out), so the `steps` largest values are
    enough. For one step this is √G·Φ⁻¹(power^(1/G)): every cluster leans the same way.
    """
    rng = np.random.default_rng(config.seed)
    largest = min(steps, clusters)
    sets = ((np.arange(1, 2**largest)[:, None] >> np.arange(largest)) & 1).astype(np.float64)
    members = sets.sum(axis=1)
    sets /= members[:, None]
    found, deciding = [], []
    for rows in row_blocks(config.power_draws, len(sets), config.cells):
        if skew:
            shape = 4.0 / skew**2
            drawn = -(rng.gamma(shape, size=(rows, clusters)) - shape) * skew / 2.0
        else:
            drawn = rng.standard_normal((rows, clusters))
        values = -np.sort(-drawn, axis=1)[:, :largest]
        means = values @ sets.T
        at = np.argpartition(means, len(sets) - steps, axis=1)[:, len(sets) - steps]
        found.append(means[np.arange(rows), at])
        deciding.append(members[at])
    reached = math.sqrt(clusters) * float(np.quantile(np.concatenate(found), power))
    return reached, float(np.concatenate(deciding).mean())


def components_of(sd: float, icc: float, repositories: int, queries: float) -> Components:
    """Return variance components for an assumed standard deviation of the differences and an assumed ICC."""
    possible = 0.0 < sd < math.inf and 0.0 <= icc <= 1.0 and repositories >= 1 and 1 <= queries < math.inf
    if not possible:
        raise ConfigError(
            f"cannot plan from sd={sd}, icc={icc}, repositories={repositories}, queries={queries}",
            hint="sd is above 0, icc between 0 and 1, repositories and queries (in each) at least 1",
        )
    return Components(sd * sd * icc, sd * sd * (1.0 - icc), repositories, queries)


@dataclass(frozen=True)
class Pilot:
    """What a pilot run shows besides its variance components."""

    within_df: float  # degrees of freedom of the variance inside repositories
    means_df: float | None  # of the variance of repository means; None where the ICC was not estimated
    values: FloatArray  # distinct differences
    shares: FloatArray  # of the queries, by value

    def shifted(self, delta: float) -> tuple[float, float]:
        """Return the factor by which a mean of `delta` raises the standard deviation, and the skewness it has.

        Where most queries tie, a true difference makes more of them differ. The differences are tilted exponentially
        in the direction of their mean, which keeps their values. Without this, sets with 88 % ties had power .37 to .67
        instead of .8.
        """
        mean = float(self.shares @ self.values)
        values = -self.values if mean < 0.0 else self.values
        weights, center = self.shares, abs(mean)
        if center < delta < values.max():
            center = delta
            low, high = 0.0, _STEEPEST / float(np.ptp(values))
            for _ in range(_HALVINGS):
                slope = 0.5 * (low + high)
                weights = self.shares * np.exp(slope * (values - values.max()))
                weights /= weights.sum()
                low, high = (slope, high) if weights @ values < delta else (low, slope)
        variance = float(weights @ (values - center) ** 2)
        before = float(self.shares @ (values - abs(mean)) ** 2)
        return math.sqrt(max(1.0, variance / before)), float(weights @ (values - center) ** 3) / variance**1.5

    def half_step(self, queries: float) -> float:
        """Half the step between possible means of so many differences with random signs, seen from zero.

        A sign flip that leaves the sum as it is counts against a difference, so P(sum = 0) costs power: with hits and
        misses every sum is a whole number, and with many ties whole repositories tie. P(sum = 0) is the mean of the
        characteristic function's power; a lattice of step h with standard deviation s has h/(s√2π).
        """
        n = max(1, min(round(queries), _LONGEST_SUM))
        step = math.sqrt(2.0 * math.pi * n * float(self.shares @ self.values**2)) * self._zero_sums[n - 1]
        return 0.5 * step / max(n, queries)

    @cached_property
    def _zero_sums(self) -> list[float]:
        """P(sum of n = 0), from n = 1, for differences rounded to 1/200 of the largest."""
        grid = np.zeros(2 * _GRID * _LONGEST_SUM)
        steps = np.rint(self.values / np.abs(self.values).max() * _GRID).astype(np.intp)
        np.add.at(grid, steps, self.shares / 2.0)
        np.add.at(grid, -steps, self.shares / 2.0)
        function = np.fft.fft(grid).real
        power, found = np.ones_like(function), []
        for _ in range(_LONGEST_SUM):
            power *= function
            found.append(float(power.mean()))
        return found


def plan(
    components: Components,
    delta: float,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    config: StatsConfig = DEFAULT,
    cluster: str = "auto",
    pilot: Pilot | None = None,
    icc_source: Literal["pilot", "given", "assumed"] = "given",
) -> Plan:
    """Return how many repositories, or how many queries in the present ones, a difference of `delta` needs.

    `cluster` is what will be drawn independently; with a tag, its values take the place of repositories.

    With R repositories of q queries the variance of the mean is σ²_between/R + σ²_within/(Rq). More queries lower only
    the second term; when the first alone is too large, no number of queries is enough. The ranges follow from the
    chi-square intervals of the pilot's variances at confidence 1 − alpha.
    """
    if not 0.0 < delta < math.inf:
        raise ConfigError(f"a claim needs a size above 0, not {delta}", hint="for example --detect 0.02")
    if not 0.0 < alpha < 0.5 or not alpha < power < 1.0:
        raise ConfigError(f"cannot plan with alpha={alpha}, power={power}", hint="--alpha 0.05 --power 0.8")
    count, size = components.repositories, components.queries

    def shifted(difference: float) -> tuple[float, float]:
        return (1.0, 0.0) if pilot is None else pilot.shifted(difference)

    def mde(variance: float, df: float, clusters: int, each: float, shift: tuple[float, float]) -> float:
        """MDE of clusters of `each` queries, with the spread and the skewness that a true difference has."""

        def coarse(deciding: float) -> float:
            return 0.0 if pilot is None else pilot.half_step(deciding * each)

        if df < 1:
            return math.inf
        return planned_minimal_difference(
            shift[0] * math.sqrt(variance),
            df,
            clusters,
            alpha=alpha,
            power=power,
            config=config,
            coarse=coarse,
            skew=_skew_of_means(shift[1], components.icc, each),
        )

    def queries_mde(end: _End, total: int, shift: tuple[float, float]) -> float:
        """MDE of queries in the present repositories, by the unit rule or the declared unit."""
        if cluster not in ("auto", "intent") or (cluster == "auto" and count >= config.repositories_as_clusters):
            return mde(end.between / count + end.within / total, count - 1, count, total / count, shift)
        return mde(end.within / total, total - count, total, 1.0, shift)

    wanted = shifted(delta)

    def repositories_for(end: _End) -> int | None:
        """Repositories of the present size."""
        start = config.repositories_as_clusters
        return _least(lambda total: mde(end.means / total, total - 1, total, size, wanted), delta, start)

    def queries_for(end: _End) -> int | None:
        start = max(config.small_set, count)  # with fewer, a comparison warns, and the power is below what is stated
        return _least(lambda total: queries_mde(end, total, wanted), delta, start)

    here = _End(components.between + components.within / size, components.between, components.within)
    repositories, queries = repositories_for(here), queries_for(here)
    present = max(2, round(count * size))
    now = _shown(lambda difference: queries_mde(here, present, shifted(difference)))
    repositories_range = queries_range = None
    if pilot is not None:
        low, high = _ends(components, pilot, alpha)
        repositories_range = SizeRange(repositories_for(low), repositories_for(high))
        queries_range = SizeRange(queries_for(low), queries_for(high))
    found = Plan(
        delta=delta,
        alpha=alpha,
        power=power,
        repositories=repositories,
        queries=queries,
        mde_now=now if math.isfinite(now) else None,
        sentence="",
        repositories_range=repositories_range,
        queries_range=queries_range,
        icc=components.icc,
        icc_source=icc_source,
    )
    return replace(found, sentence=_sentence(found, components, cluster, piloted=pilot is not None))


def _skew_of_means(skew: float, icc: float, queries: float) -> float:
    """Skewness of a repository's mean, if repositories differ as in a Dirichlet-multinomial (Mosimann 1962).

    With A = 1/ICC − 1 it is γ (A + 2q)/(A + 2) √((A + 1)/(q (A + q))), written here in the ICC.
    """
    a, q = 1.0 - icc, max(1.0, queries)
    return skew * (a + 2.0 * q * icc) / (a + 2.0 * icc) * math.sqrt(1.0 / (q * (a + q * icc)))


@dataclass(frozen=True, slots=True)
class _End:
    """Variances, as estimated or at one end of their confidence intervals."""

    means: float  # of a repository's mean
    between: float
    within: float


def _ends(components: Components, pilot: Pilot, alpha: float) -> tuple[_End, _End]:
    """Both ends of the chi-square intervals, ν s²/χ²(1 − α/2) and ν s²/χ²(α/2).

    The variance of repository means is estimated directly, and what of it exceeds the queries' part lies between
    repositories. A given ICC ties both parts together.
    """
    inside = components.within / components.queries
    found = []
    for tail in (1.0 - alpha / 2.0, alpha / 2.0):
        factor = pilot.within_df / chi_square_quantile(tail, pilot.within_df)
        if pilot.means_df is None:
            between = components.between * factor
            found.append(_End(between + inside * factor, between, components.within * factor))
            continue
        means = (components.between + inside) * pilot.means_df / chi_square_quantile(tail, pilot.means_df)
        found.append(_End(means, max(0.0, means - inside), components.within * factor))
    return found[0], found[1]


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


def _shown(mde: Callable[[float], float]) -> float:
    """Find the smallest difference that is at least the MDE of sets with that difference."""
    low = high = mde(0.0)
    while math.isfinite(high) and mde(high) > high:
        low, high = high, mde(high)
        if high - low <= _SHOWN * high:
            break
    return high


def _sentence(found: Plan, components: Components, cluster: str, *, piloted: bool) -> str:
    count, tagged = components.repositories, cluster.startswith(TAG)
    one, many = ("cluster", "clusters") if tagged else ("repository", "repositories")
    by = f" by the {cluster.replace(':', ' ', 1)}" if tagged else ""
    here = f"this {one}{by}" if count == 1 else f"these {count} {many}{by}"
    confidence = f"{100.0 * (1.0 - found.alpha):g}% CI"
    new = "more than can be had" if found.repositories is None else f"{found.repositories:,} {many}"
    new += f" of {components.queries:.0f} queries{_range(found.repositories_range, confidence)}"
    more = _range(found.queries_range, confidence)
    if found.queries is None:
        answer = f"{new}; no number of queries in {here} is enough{more}"
    else:
        answer = (
            f"{found.queries:,} queries in {here}{more}; or, for a claim beyond {'it' if count == 1 else 'them'}, {new}"
        )
    pilot = f", because {count} {one if count == 1 else many} cannot show it" if piloted else ""
    icc = {
        "pilot": "from the pilot",
        "given": "as given",
        "assumed": f"assumed{pilot}; set it with --icc",
    }[found.icc_source]
    return f"A difference of {found.delta:g} needs {answer}. ICC {found.icc:.2g}, {icc}."


def _range(sizes: SizeRange | None, confidence: str) -> str:
    if sizes is None or sizes.low is None:
        return ""
    high = "or more" if sizes.high is None else f"to {sizes.high:,}"
    return f" ({confidence} {sizes.low:,} {high})"
