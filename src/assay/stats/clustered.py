"""Cluster sums and what follows from them: mean, standard error, and their resampled kin.

A mean over queries with clusters g of sums D_g and sizes n_g has

    m = ΣD_g / n,      SE² = Σ_h G_h/(G_h − 1) · Σ_{g∈h} (D_g − n_g m_h)² / n²        (CR1, inside strata h)

(Cameron & Miller 2015, section VI). For a mean CR1's other factor (n − 1)/(n − 1) is one. Flipping signs or
redrawing clusters changes only sums over clusters of D, nD, D², n and n², so every resample of every column is a row
of one matrix product.
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
    from assay.stats.units import Partition
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class ClusterTable:
    """Cluster sums of several columns that share their units; strata are runs of rows."""

    sums: FloatArray  # (clusters, columns)
    sizes: FloatArray  # (clusters,)
    strata: tuple[slice, ...]
    plain_se: FloatArray  # (columns,) standard error as if units were independent

    @property
    def n(self) -> float:
        """The number of units."""
        return float(self.sizes.sum())

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(self.sizes)

    @property
    def df(self) -> int:
        """Degrees of freedom of the standard error: clusters less one for each stratum's own mean."""
        return self.clusters - len(self.strata)

    @property
    def single(self) -> bool:
        """Whether each cluster is one unit, so that nD = D."""
        return bool(np.all(self.sizes == 1.0))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Means of the columns with their clustered standard errors; SE is NaN without a degree of freedom."""

    mean: FloatArray
    se: FloatArray
    plain_se: FloatArray  # as if units were independent
    n: float
    clusters: int
    df: int
    stratified: bool

    def column(self, at: int) -> Estimate:
        """Pick one column."""
        one = slice(at, at + 1)
        return replace(self, mean=self.mean[one], se=self.se[one], plain_se=self.plain_se[one])


def cluster_table(values: FloatArray, parts: Partition) -> ClusterTable:
    """Sum each column of `values` (units × columns) by cluster."""
    sums = np.zeros((parts.count, values.shape[1]))
    np.add.at(sums, parts.clusters, values)
    sizes = np.bincount(parts.clusters, minlength=parts.count).astype(np.float64)
    edges = np.flatnonzero(np.diff(parts.strata)) + 1
    bounds = [0, *edges.tolist(), parts.count]
    strata = tuple(slice(a, b) for a, b in pairwise(bounds))
    return ClusterTable(sums, sizes, strata, _plain_se(values))


def _plain_se(values: FloatArray) -> FloatArray:
    """s/√n of each column; zero for a single unit."""
    n = len(values)
    return values.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.zeros(values.shape[1])


def estimate(table: ClusterTable) -> Estimate:
    """Mean and clustered standard error of each column, from centred sums so that nothing cancels."""
    variance = np.zeros(table.sums.shape[1])
    for part in table.strata:
        sums, sizes = table.sums[part], table.sizes[part]
        residual = sums - np.outer(sizes, sums.sum(axis=0) / sizes.sum())
        # A sum that should be zero is rounding: leave no spread where there is none.
        residual[np.abs(residual) <= DEFAULT.rounding * np.abs(sums).max(axis=0, initial=0.0)] = 0.0
        variance += small_sample(len(sizes)) * (residual**2).sum(axis=0)
    se = np.sqrt(variance) / table.n if table.df > 0 else np.full(table.sums.shape[1], np.nan)
    mean = table.sums.sum(axis=0) / table.n
    return Estimate(mean, se, table.plain_se, table.n, table.clusters, table.df, len(table.strata) > 1)


def small_sample(clusters: int) -> float:
    """G/(G − 1); one for a single cluster, whose residual is zero anyway."""
    return clusters / (clusters - 1) if clusters > 1 else 1.0


def row_blocks(rows: int, columns: int, cells: int) -> Iterator[int]:
    """Cut `rows` into blocks of about `cells` elements; how they are cut never changes a result."""
    step = max(1, cells // max(1, columns))
    for start in range(0, rows, step):
        yield min(step, rows - start)
