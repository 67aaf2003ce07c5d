from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from assay.errors import ConfigError, did_you_mean
from assay.types import ALPHA, MARGIN, AnalysisPlan


@dataclass(frozen=True, slots=True)
class StatsConfig:
    alpha: float = ALPHA
    margin: float = MARGIN
    seed: int = 0
    resamples: int = 10_000  # a p of .05 then has a Monte-Carlo error of .002
    percentile_resamples: int = 2_000  # as in published results
    repositories_as_clusters: int = 6  # 2/2^5 = .0625: five repositories cannot reach .05
    p_value_clusters: int = 6  # the same bound for any kind of cluster
    equivalence_clusters: int = 20  # with fewer, the spread is too uncertain for this verdict
    exact_clusters: int = 16  # 2^15 sign patterns up to mirroring are fast, and have no Monte-Carlo error
    rule_of_three: float = 3.0  # -ln(.05): an event unseen in G tries has a rate below 3/G (Hanley & Lippman-Hand 1983)
    # How many times larger the rare differences are than the frequent ones before a set counts as skewed: at 3 that is
    # 0 to 6 % of symmetric sets and 99 % of those with rare large losses (tests/stats/audit.py).
    skewed: float = 3.0
    # Standard deviations by which the F ratio of clusters exceeds 1 before their design effect lowers the effective n.
    alike_clusters: float = 1.0
    # Standard deviations by which the F ratio of clusters exceeds 1 before they count as different (1 % by chance), and
    # how many times worse than the worst cluster an unseen one may then be.
    unlike_clusters: float = 3.5
    unseen_cluster: float = 2.0
    tested_pairs: int = 66  # of engines beside the baseline's, 12 engines: 30 ms each; more count as p = 1
    power: float = 0.8
    counted_steps: int = 12  # attainable p-values at or below α; with more, the t form is within 2 % of the exact test
    power_draws: int = 10_000  # the MDE of the exact test is then known to 1 %; one digit of it is shown
    plan_sets: int = 1_000  # simulated for a plan: a power of .8 is then known to ±.013, a size to 3 %
    # Clusters and single queries up to which plans are simulated; beyond, the t form is as close as the simulation.
    plan_clusters: int = 60
    plan_queries: int = 400
    shared_queries: float = 0.8  # below this share of agreeing query hashes two runs are not comparable
    tie: float = 1e-9  # values of a measure closer than this are equal; measures are exact to about 1e-15
    rounding: float = 1e-12  # a sum this small relative to its terms is zero
    statistic_tie: float = 1e-10  # on the bounded statistic u; rounding of its sums is about 1e-14
    cells: int = (
        200_000  # rows × columns of one resampling block: temporaries of 1.6 MB stay in the cache, memory stays low
    )
    small_set: int = 30  # fewer queries give a warning
    # A cluster with more than this share of the queries dominates the mean; test and interval still hold their level
    # (docs/how-we-know/statistics.md).
    heaviest_cluster: float = 0.3
    assumed_sd: float = 0.3  # of paired differences without a pilot, as in the example of `assay plan`
    assumed_icc: float = 0.1  # of paired differences without a pilot, as in the same example
    # ICC of the values of one engine, which vary more between repositories than the differences of two engines; it
    # matters only near 0 and 1, where few repositories cannot estimate it.
    assumed_icc_of_values: float = 0.2


DEFAULT = StatsConfig()


@dataclass(frozen=True, slots=True)
class CompareSettings:
    margin: float = DEFAULT.margin
    alpha: float = DEFAULT.alpha
    seed: int = DEFAULT.seed
    resamples: int = DEFAULT.resamples
    cluster: str = "auto"  # the unit of sampling: auto, repository, intent or tag:NAME

    def __post_init__(self) -> None:
        checks = (
            ("alpha", 0.0 < self.alpha < 0.5, "more than 0 and less than 0.5", self.alpha, "0.05"),
            ("margin", self.margin > 0.0, "more than 0", self.margin, "0.02"),
            ("B", self.resamples >= 1, "at least 1", self.resamples, "10000"),
            ("seed", self.seed >= 0, "at least 0", self.seed, "0"),
        )
        for name, is_valid, expected, given, usual in checks:
            if not is_valid:
                raise ConfigError(f"{name}: expected {expected}, got {given}", hint=f"use {usual}", keys=[name])
        check_cluster(self.cluster)


class CompareOptions(TypedDict, total=False):
    margin: float
    alpha: float
    seed: int
    cluster: str


def compare_options(plan: AnalysisPlan) -> CompareOptions:
    return CompareOptions(margin=plan.margin, alpha=plan.alpha, seed=plan.seed, cluster=plan.cluster)


#: Units of sampling; a tag is written tag:NAME.
CLUSTERS = ("auto", "repository", "intent")
TAG = "tag:"


def check_cluster(cluster: str) -> None:
    if cluster not in CLUSTERS and not (cluster.startswith(TAG) and cluster.removeprefix(TAG).strip()):
        expected = f"{', '.join(CLUSTERS)} or {TAG}NAME"
        hint = did_you_mean(cluster, CLUSTERS) or f"use {expected}"
        raise ConfigError(f"cluster: expected {expected}, got {cluster!r}", hint=hint, keys=["cluster"])


def check_tag(cluster: str, tags: Iterable[str]) -> None:
    """Raise ConfigError for a tag that no query has; with a typo, each repository would become one cluster."""
    tag, known = cluster.removeprefix(TAG), sorted(set(tags))
    if cluster.startswith(TAG) and tag not in known:
        hint = did_you_mean(tag, known) or f"choose from: {', '.join([TAG + name for name in known] or CLUSTERS)}"
        raise ConfigError(f"cluster {cluster!r}: no query has the tag {tag!r}", hint=hint)
