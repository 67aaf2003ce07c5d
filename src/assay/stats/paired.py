"""Paired differences: the sign-flip test and its power, effect sizes and variance components."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusterTable, plain_spread, row_blocks, small_sample
from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.distributions import t_quantile
from assay.stats.records import ComparisonRow, ValueRange

if TYPE_CHECKING:
    from assay.stats.score_table import IntArray
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
    """Return effect sizes; the ICC is over `groups` (`group_codes`), and `se` is the clustered standard error.

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


# At the largest tilt all but 1 in 10,000 queries of a set with 99 % ties differ; the steps give the MDE to 2 %.
_LARGEST_TILT = 14.0
_TILTS = 1_400
#: ICCs for which unequal cluster sizes are evaluated; finer steps would exceed the precision of an estimate.
_CORRELATIONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0)


def can_decide(smallest_p: float | None, family: int, alpha: float) -> bool:
    return smallest_p is not None and smallest_p * family <= alpha


def family_mde(row: ComparisonRow, bounds: ValueRange, size: int, settings: CompareSettings) -> float | None:
    """Return the MDE of a row in a family of this size; None if no difference could be shown.

    The level is α/size, that of the first step of Holm, so that the MDE does not depend on the other rows.
    """
    decidable = can_decide(row.smallest_p, size, settings.alpha) and row.differing >= DEFAULT.p_value_clusters
    if not row.se or not decidable:
        return None
    mde = observed_mde(row.se, row.df, row.clusters, alpha=settings.alpha / size)
    return min(raise_for_ties(mde * row.unequal, 1.0 - row.ties / row.queries, row.typical_size), bounds.width)


def mde_from_se(se: float, df: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power) -> float:
    """Return the MDE, the smallest true difference that is detected with probability `power`.

    This is (t(1 − α/2) + t(power))·SE, the t form of the usual z sum (Bloom 1995), within 1 % of the noncentral t from
    five degrees of freedom up.
    """
    return (t_quantile(1.0 - alpha / 2.0, df) + t_quantile(power, df)) * se


def observed_mde(
    se: float, df: float, clusters: int, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power
) -> float:
    """Return the MDE of the sign-flip test for a standard error that was estimated from the set.

    An estimated SE is c₄ = √(2/ν) Γ((ν+1)/2)/Γ(ν/2) times the true one on average (ν = `df`, Cochran 1934).
    Uncorrected for this and for the attainable p-values, six clusters have power .57 at the MDE, seven .70, ten .74.
    """
    c4 = math.sqrt(2.0 / df) * math.exp(math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0))
    return planned_mde(se / c4, df, clusters, alpha=alpha, power=power)


def planned_mde(
    se: float, df: float, clusters: int, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power
) -> float:
    """Return the MDE of the sign-flip test for a known standard error; infinite if the test cannot reach α.

    The exact test with G clusters gives only multiples of 2^(1−G). If few multiples lie at or below α, the MDE is that
    of the exact test (`_exact_multiplier`), else the t form at the largest of them, or at α if the test is not exact.
    """
    least = smallest_p(clusters)
    if least is None or least > alpha + DEFAULT.tie:
        return math.inf
    steps = _attainable_steps(clusters, alpha)
    if 1 <= steps <= DEFAULT.counted_steps:
        return se * _exact_multiplier((1.0,) * clusters, 0.0, steps, power)
    return mde_from_se(se, df, alpha=steps * 2.0 ** (1 - clusters) if steps else alpha, power=power)


def unequal_factor(
    sizes: FloatArray, icc: float, *, alpha: float = DEFAULT.alpha, power: float = DEFAULT.power
) -> float:
    """Return the MDE of the exact test divided by the MDE for clusters of equal size and the same standard error.

    With six clusters p ≤ .05 needs all of them to agree, and a small cluster agrees less often than a large one: with
    six repositories of lognormal sizes, the uncorrected MDE was detected in 47 to 70 % of sets instead of 80 %. The
    factor is at least 1, and it is 1 if none or more than `counted_steps` of the attainable p-values are at most α.
    """
    steps = _attainable_steps(len(sizes), alpha)
    if not 1 <= steps <= DEFAULT.counted_steps or np.all(sizes == sizes[0]):
        return 1.0
    known = min(_CORRELATIONS, key=lambda evaluated: abs(evaluated - icc))
    unequal = _exact_multiplier(tuple(sorted(sizes.tolist())), known, steps, power)
    return max(1.0, unequal / _exact_multiplier((1.0,) * len(sizes), 0.0, steps, power))


def raise_for_ties(mde: float, share: float, size: float) -> float:
    """Increase an MDE if queries tie, because a true difference makes more queries differ, which adds spread.

    Differences of ± `size` on a `share` of the queries, tilted exponentially to a mean δ, have a standard deviation
    s(δ); the MDE is the smallest δ ≥ mde · s(δ)/s(0). With 88 % ties, a difference of `mde` was detected in 37 to 67 %
    of simulations instead of 80 %.
    """
    if not 0.0 < share < 1.0 or mde >= size:
        return mde
    tilts = np.linspace(0.0, _LARGEST_TILT, _TILTS)
    raised = share * np.cosh(tilts)
    total = 1.0 - share + raised
    means = share * size * np.sinh(tilts) / total
    variances = size**2 * raised / total - means**2
    enough = means >= mde * np.sqrt(np.maximum(1.0, variances / (share * size**2)))
    return float(means[enough.argmax()]) if enough.any() else size


def _attainable_steps(clusters: int, alpha: float) -> int:
    return math.floor(alpha * 2.0 ** (clusters - 1) + DEFAULT.tie) if clusters <= DEFAULT.exact_clusters else 0


@lru_cache(maxsize=4096)
def _exact_multiplier(sizes: tuple[float, ...], icc: float, steps: int, power: float) -> float:
    """Return the MDE, in standard errors, for p to be among the `steps` smallest p-values of the exact test.

    Cluster i of nᵢ queries has the sum nᵢδ − sᵢzᵢ, with a true difference δ, a standard deviation sᵢ and a standard
    normal zᵢ. Flipping a set S of clusters lowers the total unless δ ≤ Σ sᵢzᵢ/Σ nᵢ over S. So the test detects any δ
    above the `steps`-th largest of these values: then fewer than `steps` sets do not lower it. For equal clusters, a
    set with the r-th largest zᵢ is exceeded by r − 1 others (replace zᵢ by a larger one, or omit smaller ones), so the
    `steps` largest zᵢ are enough. For one step and G clusters this is √G·Φ⁻¹(power^(1/G)): all have the same sign.
    """
    rng, counts = np.random.default_rng(DEFAULT.seed), np.array(sizes)
    spreads = np.sqrt(counts * (1.0 + (counts - 1.0) * icc))
    equal = sizes[0] == sizes[-1]
    used = min(steps, len(sizes)) if equal else len(sizes)
    sets = ((np.arange(1, 2**used)[:, None] >> np.arange(used)) & 1).astype(np.float64)
    weights = (sets * spreads[:used] / (sets @ counts[:used])[:, None]).T
    thresholds = []
    for rows in row_blocks(DEFAULT.power_draws, weights.shape[1], DEFAULT.cells):
        drawn = rng.standard_normal((rows, len(sizes)))
        means = (-np.sort(-drawn, axis=1)[:, :used] if equal else drawn) @ weights
        thresholds.append(np.partition(means, means.shape[1] - steps, axis=1)[:, means.shape[1] - steps])
    se = math.sqrt(float((spreads**2).sum())) / float(counts.sum())
    return float(np.quantile(np.concatenate(thresholds), power)) / se
