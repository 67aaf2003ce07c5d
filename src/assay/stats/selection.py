"""The best of many on one set of queries: who is as good, and how much of its lead is luck of the draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusterTable, cluster_table, estimate
from assay.stats.config import DEFAULT
from assay.stats.distributions import t_quantile
from assay.stats.power import minimal_difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.stats.units import Partition
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class SelectionConfig:
    """How the best of many is looked at."""

    splits: int = 200  # each used both ways; the honest value then moves by less than .001 from seed to seed
    clusters: int = 6  # with fewer, a half is three or less: no choice is made on that


SELECTION = SelectionConfig()
#: Digits of a mean that are more than rounding.
_SAME_MEAN = 12


@dataclass(frozen=True, slots=True)
class LeaderGaps:
    """How the others stand to the leader; rows as in the values, the leader's own difference is 0."""

    leader: int
    lead: FloatArray  # by how much the leader is ahead
    decided: NDArray[np.bool_]  # whether it is ahead by more than chance
    smallest: float | None  # difference that the set would show with the usual power; None: it could show none


def near_leader(
    values: FloatArray, parts: Partition, *, higher_is_better: bool = True, alpha: float = DEFAULT.alpha
) -> LeaderGaps:
    """Compare the best row of `values` (engines × queries), of equals the first, with every other one.

    Cluster-t at α over all pairs (Bonferroni): the leader was picked by looking, so its comparisons are those of any
    pair. The sign-flip test of a declared family decides a little more often and costs a thousand times as much.
    """
    gain = values if higher_is_better else -values
    leader = int(gain.mean(axis=1).round(_SAME_MEAN).argmax())
    found = estimate(cluster_table((gain[leader] - gain).T, parts))
    pairs = len(values) * (len(values) - 1) / 2
    if found.df < 1 or pairs < 1:
        return LeaderGaps(leader, found.mean, np.zeros(len(values), dtype=np.bool_), None)
    decided = found.mean > t_quantile(1.0 - alpha / (2.0 * pairs), float(found.df)) * found.se + DEFAULT.tie
    spread = found.se[found.se > 0.0]
    usual = minimal_difference(float(np.median(spread)), found.df, alpha=alpha / pairs) if len(spread) else None
    return LeaderGaps(leader, found.mean, decided, usual)


@dataclass(frozen=True, slots=True)
class SelectionBias:
    """The best of many: what its mean says, and what a choice is worth on queries that did not make it."""

    apparent: float
    honest: float


def selection_bias(
    values: FloatArray,
    parts: Partition,
    rng: np.random.Generator,
    *,
    higher_is_better: bool = True,
    config: SelectionConfig = SELECTION,
) -> SelectionBias | None:
    """Choose the best row on one half of the clusters and score it on the other, over many halves.

    The mean over both ways is unbiased for what "take the best" is worth when half of the queries make the choice;
    with all of them the choice can only be better, so it errs to the careful side. None with too few clusters.
    """
    if parts.count < config.clusters:
        return None
    table = cluster_table((values if higher_is_better else -values).T, parts)
    chosen = draw_halves(table, rng, config.splits)
    first, second = half_means(table, chosen), half_means(table, ~chosen)
    crossed = (_worth(first, second) + _worth(second, first)) / 2.0
    apparent, honest = float((table.sums.sum(axis=0) / table.n).max()), float(crossed.mean())
    return SelectionBias(apparent, honest) if higher_is_better else SelectionBias(-apparent, -honest)


def _worth(choosing: FloatArray, scoring: FloatArray) -> FloatArray:
    best = choosing >= choosing.max(axis=1, keepdims=True) - DEFAULT.tie
    worth: FloatArray = (scoring * best).sum(axis=1) / best.sum(axis=1)
    return worth


def draw_halves(table: ClusterTable, rng: np.random.Generator, splits: int) -> NDArray[np.bool_]:
    """Draw halves (rows), inside strata; which half has the odd one is drawn too."""
    chosen = np.zeros((splits, table.clusters), dtype=np.bool_)
    for part in table.strata:
        size = part.stop - part.start
        place = rng.random((splits, size)).argsort(axis=1).argsort(axis=1)
        chosen[:, part] = place < (size + rng.integers(0, 2, (splits, 1))) // 2
    return chosen


def half_means(table: ClusterTable, chosen: NDArray[np.bool_]) -> FloatArray:
    """Give the mean of each column over the chosen clusters: splits × columns."""
    weights = chosen.astype(np.float64)
    means: FloatArray = (weights @ table.sums) / (weights @ table.sizes)[:, None]
    return means
