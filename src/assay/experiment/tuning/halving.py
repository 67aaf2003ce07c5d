"""What is a choice of settings worth on queries that did not make it? Nested half-splits, and nothing but arithmetic.

The clusters (repositories, or intents inside each) are halved at random, many times. On each half the best point is
chosen, and scored on the other; so in every halving each query is unseen once. A query's honest value is the mean over
the halvings of what the point chosen without it scores on it; its apparent value is the same of the point that was
chosen with it. Both ways choose on half of the data, so their difference is what seeing a query is worth: the optimism
(Varma & Simon 2006; Cawley & Talbot 2010, section 5.3). With all of the data the choice can only be better, so the
honest value errs to the careful side.

Halves are drawn by cluster, so two halves share no repository and a choice on one is independent of the other: the
honest mean has no bias of selection. Its spread is another matter. The two ways of a halving choose and score on each
other's data, so they are lucky or unlucky together, and the spread between clusters alone is too small: its 95 %
interval covers 87 to 93 %. Leaving out one cluster at a time and doing all of it again (jackknife) sees that; the
larger of the two standard errors covers 94 to 98 % (tests/experiment/tuning/test_halving.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import GoldError
from assay.stats.clustered import ClusterTable, cluster_table
from assay.stats.config import DEFAULT
from assay.stats.selection import draw_halves
from assay.stats.units import partition
from assay.types import Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.stats.units import IntArray, Partition
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class HalvingConfig:
    """How the data are halved."""

    partitions: int = 20
    seed: int = 0
    cluster: str = "auto"  # what is drawn independently, as the claim has it
    clusters: int = 4  # two in each half: with one there would be no mean to choose by


@dataclass(frozen=True, slots=True)
class Field:
    """The values of every point (rows) on every query (columns), the default first, and how far each is from it."""

    values: FloatArray  # (points, queries)
    changes: tuple[int, ...]  # settings in which each point differs from the default; 0 for the first
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Halved:
    """What the halvings gave, query by query, and what was chosen how often."""

    honest: FloatArray  # (queries,) by points that were chosen without the query
    apparent: FloatArray  # (queries,) by points that were chosen with it
    chosen: tuple[int, ...]  # how often each point was, of 2 × partitions
    best: int  # the point that all of the data choose
    clusters: int
    label: str  # what was halved
    gain_se: float  # jackknife standard error of the honest mean less the default's
    optimism_se: float  # ... of the apparent mean less the honest one


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of the points and numbers of queries in both halves of every halving."""

    first: FloatArray  # (partitions, points)
    second: FloatArray
    first_size: FloatArray  # (partitions,)
    second_size: FloatArray

    def without(self, inside: FloatArray, sums: FloatArray, size: float) -> _Sums:
        """Leave one cluster out; `inside` is 1 where it is of the first half."""
        own, other = inside[:, None], 1.0 - inside[:, None]
        return _Sums(
            self.first - own * sums,
            self.second - other * sums,
            self.first_size - inside * size,
            self.second_size - (1.0 - inside) * size,
        )


@dataclass(frozen=True, slots=True)
class _Choices:
    """The point that each half chooses, by halving."""

    first: IntArray
    second: IntArray


def halve(field: Field, units: Sequence[Unit], config: HalvingConfig) -> Halved:
    """Choose on each half and score on the other, both ways."""
    parts = partition(units, config.cluster)
    _check(parts, config)
    table = cluster_table((field.values if field.higher_is_better else -field.values).T, parts)
    first = draw_halves(table, np.random.default_rng(config.seed), config.partitions)
    order, sums = _preference(field.changes), _sums(table, first)
    by = _choose(sums, order)
    inside = first[:, parts.clusters]  # (partitions, queries): whether a query is of the first half
    seen = np.where(inside, by.first[:, None], by.second[:, None])
    unseen = np.where(inside, by.second[:, None], by.first[:, None])
    queries = np.arange(field.values.shape[1])
    gain_se, optimism_se = _jackknife(table, first, sums, order)
    return Halved(
        honest=field.values[unseen, queries].mean(axis=0),
        apparent=field.values[seen, queries].mean(axis=0),
        chosen=tuple(np.bincount([*by.first, *by.second], minlength=len(field.values)).tolist()),
        best=int(_best(table.sums.sum(axis=0, keepdims=True) / table.n, order)[0]),
        clusters=parts.count,
        label=parts.nouns,
        gain_se=gain_se,
        optimism_se=optimism_se,
    )


def _sums(table: ClusterTable, first: NDArray[np.bool_]) -> _Sums:
    """Add up both halves of every halving."""
    weights = first.astype(np.float64)
    rest = 1.0 - weights
    return _Sums(weights @ table.sums, rest @ table.sums, weights @ table.sizes, rest @ table.sizes)


def _choose(sums: _Sums, order: IntArray) -> _Choices:
    """Choose on both halves."""
    first, second = sums.first / sums.first_size[:, None], sums.second / sums.second_size[:, None]
    return _Choices(_best(first, order), _best(second, order))


def _differences(sums: _Sums, order: IntArray) -> FloatArray:
    """Give the honest mean less the default's, and the apparent mean less the honest one, over all halvings."""
    by, rows = _choose(sums, order), np.arange(len(sums.first))
    honest = sums.second[rows, by.first] + sums.first[rows, by.second]
    apparent = sums.first[rows, by.first] + sums.second[rows, by.second]
    default = sums.first[:, 0] + sums.second[:, 0]
    n = sums.first_size + sums.second_size
    return np.array([((honest - default) / n).mean(), ((apparent - honest) / n).mean()])


def _jackknife(table: ClusterTable, first: NDArray[np.bool_], sums: _Sums, order: IntArray) -> tuple[float, float]:
    """Estimate standard errors by leaving out one cluster at a time, choices and all: (G − 1)/G · Σ(θ_g − θ̄)²."""
    weights = first.astype(np.float64)
    left = np.array(
        [
            _differences(sums.without(weights[:, g], table.sums[g], float(table.sizes[g])), order)
            for g in range(table.clusters)
        ]
    )
    spread = ((left - left.mean(axis=0)) ** 2).sum(axis=0) * (table.clusters - 1) / table.clusters
    gain, optimism = np.sqrt(spread).tolist()
    return gain, optimism


def _preference(changes: Sequence[int]) -> IntArray:
    """Order the points for ties: the default, then the fewest changes, then as the grid has them."""
    return np.array(sorted(range(len(changes)), key=lambda at: (changes[at], at)), dtype=np.intp)


def _best(means: FloatArray, order: IntArray) -> IntArray:
    """Choose the best point of each row; means that differ by rounding alone are ties."""
    ordered = means[:, order]
    near = ordered >= ordered.max(axis=1, keepdims=True) - DEFAULT.tie
    chosen: IntArray = order[near.argmax(axis=1)]
    return chosen


def _check(parts: Partition, config: HalvingConfig) -> None:
    """Refuse data that cannot be halved."""
    if parts.count < config.clusters:
        raise GoldError(
            f"{parts.nouns} cannot be halved: at least {config.clusters} are needed",
            hint="tune on more queries; `assay plan` says how many would show something",
        )
