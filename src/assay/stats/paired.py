"""Is the difference more than chance? Studentised sign-flips by cluster, and the effect sizes beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusterTable, row_blocks, small_sample
from assay.stats.config import DEFAULT, StatsConfig

if TYPE_CHECKING:
    from assay.stats.units import IntArray
    from assay.types import FloatArray


def sign_flip(
    table: ClusterTable, rng: np.random.Generator, *, resamples: int = DEFAULT.resamples, config: StatsConfig = DEFAULT
) -> FloatArray | None:
    """Two-sided p of each column's mean difference being zero; None with too few clusters for any p-value.

    Under the null a cluster's differences are as likely with the other sign, so the observed t = m/SE (clustered SE)
    is compared with its values under all sign patterns of clusters: exactly when there are at most 2^16 of
    them, else (b + 1)/(B + 1) over B draws (Phipson & Smyth 2010). Studentising keeps the level when
    clusters differ in size and spread (Chung & Romano 2013; Canay, Romano & Shaikh 2017).
    """
    if table.clusters < config.p_value_clusters:
        return None
    exact = table.clusters <= config.exact_clusters
    rows = 2 ** (table.clusters - 1) if exact else resamples
    observed = _statistic(table, np.ones((1, table.clusters)))[0]
    threshold = observed - config.statistic_tie
    blocks = row_blocks(rows, max(table.clusters, table.sums.shape[1]), config.cells)
    patterns = _every_pattern(table.clusters, blocks) if exact else _random_patterns(table.clusters, blocks, rng)
    reached = sum((np.count_nonzero(_statistic(table, signs) >= threshold, axis=0) for signs in patterns), start=0)
    return np.asarray(reached / rows if exact else (reached + 1.0) / (rows + 1.0), dtype=np.float64)


def smallest_p(clusters: int, *, resamples: int = DEFAULT.resamples, config: StatsConfig = DEFAULT) -> float | None:
    """Give the smallest p-value the test can reach with this many clusters; None where it gives none."""
    if clusters < config.p_value_clusters:
        return None
    return 2.0 ** (1 - clusters) if clusters <= config.exact_clusters else 1.0 / (resamples + 1.0)


def _statistic(table: ClusterTable, signs: FloatArray) -> FloatArray:
    """Compute u = T²/(T² + n²SE²) for each row of signs and each column.

    It rises with |t| and stays in [0, 1], so a standard error of zero needs no case of its own and rounding is
    bounded by that of T²; the identity always ties with itself within the tolerance.
    """
    total = np.zeros((len(signs), table.sums.shape[1]))
    spread = np.zeros_like(total)
    for part in table.strata:
        sums, sizes = table.sums[part], table.sizes[part]
        flipped = signs[:, part] @ sums
        weighted = flipped if table.single else signs[:, part] @ (sizes[:, None] * sums)
        mean = flipped / sizes.sum()
        squares = (sums**2).sum(axis=0) + mean * (mean * (sizes**2).sum() - 2.0 * weighted)
        spread += small_sample(len(sizes)) * np.maximum(squares, 0.0)
        total += flipped
    total *= total
    spread += total
    return np.divide(total, spread, out=np.zeros_like(total), where=spread > 0.0)


def _every_pattern(clusters: int, blocks: Iterator[int]) -> Iterator[FloatArray]:
    """Enumerate half of all sign patterns; the other half are their mirror images with the same |t|."""
    start = 0
    for rows in blocks:
        numbers = np.arange(start, start + rows)[:, None]
        yield np.where((numbers >> np.arange(clusters)) & 1, -1.0, 1.0)
        start += rows


def _random_patterns(clusters: int, blocks: Iterator[int], rng: np.random.Generator) -> Iterator[FloatArray]:
    """Draw sign patterns; one double a sign, so that the block size does not change the draws."""
    for rows in blocks:
        yield np.where(rng.random((rows, clusters)) < 0.5, -1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Effects:
    """How large a difference is and how it is spread over the queries; None where it is not defined."""

    d_z: float | None
    wins: int
    ties: int
    losses: int
    harmed: float
    icc: float | None
    design_effect: float | None
    effective_n: float


def effects(differences: FloatArray, groups: IntArray, se: float, *, higher_is_better: bool = True) -> Effects:
    """Describe the differences of one pair; `groups` numbers the repository of each, `se` is the clustered one.

    The design effect is SE²/(s²/n) as observed. The effective n is n over it, and never above n: a lucky
    spread of clusters is no extra query.
    """
    n = len(differences)
    gain = differences if higher_is_better else -differences
    wins, losses = int((gain > DEFAULT.tie).sum()), int((gain < -DEFAULT.tie).sum())
    sd = float(differences.std(ddof=1)) if n > 1 else 0.0
    varied = sd > DEFAULT.tie
    ratio = float(se**2 * n / sd**2) if varied and np.isfinite(se) else None
    return Effects(
        d_z=float(differences.mean()) / sd if varied else None,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        harmed=losses / n,
        icc=intraclass_correlation(differences, groups),
        design_effect=ratio,
        effective_n=n / max(1.0, ratio) if ratio is not None else float(n),
    )


@dataclass(frozen=True, slots=True)
class Components:
    """Variance of the differences between repositories and inside them, with the size of the set they came from."""

    between: float
    within: float
    repositories: int
    queries: float  # a repository, typical (the n₀ of the analysis of variance)

    @property
    def icc(self) -> float:
        """The share of the variance that lies between repositories."""
        total = self.between + self.within
        return self.between / total if total > 0.0 else 0.0


def variance_components(differences: FloatArray, groups: IntArray) -> Components | None:
    """Estimate variance components by one-way analysis of variance (Donner 1986), between clipped at zero.

    `groups` numbers the repositories from 0 without gaps. None when nothing can be told: one repository, or one query
    in each.
    """
    sizes = np.bincount(groups)
    n, g = len(differences), len(sizes)
    if g < 2 or n == g:
        return None
    means = np.bincount(groups, weights=differences) / sizes
    within = float(((differences - means[groups]) ** 2).sum() / (n - g))
    among = float((sizes * (means - differences.mean()) ** 2).sum() / (g - 1))
    typical = float((n - (sizes**2).sum() / n) / (g - 1))
    return Components(max(0.0, (among - within) / typical), within, g, typical)


def intraclass_correlation(differences: FloatArray, groups: IntArray) -> float | None:
    """ICC in [0, 1] by the analysis-of-variance estimator; None where it cannot be told."""
    components = variance_components(differences, groups)
    return None if components is None else components.icc
