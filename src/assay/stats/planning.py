"""Sample sizes: how many queries or repositories show a difference, from a pilot or from assumptions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import ConfigError
from assay.stats.clustered import ClusterTable
from assay.stats.config import DEFAULT, TAG, StatsConfig
from assay.stats.distributions import chi_square_quantile, normal_quantile
from assay.stats.paired import Components, sign_flip, variance_components
from assay.stats.power import planned_mde
from assay.stats.records import SamplePlan, SizeRange
from assay.stats.tables import check_engine, column, headline
from assay.stats.units import group_codes, partition

if TYPE_CHECKING:
    from assay.stats.records import MeasureLike
    from assay.stats.units import IntArray, Partition
    from assay.types import FloatArray, Scores


# Exponents of the steepest tilt, and halvings of the interval that finds one: nine digits.
_STEEPEST = 500.0
_HALVINGS = 40
#: Distinct differences that are simulated; more are rounded.
_DISTINCT = 64
#: Sign patterns that simulated tests draw, and clusters up to which they enumerate all of them.
_FLIPS = 999
_ENUMERATED = 12
_MOST_ALIKE = 0.999


@dataclass(frozen=True)
class Pilot:
    """The distribution of paired differences in a pilot, and how well it is known."""

    within_df: float  # degrees of freedom of the variance inside repositories
    means_df: float | None  # of the variance of repository means; None where the ICC was not estimated
    values: FloatArray  # distinct differences, ascending
    shares: FloatArray  # of the queries, by value

    def tilted(self, delta: float) -> tuple[FloatArray, FloatArray]:
        """Return values and shares with a mean of `delta`, in the direction of the pilot's mean.

        Where most queries tie, a true difference makes more of them differ. The shares are tilted exponentially, which
        keeps the values; without this, sets with 88 % ties had power .37 to .67 instead of .8. A mean that no tilt
        reaches is reached by shifting the values.
        """
        values, shares = self.values, self.shares
        if shares @ values < 0.0:
            values, shares = -values[::-1], shares[::-1]
        if not values.min() < delta < values.max():
            return values + (delta - float(shares @ values)), shares
        steepest = _STEEPEST / float(np.ptp(values))
        low, high = -steepest, steepest
        for _ in range(_HALVINGS):
            slope = 0.5 * (low + high)
            exponents = slope * values
            weights = shares * np.exp(exponents - exponents.max())
            weights /= weights.sum()
            low, high = (slope, high) if weights @ values < delta else (low, slope)
        return values, weights

    def spread_at(self, delta: float) -> float:
        """Return the factor by which a mean of `delta` changes the standard deviation."""
        values, shares = self.tilted(delta)
        return math.sqrt(_variance(values, shares) / _variance(self.values, self.shares))

    def power(
        self, delta: float, clusters: int, queries: int, components: Components, alpha: float, config: StatsConfig
    ) -> float:
        """Simulate sets with a true difference of `delta`, and return how often the sign-flip test finds it.

        Repositories differ as in a Dirichlet-multinomial, which has any ICC and keeps the values of the differences,
        and with them the ties of whole sums.
        """
        pilot, icc = self._rounded, components.icc
        scale = math.sqrt((components.between + components.within) / _variance(pilot.values, pilot.shares))
        values, shares = pilot.tilted(delta / scale)
        rng, size = np.random.default_rng(config.seed), (config.plan_sets, clusters)
        if queries == 1:
            sums = values[np.searchsorted(np.cumsum(shares)[:-1], rng.random(size))]
        elif icc > 0.0:
            likely = shares > 0.0  # a tilt may underflow
            alike = rng.dirichlet(shares[likely] * (1.0 / min(icc, _MOST_ALIKE) - 1.0), size)
            sums = rng.multinomial(queries, alike) @ values[likely]
        else:
            sums = rng.multinomial(queries, shares, size) @ values
        table = ClusterTable(sums.T, np.full(clusters, float(queries)), (slice(0, clusters),), np.zeros(len(sums)))
        p = sign_flip(table, rng, resamples=_FLIPS, config=replace(config, exact_clusters=_ENUMERATED))
        return 0.0 if p is None else float(np.mean((p <= alpha + config.tie) & (sums.sum(axis=1) > 0.0)))

    @cached_property
    def _rounded(self) -> Pilot:
        if len(self.values) <= _DISTINCT:
            return self
        step = 2.0 * float(np.abs(self.values).max()) / _DISTINCT
        values, places = np.unique(np.rint(self.values / step) * step, return_inverse=True)
        return replace(self, values=values, shares=np.bincount(places, self.shares).astype(np.float64))


@dataclass(frozen=True, slots=True)
class PilotVariance:
    """Variance components of a pilot and how they were found."""

    components: Components
    pilot: Pilot
    icc_source: Literal["pilot", "given", "assumed"]


def read_pilot(
    differences: FloatArray, groups: IntArray, icc: float | None = None, config: StatsConfig = DEFAULT
) -> PilotVariance:
    """Estimate the variance inside and between repositories, or other declared clusters, with degrees of freedom.

    The variance s² of n values with excess kurtosis κ has variance σ⁴(2/(n − 1) + κ/n), which is that of a chi-square
    with 2/(2/(n − 1) + κ/n) degrees of freedom. A mean of q queries has the excess κ/q of its queries' part; the excess
    of the repositories' part cannot be estimated from few and is taken as 0.
    """
    sizes = np.bincount(groups)
    n, count = len(differences), len(sizes)
    alone = n == count  # one query in each: the two variances cannot be separated
    means = np.bincount(groups, weights=differences) / sizes
    residuals = differences - (differences.mean() if alone else means[groups])
    freedom = n - (1 if alone else count)
    within = float((residuals**2).sum()) / max(1, freedom)
    excess = float((residuals**4).mean() / (residuals**2).mean() ** 2) - 3.0 if within > 0.0 else 0.0
    within_df = _degrees(freedom, n, excess)
    values, counts = np.unique(differences, return_counts=True)
    estimated = variance_components(differences, groups)
    if icc is None and estimated is not None and count >= config.repositories_as_clusters:
        inside = estimated.within / estimated.queries
        part = inside / (estimated.between + inside) if inside > 0.0 else 0.0
        means_df = _degrees(count - 1, count, excess * part**2 / estimated.queries)
        return PilotVariance(estimated, Pilot(within_df, means_df, values, counts / n), "pilot")
    ratio = config.assumed_icc if icc is None else icc
    if alone:
        within *= 1.0 - ratio
    typical = estimated.queries if estimated is not None else n / count
    components = Components(within * ratio / (1.0 - ratio), within, count, typical)
    return PilotVariance(components, Pilot(within_df, None, values, counts / n), "assumed" if icc is None else "given")


def _degrees(freedom: int, n: int, excess: float) -> float:
    return 2.0 / (2.0 / max(1, freedom) + max(0.0, excess) / n)


def _variance(values: FloatArray, shares: FloatArray) -> float:
    return float(shares @ (values - shares @ values) ** 2)


_LARGEST_SD = 1e50
# No plan needs more than this; it also bounds the search.
_LARGEST = 10_000_000
#: Outside this range simulated power is too imprecise for a correction.
_KNOWN = (0.05, 0.99)
#: Rounds of simulation and search, and the change of the correction at which they end.
_ROUNDS = 5
_SETTLED = 0.005


def plan_claim(
    scores: Scores,
    *,
    baseline: str,
    engine: str,
    primary: MeasureLike | str,
    delta: float,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    cluster: str = "auto",
    icc: float | None = None,
    config: StatsConfig = DEFAULT,
) -> SamplePlan:
    """Return how many queries or repositories it takes to show a difference of `delta` between two engines like these.

    `icc` replaces the pilot's own estimate, which needs at least six repositories; with fewer, `config.assumed_icc` is
    the default.
    """
    if icc is not None and not 0.0 <= icc < 1.0:
        raise ConfigError(f"icc is {icc}", hint="at least 0 and below 1, such as --icc 0.1")
    for name, role in ((baseline, "baseline"), (engine, "engine")):
        check_engine(scores, name, role)
    table, measure = headline(scores, cluster), column(scores, primary)
    differences = table.row(engine, measure) - table.row(baseline, measure)
    kept = np.flatnonzero(~np.isnan(differences))
    differences = differences[kept]
    differences[np.abs(differences) <= config.tie] = 0.0
    units = [table.units[i] for i in kept]
    if not units:
        raise ConfigError(f"no query has a value of {measure} for both engines", hint=_without_pilot(delta, config))
    parts = partition(units, cluster)
    _check_informative(differences, parts, delta, config)
    groups = group_codes(units, parts)
    if parts.kind == "intent":  # intents that share targets are one observation
        first = np.unique(parts.clusters, return_index=True)[1]
        differences, groups = np.bincount(parts.clusters, differences) / np.bincount(parts.clusters), groups[first]
    found = read_pilot(differences, groups, icc, config)
    if found.components.between + found.components.within <= config.tie**2:
        raise ConfigError("all differences of the pilot are equal", hint=_without_pilot(delta, config))
    answer = plan(
        found.components,
        delta,
        alpha=alpha,
        power=power,
        config=config,
        cluster=cluster,
        pilot=found.pilot,
        icc_source=found.icc_source,
    )
    if not parts.shared:
        return answer
    return replace(answer, sentence=f"{answer.sentence} Sizes count units: {parts.shared}.")


def components_of(sd: float, icc: float, repositories: int, queries: float) -> Components:
    """Return variance components for an assumed standard deviation of the differences and an assumed ICC."""
    possible = 0.0 < sd <= _LARGEST_SD and 0.0 <= icc <= 1.0 and repositories >= 1 and 1 <= queries < math.inf
    if not possible:
        raise ConfigError(
            f"cannot plan from sd={sd}, icc={icc}, repositories={repositories}, queries={queries}",
            hint="sd is above 0, icc between 0 and 1, repositories and queries (in each) at least 1",
        )
    return Components(sd * sd * icc, sd * sd * (1.0 - icc), repositories, queries)


@dataclass(frozen=True)
class _Design:
    """What the MDE of a set depends on besides its size."""

    components: Components
    alpha: float
    power: float
    config: StatsConfig
    cluster: str
    pilot: Pilot | None

    @property
    def by_repository(self) -> bool:
        few = self.components.repositories < self.config.repositories_as_clusters
        return self.cluster != "intent" and not (self.cluster == "auto" and few)

    def mde_of_repositories(self, end: _End, count: int, delta: float) -> float:
        return self._mde(end.means / count, count - 1, count, delta)

    def mde_of_queries(self, end: _End, total: int, delta: float) -> float:
        count = self.components.repositories
        if self.by_repository:
            return self._mde(end.between / count + end.within / total, count - 1, count, delta)
        return self._mde(end.within / total, total - count, total, delta)

    def _mde(self, variance: float, df: float, clusters: int, delta: float) -> float:
        if df < 1:
            return math.inf
        se = math.sqrt(variance) * (1.0 if self.pilot is None else self.pilot.spread_at(delta))
        return planned_mde(se, df, clusters, alpha=self.alpha, power=self.power, config=self.config)

    def correction_of_repositories(self, count: int, delta: float, mde: float) -> float:
        each = max(1, round(self.components.queries))
        return self._correction(delta, mde, count, each, self.components)

    def correction_of_queries(self, total: int, delta: float, mde: float) -> float:
        if self.by_repository:
            count = self.components.repositories
            return self._correction(delta, mde, count, max(1, round(total / count)), self.components)
        return self._correction(delta, mde, total, 1, replace(self.components, between=0.0))

    def _correction(self, delta: float, mde: float, clusters: int, queries: int, components: Components) -> float:
        """Compare the MDE of the formula with the one that the simulated power at `delta` implies.

        The power of a test at level α is about Φ(δ/SE − z(1 − α/2)), so δ moves from one power to another in
        proportion to the sums of quantiles.
        """
        most = self.config.plan_clusters if queries > 1 else self.config.plan_queries
        if self.pilot is None or clusters > most or not math.isfinite(mde):
            return 1.0
        found = self.pilot.power(delta, clusters, queries, components, self.alpha, self.config)
        critical = normal_quantile(1.0 - self.alpha / 2.0)
        reached = critical + normal_quantile(min(max(found, _KNOWN[0]), _KNOWN[1]))
        return delta * (critical + normal_quantile(self.power)) / reached / mde


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
) -> SamplePlan:
    """Return how many repositories, or how many queries in the present ones, a difference of `delta` needs.

    `cluster` is the unit of sampling; with a tag, its values take the place of repositories.

    With R repositories of q queries the variance of the mean is σ²_between/R + σ²_within/(Rq). More queries lower only
    the second term; when the first alone is too large, no number of queries is enough. The formula assumes normal
    means. With a pilot it is corrected by simulating sets of the answer's size from the pilot's differences
    (`Pilot.power`). The ranges follow from the chi-square intervals of the pilot's variances at confidence 1 − alpha.
    """
    if not 0.0 < delta < math.inf:
        raise ConfigError(f"a claim needs a size above 0, not {delta}", hint="for example --detect 0.02")
    if not 0.0 < alpha < 0.5 or not alpha < power < 1.0:
        raise ConfigError(f"cannot plan with alpha={alpha}, power={power}", hint="--alpha 0.05 --power 0.8")
    design = _Design(components, alpha, power, config, cluster, pilot)
    count, size = components.repositories, components.queries
    here = _End(components.between + components.within / size, components.between, components.within)
    ends = [here] if pilot is None else [here, *_ends(components, pilot, alpha)]
    repositories = _sizes(
        ends, delta, config.repositories_as_clusters, design.mde_of_repositories, design.correction_of_repositories
    )
    # With fewer queries a comparison warns, and the power is below what is stated.
    start = max(config.small_set, count)
    queries = _sizes(ends, delta, start, design.mde_of_queries, design.correction_of_queries)
    found = SamplePlan(
        delta=delta,
        alpha=alpha,
        power=power,
        repositories=repositories[0],
        queries=queries[0],
        mde_now=_find_mde_now(design, here, max(2, round(count * size))),
        sentence="",
        repositories_range=None if pilot is None else SizeRange(repositories[1], repositories[2]),
        queries_range=None if pilot is None else SizeRange(queries[1], queries[2]),
        icc=components.icc,
        icc_source=icc_source,
    )
    return replace(found, sentence=_sentence(found, components, cluster, piloted=pilot is not None))


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


def _sizes(
    ends: list[_End],
    delta: float,
    start: int,
    mde: Callable[[_End, int, float], float],
    correction: Callable[[int, float, float], float],
) -> list[int | None]:
    """Find the smallest size from `start` whose MDE is at most delta, for each of the ends.

    The correction is that at the size of the first end, which it determines in turn.
    """

    def least(end: _End, factor: float) -> int | None:
        return _least(lambda size: factor * mde(end, size, delta), delta, start)

    factor = 1.0
    for _ in range(_ROUNDS):
        size = least(ends[0], factor)
        if size is None:
            break
        before, factor = factor, correction(size, delta, mde(ends[0], size, delta))
        if abs(factor - before) <= _SETTLED * before:
            break
    return [least(end, factor) for end in ends]


def _least(mde: Callable[[int], float], delta: float, start: int) -> int | None:
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


def _find_mde_now(design: _Design, here: _End, total: int) -> float | None:
    """Return the MDE of the present queries; None if there is none."""
    delta = design.mde_of_queries(here, total, 0.0)
    for _ in range(_ROUNDS):
        if not math.isfinite(delta):
            return None
        before, mde = delta, design.mde_of_queries(here, total, delta)
        delta = mde * design.correction_of_queries(total, delta, mde)
        if abs(delta - before) <= _SETTLED * before:
            break
    return delta


def _sentence(found: SamplePlan, components: Components, cluster: str, *, piloted: bool) -> str:
    count, tagged = components.repositories, cluster.startswith(TAG)
    one, many = ("cluster", "clusters") if tagged else ("repository", "repositories")
    by = f" by the {cluster.replace(':', ' ', 1)}" if tagged else ""
    if piloted:
        here = f"this {one}{by}" if count == 1 else f"these {count} {many}{by}"
    else:
        here = f"one {one}" if count == 1 else f"{count} {many}"
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


def _check_informative(differences: FloatArray, parts: Partition, delta: float, config: StatsConfig) -> None:
    least = config.p_value_clusters
    clustered = parts.count >= least
    clusters = parts.clusters if clustered else np.arange(len(differences))
    differing, count = len(np.unique(clusters[differences != 0.0])), int(clusters.max()) + 1
    if differing >= least:
        return
    noun = {"repository": "repositories", "tag": "clusters"}.get(parts.kind, "queries") if clustered else "queries"
    raise ConfigError(
        f"cannot plan: the engines differ on {differing} of {count} {noun}, at least {least} are needed",
        hint=_without_pilot(delta, config),
    )


def _without_pilot(delta: float, config: StatsConfig) -> str:
    return f"assume a spread instead: assay plan --detect {delta:g} --sd {config.assumed_sd} --icc {config.assumed_icc}"
