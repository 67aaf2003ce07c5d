"""Plan from a pilot: the variance of the paired differences in a score table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import ConfigError
from assay.stats.config import DEFAULT, StatsConfig
from assay.stats.paired import Components, variance_components
from assay.stats.power import Pilot, plan
from assay.stats.records import Plan
from assay.stats.tables import check_engine, column, headline
from assay.stats.units import group_codes, partition

if TYPE_CHECKING:
    from assay.stats.traits import MeasureLike
    from assay.stats.units import IntArray, Partition
    from assay.types import FloatArray, Scores


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
) -> Plan:
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
    return plan(
        found.components,
        delta,
        alpha=alpha,
        power=power,
        config=config,
        cluster=cluster,
        pilot=found.pilot,
        icc_source=found.icc_source,
    )


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
    alone = n == count  # one query in each: nothing tells the two variances apart
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
    """Degrees of freedom of a variance; tails lighter than normal are not trusted to stay so."""
    return 2.0 / (2.0 / max(1, freedom) + max(0.0, excess) / n)


def _check_informative(differences: FloatArray, parts: Partition, delta: float, config: StatsConfig) -> None:
    """Refuse a pilot in which too few clusters differ, or too few queries where the clusters are few anyway."""
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
