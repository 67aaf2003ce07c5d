"""The lead of the best of many engines, and the selection bias of its mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.scoring.grid import FloatArray
from assay.stats.clustered import ClusterTable, cluster_table, estimate
from assay.stats.config import DEFAULT
from assay.stats.distributions import t_quantile
from assay.stats.paired import mde_from_se
from assay.stats.tables import Partition

#: Random halves, each used both ways; the unbiased value then varies by less than .001 between seeds.
_SPLITS = 200
#: With fewer clusters, a half may have only two, too few for a choice.
_FEWEST_CLUSTERS = 6
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
