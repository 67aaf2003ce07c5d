"""The sign-flip test, effect sizes and variance components of paired differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusterTable, plain_spread, row_blocks, small_sample
from assay.stats.config import DEFAULT

if TYPE_CHECKING:
    from assay.stats.tables import IntArray
    from assay.types import FloatArray


def sign_flip(
    table: ClusterTable,
    rng: np.random.Generator,
    *,
    resamples: int = DEFAULT.resamples,
    exact_clusters: int = DEFAULT.exact_clusters,
    cells: int = DEFAULT.cells,
) -> FloatArray | None:
    """Return the two-sided p of each column's mean difference; None with too few clusters for any p-value.

    Under the null hypothesis both signs of a cluster's differences are equally likely, so the observed t = mean/SE
    (clustered, CR1) is compared with its values under all sign patterns of up to `exact_clusters` clusters; for more
    clusters, p = (b + 1)/(B + 1), where b of B random patterns reach the observed |t| (Phipson & Smyth 2010).
    Studentizing keeps the level when clusters differ in size and spread (Chung & Romano 2013; Canay, Romano & Shaikh
    2017).
    """
    if table.clusters < DEFAULT.p_value_clusters:
        return None
    exact = table.clusters <= exact_clusters
    rows = 2 ** (table.clusters - 1) if exact else resamples
    blocks = row_blocks(rows, max(table.clusters, table.sums.shape[1]), cells)
    patterns = _sign_patterns(table.clusters, blocks, None if exact else rng)
    # u = T²/(T² + n²SE²), where T is the sum, rises with |t| and stays in [0, 1], also when SE is zero
    total, spread = table.sums.sum(axis=0) ** 2, plain_spread(table)
    observed = np.divide(total, total + spread, out=np.zeros_like(total), where=total > 0.0)
    threshold = observed - DEFAULT.statistic_tie
    reached = sum((_count_reached(table, threshold, signs) for signs in patterns), start=0)
    return np.asarray(reached / rows if exact else (reached + 1.0) / (rows + 1.0), dtype=np.float64)


def smallest_p(clusters: int, *, resamples: int = DEFAULT.resamples) -> float | None:
    """Return the smallest p-value that the test can give; None with too few clusters for any p-value."""
    if clusters < DEFAULT.p_value_clusters:
        return None
    return 2.0 ** (1 - clusters) if clusters <= DEFAULT.exact_clusters else 1.0 / (resamples + 1.0)


def _count_reached(table: ClusterTable, threshold: FloatArray, signs: FloatArray) -> IntArray:
    """Count the sign patterns (rows of signs ε_g) whose u is at least the threshold θ, for each column.

    With F_h = Σε_g D_g over the clusters of stratum h, T = ΣF_h and the CR1 factor c_h, u ≥ θ is equivalent to
    (1 − θ)T² + θ Σ_h c_h F_h Σ_g ε_g D_g (2n_g/n_h − Σn_g²/n_h²) ≥ θ Σ_h c_h ΣD_g² (D_g, n_g, n_h as in `clustered`).
    θ is below the observed u by far more than the rounding of these sums, so the identity pattern is always counted.
    """
    total = np.zeros((len(signs), table.sums.shape[1]))
    form = np.zeros_like(total)
    fixed = np.zeros(table.sums.shape[1])
    for part in table.strata:
        sums, sizes = table.sums[part], table.sizes[part]
        n, scale = sizes.sum(), threshold * small_sample(len(sizes))
        weights = 2.0 / n * sizes - (sizes**2).sum() / n**2
        flipped = signs[:, part] @ sums
        form += flipped * scale * (flipped * weights[0] if table.single else signs[:, part] @ (weights[:, None] * sums))
        fixed += scale * (sums**2).sum(axis=0)
        total += flipped
    form += (1.0 - threshold) * total**2
    return np.asarray(np.count_nonzero(form >= fixed, axis=0))


def _sign_patterns(clusters: int, blocks: Iterator[int], rng: np.random.Generator | None) -> Iterator[FloatArray]:
    """Yield blocks of sign patterns: in binary order, or random ones that do not depend on the block sizes."""
    start = 0
    for rows in blocks:
        numbers = np.arange(start, start + rows)[:, None]
        flipped = (numbers >> np.arange(clusters)) & 1 if rng is None else rng.random((rows, clusters)) < 0.5
        yield np.where(flipped, -1.0, 1.0)
        start += rows


@dataclass(frozen=True, slots=True)
class Effects:
    d_z: float | None
    wins: int
    ties: int
    losses: int
    worse_share: float
    icc: float | None
    design_effect: float | None
    effective_n: float


def effects(differences: FloatArray, groups: IntArray, se: float, *, higher_is_better: bool = True) -> Effects:
    """Return effect sizes; the ICC is over `groups` (`tables.group_codes`), and `se` is the clustered standard error.

    The design effect is SE²/(s²/n), with the variance s² of the n differences. The effective n is n divided by the
    design effect, and at most n: clusters that agree by chance add no queries.
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
        worse_share=losses / n,
        icc=intraclass_correlation(differences, groups),
        design_effect=ratio,
        effective_n=n / max(1.0, ratio) if ratio is not None else float(n),
    )


def is_skewed(differences: FloatArray, worst: float) -> bool:
    """Return whether rare large differences oppose frequent small ones, so that few queries decide the mean.

    The mean sizes of gains and losses are compared. If there are no losses (or no gains), the largest possible
    difference replaces their mean: a small set without losses does not prove that there are none. A t interval
    of skewed differences covers the truth in only 70 to 90 % of sets, and mostly errs toward the frequent side.
    """
    gains, losses = differences[differences > DEFAULT.tie], -differences[differences < -DEFAULT.tie]
    many, few = (gains, losses) if len(gains) > len(losses) else (losses, gains)
    if len(many) == len(few):
        return False
    return bool((few.mean() if len(few) else worst) > DEFAULT.skewed * many.mean())


@dataclass(frozen=True, slots=True)
class Components:
    between: float
    within: float
    repositories: int
    queries: float  # per repository, typical (the n₀ of the analysis of variance)

    @property
    def icc(self) -> float:
        total = self.between + self.within
        return self.between / total if total > 0.0 else 0.0


def variance_components(differences: FloatArray, groups: IntArray) -> Components | None:
    """Estimate variance components by one-way analysis of variance (Donner 1986); negative estimates become 0.

    `groups` numbers the repositories from 0 without gaps. Return None for a single repository or a single query per
    repository, where the components cannot be estimated.
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
    components = variance_components(differences, groups)
    return None if components is None else components.icc
