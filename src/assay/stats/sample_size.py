"""The number of queries or repositories needed to detect a difference, from a pilot or from assumed variances."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from assay.errors import ConfigError
from assay.stats.clustered import ClusterTable
from assay.stats.config import DEFAULT, TAG
from assay.stats.distributions import chi_square_quantile, normal_quantile
from assay.stats.paired import Components, planned_mde, sign_flip, variance_components
from assay.stats.records import SamplePlan, SizeRange
from assay.stats.score_table import check_engine, column, group_codes, headline, partition

if TYPE_CHECKING:
    from assay.scoring import Measure
    from assay.stats.score_table import IntArray
    from assay.types import FloatArray, Scores

# The largest exponent of a tilt, and the bisection steps that find a tilt to nine digits.
_STEEPEST = 500.0
_HALVINGS = 40
#: Maximum number of distinct differences in a simulation; with more, they are rounded.
_DISTINCT = 64
#: Sign patterns drawn by a simulated test, and the number of clusters up to which all patterns are enumerated.
_FLIPS = 999
_ENUMERATED = 12
_MOST_ALIKE = 0.999


@dataclass(frozen=True)
class Pilot:
    """The distribution of paired differences in a pilot, with the degrees of freedom of its variances."""

    within_df: float  # degrees of freedom of the variance inside repositories
    means_df: float | None  # of the variance of repository means; None where the ICC was not estimated
    values: FloatArray  # distinct differences, ascending
    shares: FloatArray  # of the queries, by value

    def tilted(self, delta: float) -> tuple[FloatArray, FloatArray]:
        """Return the values, mirrored if their mean is negative, and shares with which their mean is `delta`.

        Where most queries tie, a true difference makes more of them differ. The shares are tilted exponentially, which
        keeps the values; without this, plans from pilots with 88 % ties had power .37 to .67 instead of .8. The values
        are shifted if no tilt gives the mean, and for a mean below the pilot's: few of its differences are negative, so
        tilting down would halve the standard deviation.
        """
        values, shares = self.values, self.shares
        if shares @ values < 0.0:
            values, shares = -values[::-1], shares[::-1]
        mean = float(shares @ values)
        if not mean < delta < values.max():
            return values + (delta - mean), shares
        high = _STEEPEST / float(np.ptp(values))
        low = -high
        for _ in range(_HALVINGS):
            slope = 0.5 * (low + high)
            exponents = slope * values
            weights = shares * np.exp(exponents - exponents.max())
            weights /= weights.sum()
            low, high = (slope, high) if weights @ values < delta else (low, slope)
        return values, weights

    def spread_at(self, delta: float) -> float:
        values, shares = self.tilted(delta)
        return math.sqrt(_variance(values, shares) / _variance(self.values, self.shares))

    def power(self, delta: float, clusters: int, queries: int, components: Components, alpha: float) -> float:
        """Return the share of simulated sets in which the sign-flip test detects a true difference of `delta`.

        Repositories follow a Dirichlet-multinomial, which allows any ICC and keeps the values of the differences, and
        so the ties between sums.
        """
        pilot, icc = self._rounded, components.icc
        scale = math.sqrt((components.between + components.within) / _variance(pilot.values, pilot.shares))
        values, shares = pilot.tilted(delta / scale)
        rng, size = np.random.default_rng(DEFAULT.seed), (DEFAULT.plan_sets, clusters)
        if queries == 1:
            sums = values[np.searchsorted(np.cumsum(shares)[:-1], rng.random(size))]
        elif icc > 0.0:
            likely = shares > 0.0  # a tilt may underflow
            alike = rng.dirichlet(shares[likely] * (1.0 / min(icc, _MOST_ALIKE) - 1.0), size)
            sums = rng.multinomial(queries, alike) @ values[likely]
        else:
            sums = rng.multinomial(queries, shares, size) @ values
        table = ClusterTable(sums.T, np.full(clusters, float(queries)), (slice(0, clusters),), np.zeros(len(sums)))
        p = sign_flip(table, rng, resamples=_FLIPS, exact_clusters=_ENUMERATED)
        return 0.0 if p is None else float(np.mean((p <= alpha + DEFAULT.tie) & (sums.sum(axis=1) > 0.0)))

    @cached_property
    def _rounded(self) -> Pilot:
        if len(self.values) <= _DISTINCT:
            return self
        step = 2.0 * float(np.abs(self.values).max()) / _DISTINCT
        values, indexes = np.unique(np.rint(self.values / step) * step, return_inverse=True)
        return replace(self, values=values, shares=np.bincount(indexes, self.shares).astype(np.float64))


class PilotVariance(NamedTuple):
    components: Components
    pilot: Pilot
    icc_source: Literal["pilot", "given", "assumed"]


def read_pilot(differences: FloatArray, groups: IntArray, icc: float | None = None) -> PilotVariance:
    """Estimate the variances within and between repositories (or declared clusters), with their degrees of freedom.

    The variance between repositories follows from `icc` if given, or from an assumed ICC if it cannot be estimated.

    The sample variance of n values with variance σ² and excess kurtosis κ has variance σ⁴(2/(n − 1) + κ/n), which is
    that of a scaled chi-square with 2/(2/(n − 1) + κ/n) degrees of freedom. Queries with excess κ give a mean of q
    queries the excess κ/q; the excess between repositories is taken as 0, since few repositories cannot estimate it.
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
    if icc is None and estimated is not None and count >= DEFAULT.repositories_as_clusters:
        inside = estimated.within / estimated.queries
        part = inside / (estimated.between + inside) if inside > 0.0 else 0.0
        means_df = _degrees(count - 1, count, excess * part**2 / estimated.queries)
        return PilotVariance(estimated, Pilot(within_df, means_df, values, counts / n), "pilot")
    ratio = DEFAULT.assumed_icc if icc is None else icc
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
#: Rounds of simulation and search, and the relative change at which they end.
_ROUNDS = 5
_SETTLED = 0.005


