"""The lead of the best of many engines, and the selection bias of its mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import GoldError
from assay.scoring.grid import FloatArray
from assay.stats.clustered import ClusterTable, cluster_table, estimate
from assay.stats.config import DEFAULT
from assay.stats.distributions import t_quantile
from assay.stats.paired import mde_from_se
from assay.stats.score_table import IntArray, Partition, partition
from assay.types import Unit

#: Random halves, each used both ways; the unbiased value then varies by less than .001 between seeds.
_SPLITS = 200
#: With fewer clusters, a half may have only two, too few for a choice.
_FEWEST_CLUSTERS = 6
#: Two clusters per half: a choice by the mean of one cluster would be meaningless.
_FEWEST_HALVED = 4
#: Digits of a mean that are not rounding errors.
_SAME_MEAN = 12


@dataclass(frozen=True, slots=True)
class LeaderGaps:
    """The lead of the best engine over every engine; 0 for the leader."""

    leader: int
    lead: FloatArray  # leader − engine; positive: the leader is better
    decided: NDArray[np.bool_]  # whether the lead is significant
    smallest: float | None  # typical MDE; None if no difference could be shown


def near_leader(
    values: FloatArray, parts: Partition, *, higher_is_better: bool = True, alpha: float = DEFAULT.alpha
) -> LeaderGaps:
    """Compare the best row of `values` (engines × queries), the first of equals, with every other one.

    Cluster-t at α over all pairs (Bonferroni): the leader was selected from the data, so any pair could have been
    compared. The sign-flip test of a declared family has a little more power at a thousand times the cost.
    """
    gain = values if higher_is_better else -values
    leader = int(gain.mean(axis=1).round(_SAME_MEAN).argmax())
    estimated = estimate(cluster_table((gain[leader] - gain).T, parts))
    pairs = len(values) * (len(values) - 1) / 2
    if estimated.df < 1 or pairs < 1:
        return LeaderGaps(leader, estimated.mean, np.zeros(len(values), dtype=np.bool_), None)
    decided = estimated.mean > t_quantile(1.0 - alpha / (2.0 * pairs), float(estimated.df)) * estimated.se + DEFAULT.tie
    spread = estimated.se[estimated.se > 0.0]
    usual = mde_from_se(float(np.median(spread)), estimated.df, alpha=alpha / pairs) if len(spread) else None
    return LeaderGaps(leader, estimated.mean, decided, usual)


@dataclass(frozen=True, slots=True)
class SelectionBias:
    """The mean of the best engine, with and without selection bias."""

    apparent: float  # on all queries
    honest: float  # of the engine chosen on one half of the queries, on the other half


def selection_bias(
    values: FloatArray, parts: Partition, rng: np.random.Generator, *, higher_is_better: bool = True
) -> SelectionBias | None:
    """Choose the best row on half of the clusters and score it on the other half; average over many random splits.

    With both halves in both roles, the result is unbiased for a choice by half of the queries. It is conservative for
    a choice by all queries, which is better on average. None with too few clusters.
    """
    if parts.count < _FEWEST_CLUSTERS:
        return None
    table = cluster_table((values if higher_is_better else -values).T, parts)
    chosen = draw_halves(table, rng, _SPLITS)
    first, second = half_means(table, chosen), half_means(table, ~chosen)
    crossed = (_score_choice(first, second) + _score_choice(second, first)) / 2.0
    apparent, honest = float((table.sums.sum(axis=0) / table.n).max()), float(crossed.mean())
    return SelectionBias(apparent, honest) if higher_is_better else SelectionBias(-apparent, -honest)


def _score_choice(choosing: FloatArray, scoring: FloatArray) -> FloatArray:
    best = choosing >= choosing.max(axis=1, keepdims=True) - DEFAULT.tie
    return np.asarray((scoring * best).sum(axis=1) / best.sum(axis=1))


def draw_halves(table: ClusterTable, rng: np.random.Generator, splits: int) -> NDArray[np.bool_]:
    """Draw halves (rows) inside strata; which half gets the odd cluster is random."""
    chosen = np.zeros((splits, table.clusters), dtype=np.bool_)
    for part in table.strata:
        size = part.stop - part.start
        order = rng.random((splits, size)).argsort(axis=1).argsort(axis=1)
        chosen[:, part] = order < (size + rng.integers(0, 2, (splits, 1))) // 2
    return chosen


def half_means(table: ClusterTable, chosen: NDArray[np.bool_]) -> FloatArray:
    weights = chosen.astype(np.float64)
    return np.asarray((weights @ table.sums) / (weights @ table.sizes)[:, None])


@dataclass(frozen=True, slots=True)
class SplitHalfScores:
    """Scores per query over all split halves, and how often each point was chosen."""

    honest: FloatArray  # (queries,) of points that were chosen without the query
    apparent: FloatArray  # (queries,) of points that were chosen with the query
    chosen: tuple[int, ...]  # per point, of 2 × partitions
    best: int  # the best point on all data
    clusters: int
    label: str  # what was split in halves
    gain_se: float  # jackknife standard error of honest mean − default mean
    optimism_se: float  # jackknife standard error of apparent mean − honest mean


def split_half(
    values: FloatArray,
    changes: Sequence[int],
    units: Sequence[Unit],
    *,
    partitions: int,
    seed: int = 0,
    cluster: str = "auto",
    higher_is_better: bool = True,
) -> SplitHalfScores:
    """Choose the best point on each half and score it on the other.

    `values` has one row per point, the default first, and one column per query; `changes` is the number of settings in
    which each point differs from the default.
    """
    parts = partition(units, cluster)
    if parts.count < _FEWEST_HALVED:
        raise GoldError(
            f"cannot halve {parts.nouns}: expected at least {_FEWEST_HALVED}",
            hint="tune on more queries; `assay plan` estimates how many",
        )
    table = cluster_table((values if higher_is_better else -values).T, parts)
    first = draw_halves(table, np.random.default_rng(seed), partitions)
    halves = np.stack([first, ~first]).astype(np.float64)  # (2, partitions, clusters)
    preferred = sorted(range(len(changes)), key=lambda point: (changes[point], point))
    order = np.array(preferred, dtype=np.intp)
    sums, sizes = halves @ table.sums, halves @ table.sizes
    chosen = _best(sums / sizes[..., None], order)  # (2, partitions)
    inside = first[:, parts.clusters]  # (partitions, queries): whether a query is in the first half
    seen = np.where(inside, chosen[0][:, None], chosen[1][:, None])
    unseen = np.where(inside, chosen[1][:, None], chosen[0][:, None])
    queries = np.arange(values.shape[1])
    gain_se, optimism_se = _jackknife(table, halves, sums, sizes, order)
    return SplitHalfScores(
        honest=values[unseen, queries].mean(axis=0),
        apparent=values[seen, queries].mean(axis=0),
        chosen=tuple(np.bincount(chosen.ravel(), minlength=len(values)).tolist()),
        best=int(_best(table.sums.sum(axis=0) / table.n, order)),
        clusters=parts.count,
        label=parts.nouns,
        gain_se=gain_se,
        optimism_se=optimism_se,
    )


def _best(means: FloatArray, order: IntArray) -> IntArray:
    """Return the best point along the last axis; ties go to the point that is first in `order`."""
    ordered = means[..., order]
    near = ordered >= ordered.max(axis=-1, keepdims=True) - DEFAULT.tie
    chosen: IntArray = order[near.argmax(axis=-1)]
    return chosen


def _jackknife(
    table: ClusterTable, halves: FloatArray, sums: FloatArray, sizes: FloatArray, order: IntArray
) -> tuple[float, float]:
    """Estimate standard errors by leaving out one cluster at a time, including its choices: (G − 1)/G · Σ(θ_g − θ̄)²."""
    estimates = np.array(
        [
            _differences(
                sums - halves[:, :, g, None] * table.sums[g], sizes - halves[:, :, g] * float(table.sizes[g]), order
            )
            for g in range(table.clusters)
        ]
    )
    spread = ((estimates - estimates.mean(axis=0)) ** 2).sum(axis=0) * (table.clusters - 1) / table.clusters
    gain, optimism = np.sqrt(spread).tolist()
    return gain, optimism


def _differences(sums: FloatArray, sizes: FloatArray, order: IntArray) -> FloatArray:
    """Return honest − default and apparent − honest, averaged over the partitions."""
    chosen = _best(sums / sizes[..., None], order)
    rows = np.arange(sums.shape[1])
    honest = sums[1, rows, chosen[0]] + sums[0, rows, chosen[1]]
    apparent = sums[0, rows, chosen[0]] + sums[1, rows, chosen[1]]
    default = sums[0, :, 0] + sums[1, :, 0]
    n = sizes[0] + sizes[1]
    return np.array([((honest - default) / n).mean(), ((apparent - honest) / n).mean()])
