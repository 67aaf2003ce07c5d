"""Means over clusters and their clustered standard errors.

A mean over n queries, in clusters g of sum D_g and size n_g, inside strata h of size n_h and mean m_h, has

    m = ΣD_g / n,      SE² = Σ_h Σ_{g∈h} (D_g − n_g m_h)² / (1 − n_g/n_h) / n²        (CR2)

(Bell & McCaffrey 2002; Pustejovsky & Tipton 2018). For G clusters of equal size this is CR1, with the factor G/(G − 1).
The degrees of freedom are Satterthwaite's, so a few large clusters count as few. At six to ten repositories of unequal
size, CR1 with G − 1 degrees of freedom covered .89 to .92 instead of .95, CR2 at least .94 (tests/stats/audit.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.config import DEFAULT

if TYPE_CHECKING:
    from assay.stats.score_table import Partition
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class ClusterTable:
    """Sums of columns by cluster; `strata` are ranges of clusters."""

    sums: FloatArray  # (clusters, columns)
    sizes: FloatArray  # (clusters,)
    strata: tuple[slice, ...]
    plain_se: FloatArray  # (columns,) standard error as if units were independent

    @property
    def n(self) -> float:
        return float(self.sizes.sum())

    @property
    def clusters(self) -> int:
        return len(self.sizes)

    @property
    def df(self) -> float:
        """Degrees of freedom of SE (Bell & McCaffrey 2002): G − 1 for G clusters of equal size in one stratum.

        They are twice the squared mean of SE² over its variance, for independent normal queries of equal variance.
        """
        if self.clusters <= len(self.strata):
            return 0.0
        spread = 0.0
        for part in self.strata:
            sizes = self.sizes[part]
            scaled = correction(sizes) * sizes**2 / sizes.sum()
            spread += float((sizes**2).sum() + scaled.sum() ** 2 - (scaled**2).sum())
        return self.n**2 / spread

    @property
    def single(self) -> bool:
        return bool(np.all(self.sizes == 1.0))


@dataclass(frozen=True, slots=True)
class ClusteredEstimate:
    """Means of the columns with their clustered standard errors; SE is NaN without a degree of freedom."""

    mean: FloatArray
    se: FloatArray
    plain_se: FloatArray  # as if units were independent
    icc: FloatArray  # correlation of two units of one cluster (analysis of variance), 0 where it cannot be estimated
    n: float
    clusters: int
    size: float  # units in the cluster of a unit, on average: the design effect is 1 + (size − 1) icc
    df: float
    stratified: bool

    def clusters_differ(self, at: int, deviations: float) -> bool:
        """Return whether the F ratio of clusters in column `at` exceeds 1 by more than `deviations` SDs."""
        if self.clusters < 2 or self.icc[at] <= 0.0:
            return False
        typical = (self.n - self.size) / (self.clusters - 1)
        excess = typical * float(self.icc[at]) / max(1.0 - float(self.icc[at]), DEFAULT.rounding)
        return excess > deviations * math.sqrt(2.0 / (self.clusters - 1))

    def column(self, at: int) -> ClusteredEstimate:
        own = slice(at, at + 1)
        return replace(self, mean=self.mean[own], se=self.se[own], plain_se=self.plain_se[own], icc=self.icc[own])


def cluster_table(values: FloatArray, parts: Partition) -> ClusterTable:
    sums = np.zeros((parts.count, values.shape[1]))
    np.add.at(sums, parts.clusters, values)
    sizes = np.bincount(parts.clusters, minlength=parts.count).astype(np.float64)
    edges = np.flatnonzero(np.diff(parts.strata)) + 1
    bounds = [0, *edges.tolist(), parts.count]
    strata = tuple(slice(a, b) for a, b in pairwise(bounds))
    plain_se = np.zeros(values.shape[1])  # for a single unit, and where the spread is only rounding
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        rounding = DEFAULT.rounding * np.abs(values).max(axis=0)
        plain_se = np.where(spread <= rounding, 0.0, spread) / math.sqrt(len(values))
    return ClusterTable(sums, sizes, strata, plain_se)


def estimate(table: ClusterTable) -> ClusteredEstimate:
    """Return the mean and clustered standard error (CR2) of each column, from centered sums to avoid cancellation."""
    variance, df = np.zeros(table.sums.shape[1]), table.df
    for part in table.strata:
        variance += (residuals(table, part) ** 2 * correction(table.sizes[part])[:, None]).sum(axis=0)
    se = np.sqrt(variance) / table.n if df > 0 else np.full(table.sums.shape[1], np.nan)
    mean = table.sums.sum(axis=0) / table.n
    size = float((table.sizes**2).sum() / table.n)
    stratified = len(table.strata) > 1
    return ClusteredEstimate(mean, se, table.plain_se, _icc(table, mean), table.n, table.clusters, size, df, stratified)


def _icc(table: ClusterTable, mean: FloatArray) -> FloatArray:
    """Estimate the intraclass correlation of each column by one-way analysis of variance (Donner 1986), at least 0."""
    n, clusters, sizes = table.n, table.clusters, table.sizes[:, None]
    if clusters < 2 or n == clusters:
        return np.zeros_like(mean)
    among = (sizes * (table.sums / sizes - mean) ** 2).sum(axis=0)
    within = (table.plain_se**2 * n * (n - 1.0) - among) / (n - clusters)
    typical = (n - float((table.sizes**2).sum()) / n) / (clusters - 1)
    between = np.maximum(0.0, (among / (clusters - 1) - within) / typical)
    total = between + within
    return np.asarray(np.divide(between, total, out=np.zeros_like(mean), where=total > DEFAULT.rounding))


def residuals(table: ClusterTable, part: slice) -> FloatArray:
    """Return D_g − n_g m_h of one stratum, with rounding errors set to 0."""
    sums, sizes = table.sums[part], table.sizes[part]
    residual = np.asarray(sums - np.outer(sizes, sums.sum(axis=0) / sizes.sum()))
    residual[np.abs(residual) <= DEFAULT.rounding * np.abs(sums).max(axis=0, initial=0.0)] = 0.0
    return residual


def correction(sizes: FloatArray) -> FloatArray:
    """Return the CR2 factor 1/(1 − n_g/n_h) by cluster of a stratum; 1 for a single cluster, whose residual is 0."""
    rest = 1.0 - sizes / sizes.sum()
    return np.asarray(np.divide(1.0, rest, out=np.ones_like(rest), where=rest > 0.0))


def plain_spread(table: ClusterTable) -> FloatArray:
    """Return n²SE² of each column by CR1, used in resampling because CR1 of all resamples is a matrix product."""
    spread = np.zeros(table.sums.shape[1])
    for part in table.strata:
        spread += small_sample(part.stop - part.start) * (residuals(table, part) ** 2).sum(axis=0)
    return spread


def small_sample(clusters: int) -> float:
    """Return the factor G/(G − 1) of CR1 for G clusters; 1 for a single cluster, whose residual is 0."""
    return clusters / (clusters - 1) if clusters > 1 else 1.0


def row_blocks(rows: int, columns: int, cells: int) -> Iterator[int]:
    step = max(1, cells // max(1, columns))
    for start in range(0, rows, step):
        yield min(step, rows - start)