def plan_comparison(
    scores: Scores,
    *,
    baseline: str,
    engine: str,
    primary: Measure | str,
    delta: float,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    cluster: str = "auto",
    icc: float | None = None,
) -> SamplePlan:
    """Return how many queries or repositories are needed to detect a difference of `delta` between two engines.

    `icc` replaces the estimate from the pilot. By default, a pilot with fewer than six repositories, or with one query
    in each, uses `DEFAULT.assumed_icc`.
    """
    if icc is not None and not 0.0 <= icc < 1.0:
        raise ConfigError(f"icc: expected a number from 0 to below 1, got {icc}", hint="use --icc 0.1")
    for name, role in ((baseline, "baseline"), (engine, "engine")):
        check_engine(scores, name, role)
    command = f"assay plan --detect {delta:g} --sd {DEFAULT.assumed_sd} --icc {DEFAULT.assumed_icc}"
    without_pilot = f"assume a spread instead: {command}"
    table, measure = headline(scores, cluster), column(scores, primary)
    differences = table.row(engine, measure) - table.row(baseline, measure)
    units = [table.units[i] for i in np.flatnonzero(~np.isnan(differences))]
    if not units:
        raise ConfigError(f"cannot plan: no query has a value of {measure.name} for both engines", hint=without_pilot)
    differences = differences[~np.isnan(differences)]
    differences[np.abs(differences) <= DEFAULT.tie] = 0.0
    parts, least = partition(units, cluster), DEFAULT.p_value_clusters
    clustered = parts.count >= least
    clusters = parts.clusters if clustered else np.arange(len(differences))
    differing = len(np.unique(clusters[differences != 0.0]))
    if differing < least:
        noun = {"repository": "repositories", "tag": "clusters"}.get(parts.kind, "queries") if clustered else "queries"
        problem = f"the engines differ on {differing} of {int(clusters.max()) + 1} {noun}, at least {least} are needed"
        raise ConfigError(f"cannot plan: {problem}", hint=without_pilot)
    groups = group_codes(units, parts)
    if parts.kind == "intent":  # queries that share targets are one observation
        first = np.unique(parts.clusters, return_index=True)[1]
        differences, groups = np.bincount(parts.clusters, differences) / np.bincount(parts.clusters), groups[first]
    components, pilot, source = read_pilot(differences, groups, icc)
    if components.between + components.within <= DEFAULT.tie**2:
        raise ConfigError("cannot plan: all differences of the pilot are equal", hint=without_pilot)
    made = plan(components, delta, alpha=alpha, power=power, cluster=cluster, pilot=pilot, icc_source=source)
    note = f" Sizes count units, not queries; {parts.shared}." if parts.shared else ""
    return replace(made, sentence=made.sentence + note)


def components_of(sd: float, icc: float, repositories: int, queries: float) -> Components:
    possible = 0.0 < sd <= _LARGEST_SD and 0.0 <= icc <= 1.0 and repositories >= 1 and 1 <= queries < math.inf
    if not possible:
        raise ConfigError(
            f"cannot plan from sd={sd}, icc={icc}, repositories={repositories}, queries={queries}",
            hint="use sd > 0, 0 <= icc <= 1, repositories >= 1 and queries per repository >= 1",
        )
    return Components(sd * sd * icc, sd * sd * (1.0 - icc), repositories, queries)


#: Variances of a repository's mean, between repositories and within them; estimates or ends of their intervals.
_Variances = tuple[float, float, float]


class _Layout(NamedTuple):
    variance: float
    df: int
    clusters: int
    queries: int  # per cluster
    components: Components


@dataclass(frozen=True)
class _Design:
    components: Components
    alpha: float
    power: float
    cluster: str
    pilot: Pilot | None

    def with_repositories(self, variances: _Variances, count: int) -> _Layout:
        each = max(1, round(self.components.queries))
        return _Layout(variances[0] / count, count - 1, count, each, self.components)

    def with_queries(self, variances: _Variances, total: int) -> _Layout:
        count, (_, between, within) = self.components.repositories, variances
        if self.cluster == "intent" or (self.cluster == "auto" and count < DEFAULT.repositories_as_clusters):
            return _Layout(within / total, total - count, total, 1, replace(self.components, between=0.0))
        each = max(1, round(total / count))
        return _Layout(between / count + within / total, count - 1, count, each, self.components)

    def mde(self, layout: _Layout, delta: float) -> float:
        """Return `planned_mde` for the spread that differences have when their mean is `delta`."""
        if layout.df < 1:
            return math.inf
        se = math.sqrt(layout.variance) * (1.0 if self.pilot is None else self.pilot.spread_at(delta))
        return planned_mde(se, layout.df, layout.clusters, alpha=self.alpha, power=self.power)

    def correction(self, layout: _Layout, delta: float, mde: float) -> float:
        """Return the MDE implied by the simulated power at `delta`, divided by `mde`; 1 without simulation.

        The power of a test at level α is about Φ(δ/SE − z(1 − α/2)), with the normal quantile z, so the difference δ
        with a given power is proportional to z(1 − α/2) + z(power).
        """
        most = DEFAULT.plan_clusters if layout.queries > 1 else DEFAULT.plan_queries
        if self.pilot is None or layout.clusters > most or not math.isfinite(mde):
            return 1.0
        simulated = self.pilot.power(delta, layout.clusters, layout.queries, layout.components, self.alpha)
        critical = normal_quantile(1.0 - self.alpha / 2.0)
        reached = critical + normal_quantile(min(max(simulated, _KNOWN[0]), _KNOWN[1]))
        return delta * (critical + normal_quantile(self.power)) / reached / mde

    def sizes(
        self, ends: list[_Variances], delta: float, start: int, layout: Callable[[_Variances, int], _Layout]
    ) -> list[int | None]:
        """Return, for each variance in `ends`, the smallest size from `start` whose MDE is at most `delta`.

        None means that there is none. The MDE is multiplied by `correction`, found iteratively at the size for the
        first of `ends`.
        """

        def find_least(end: _Variances) -> int | None:
            def fits(size: int) -> bool:
                return factor * self.mde(layout(end, size), delta) <= delta

            high = start
            while not fits(high):
                high *= 2
                if high > _LARGEST:
                    return None
            low = max(start, high // 2)
            return low + bisect_left(range(low, high), True, key=fits)

        factor = 1.0
        for _ in range(_ROUNDS):
            size = find_least(ends[0])
            if size is None:
                break
            reached = layout(ends[0], size)
            before, factor = factor, self.correction(reached, delta, self.mde(reached, delta))
            if abs(factor - before) <= _SETTLED * before:
                break
        return [find_least(end) for end in ends]

    def mde_of(self, layout: _Layout) -> float | None:
        """Return the MDE of a layout, multiplied by `correction`; None if no difference can be detected."""
        delta = self.mde(layout, 0.0)
        for _ in range(_ROUNDS):
            if not math.isfinite(delta):
                return None
            before, mde = delta, self.mde(layout, delta)
            delta = mde * self.correction(layout, delta, mde)
            if abs(delta - before) <= _SETTLED * before:
                break
        return delta


def plan(
    components: Components,
    delta: float,
    *,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    cluster: str = "auto",
    pilot: Pilot | None = None,
    icc_source: Literal["pilot", "given", "assumed"] = "given",
) -> SamplePlan:
    """Return how many repositories, or queries in the present repositories, are needed to detect `delta`.

    `cluster` is the unit of sampling; for a tag, "repositories" are the values of the tag.

    With R repositories of q queries as clusters, the variance of the mean is σ²_between/R + σ²_within/(Rq). More
    queries lower only the second term; if the first alone is too large, no number of queries is enough. `planned_mde`
    assumes normal means; with a pilot, its MDE is corrected by simulated sets of the planned size (`Pilot.power`).
    The ranges follow from the chi-square intervals of the pilot's variances at confidence 1 − alpha.
    """
    if not 0.0 < delta < math.inf:
        raise ConfigError(f"expected a finite difference above 0, got {delta}", hint="use --detect 0.02")
    if not 0.0 < alpha < 0.5 or not alpha < power < 1.0:
        message = f"cannot plan: expected 0 < alpha < 0.5 and alpha < power < 1, got alpha={alpha}, power={power}"
        raise ConfigError(message, hint="use --alpha 0.05 --power 0.8")
    design = _Design(components, alpha, power, cluster, pilot)
    count, size = components.repositories, components.queries
    here = (components.between + components.within / size, components.between, components.within)
    ends = [here, *(_ends(components, pilot, alpha) if pilot else ())]
    repositories = design.sizes(ends, delta, DEFAULT.repositories_as_clusters, design.with_repositories)
    # With fewer queries a comparison warns, and the power is lower than stated.
    queries = design.sizes(ends, delta, max(DEFAULT.small_set, count), design.with_queries)
    sample = SamplePlan(
        delta=delta,
        alpha=alpha,
        power=power,
        repositories=repositories[0],
        queries=queries[0],
        mde_now=design.mde_of(design.with_queries(here, max(2, round(count * size)))),
        sentence="",
        repositories_range=SizeRange(*repositories[1:]) if pilot else None,
        queries_range=SizeRange(*queries[1:]) if pilot else None,
        sd=math.sqrt(components.between + components.within),
        icc=components.icc,
        icc_source=icc_source,
    )
    return replace(sample, sentence=_sentence(sample, components, cluster, piloted=pilot is not None))


def _ends(components: Components, pilot: Pilot, alpha: float) -> Iterator[_Variances]:
    """Yield the variances at both ends of the chi-square intervals, ν s²/χ²(1 − α/2) and ν s²/χ²(α/2).

    s² has ν degrees of freedom; χ² is a quantile. With an estimated ICC, the interval is that of the variance of
    repository means, and between repositories its excess over σ²_within/q; otherwise all variances are scaled alike.
    """
    inside = components.within / components.queries
    for tail in (1.0 - alpha / 2.0, alpha / 2.0):
        factor = pilot.within_df / chi_square_quantile(tail, pilot.within_df)
        between = components.between * factor
        means = between + inside * factor
        if pilot.means_df is not None:
            means = (components.between + inside) * pilot.means_df / chi_square_quantile(tail, pilot.means_df)
            between = max(0.0, means - inside)
        yield means, between, components.within * factor


def _sentence(sample: SamplePlan, components: Components, cluster: str, *, piloted: bool) -> str:
    count, tagged = components.repositories, cluster.startswith(TAG)
    singular, plural = ("cluster", "clusters") if tagged else ("repository", "repositories")
    by = f" by the {cluster.replace(':', ' ', 1)}" if tagged else ""
    if piloted:
        here = f"this {singular}{by}" if count == 1 else f"these {count} {plural}{by}"
    else:
        here = f"one {singular}" if count == 1 else f"{count} {plural}"
    confidence = f"{100.0 * (1.0 - sample.alpha):g}% CI"
    new = f"more than {_LARGEST:,} {plural}" if sample.repositories is None else f"{sample.repositories:,} {plural}"
    new += f" of {components.queries:.0f} queries{_range(sample.repositories_range, confidence)}"
    more = _range(sample.queries_range, confidence)
    if sample.queries is None:
        answer = f"{new}; no number of queries in {here} is enough{more}"
    else:
        beyond = "it" if count == 1 else "them"
        answer = f"{sample.queries:,} queries in {here}{more}; or, to generalize beyond {beyond}, {new}"
    pilot = f", since {count} {singular if count == 1 else plural} cannot estimate it" if piloted else ""
    sources = {"pilot": "from the pilot", "given": "as given", "assumed": f"assumed{pilot}; set it with --icc"}
    return f"A difference of {sample.delta:g} needs {answer}. ICC {sample.icc:.2g}, {sources[sample.icc_source]}."


def _range(sizes: SizeRange | None, confidence: str) -> str:
    if sizes is None or sizes.low is None:
        return ""
    high = "or more" if sizes.high is None else f"to {sizes.high:,}"
    return f" ({confidence} {sizes.low:,} {high})"
