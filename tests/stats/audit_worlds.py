"""Worlds for auditing the statistics, independent of those in `worlds.py`.

Paired differences follow a discrete distribution (a shape) with a known mean. Queries of one repository are correlated
through a Gaussian copula whose parameter is solved for the intraclass correlation of the differences themselves, so
the marginal distribution, and with it the true mean, is the same at every correlation. Sizes of repositories are
multinomial with lognormal weights. Written before the code it audits was changed; do not adjust it to make a figure
look better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from assay.types import Unit

if TYPE_CHECKING:
    from assay.types import FloatArray

#: Gains of nDCG@10 with one target, by rank: 1, 2, 3, 5, 10, and not found.
GAINS = (1.0, 0.6309, 0.5, 0.3869, 0.2891, 0.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A distribution of the paired difference of one query."""

    name: str
    values: tuple[float, ...]  # ascending
    shares: tuple[float, ...]
    scales: bool = False  # each repository multiplies its differences by a factor below one
    symmetric: bool = True

    @property
    def mean(self) -> float:
        """The expected difference."""
        return math.fsum(value * share for value, share in zip(self.values, self.shares, strict=True))

    @property
    def sd(self) -> float:
        """The standard deviation of one difference, without the factors of repositories."""
        mean = self.mean
        return math.sqrt(math.fsum(s * (v - mean) ** 2 for v, s in zip(self.values, self.shares, strict=True)))


def _shape(name: str, shares: dict[float, float], *, scales: bool = False, symmetric: bool = True) -> Shape:
    """Sort the values and merge equal ones; what is left of the probability is a tie."""
    merged: dict[float, float] = {}
    for value, share in shares.items():
        merged[round(value, 9)] = merged.get(round(value, 9), 0.0) + share
    merged[0.0] = merged.get(0.0, 0.0) + 1.0 - math.fsum(merged.values())
    ordered = sorted(merged)
    return Shape(name, tuple(ordered), tuple(merged[value] for value in ordered), scales, symmetric)


def _of_two_engines(shares: Sequence[float], same: float) -> dict[float, float]:
    """Differences of two engines with the same distribution over `GAINS`, equal on a share of the queries."""
    found: dict[float, float] = {}
    for a, p in zip(GAINS, shares, strict=True):
        for b, q in zip(GAINS, shares, strict=True):
            found[round(b - a, 9)] = found.get(round(b - a, 9), 0.0) + (1.0 - same) * p * q
    found.pop(0.0)
    return found


BINARY = _shape("binary", {-1.0: 0.15, 1.0: 0.15})
NDCG = _shape("nDCG-like", _of_two_engines((0.42, 0.12, 0.08, 0.06, 0.04, 0.28), 0.5))
CEILING = _shape("near the ceiling", _of_two_engines((0.93, 0.02, 0.01, 0.005, 0.005, 0.03), 0.3))
TIES = _shape("88 % ties", {sign * gain: 0.012 for sign in (-1, 1) for gain in (1.0, 0.63, 0.5, 0.37, 0.13)})
UNEVEN = _shape("heteroscedastic", _of_two_engines((0.42, 0.12, 0.08, 0.06, 0.04, 0.28), 0.2), scales=True)
SKEWED = _shape("skewed", {-1.0: 0.02, -0.63: 0.02, 0.07: 0.0326 / 0.07}, symmetric=False)
#: One query in fifty falls from the first rank to nothing: the true loss is the default margin.
RARE_LOSSES = _shape("rare losses", {-1.0: 0.02}, symmetric=False)

SHAPES = (BINARY, NDCG, CEILING, TIES, UNEVEN, SKEWED)


@dataclass(frozen=True, slots=True)
class Design:
    """How many queries, in how many repositories, how much alike."""

    repositories: int
    queries: int
    icc: float = 0.0
    spread: float = 0.8  # of the logarithms of the repositories' weights; 0: equal sizes

    @property
    def name(self) -> str:
        """A short name for tables."""
        icc = f", ICC {self.icc:g}" if self.repositories > 1 else ""
        return f"{self.repositories} × {self.queries}{icc}"

    @property
    def effective(self) -> float:
        """Queries after the design effect of equal clusters."""
        return self.queries / (1.0 + (self.queries / self.repositories - 1.0) * self.icc)


def _designs() -> tuple[Design, ...]:
    sizes = {6: (30, 100, 300, 600), 10: (30, 100, 300, 600), 20: (100, 300, 600), 60: (300, 600)}
    alike = [Design(r, n, icc) for r, counts in sizes.items() for n in counts for icc in (0.0, 0.05, 0.15, 0.3)]
    return (*(Design(1, n) for n in (30, 100, 300)), *alike)


#: 55 designs.
DESIGNS = _designs()


def tilted(shape: Shape, mean: float) -> Shape:
    """Give the shape another mean by exponential tilting, which keeps its values."""
    values, shares = np.array(shape.values), np.array(shape.shares)

    def weights(slope: float) -> FloatArray:
        raw = shares * np.exp(slope * values)
        return np.asarray(raw / raw.sum())

    low, high = -200.0, 200.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(weights(middle) @ values) < mean else (low, middle)
    return Shape(shape.name, shape.values, tuple(weights(low).tolist()), shape.scales, shape.symmetric)


def _cdf(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2.0)))


def _quantile(share: float) -> float:
    low, high = -12.0, 12.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 0.5 * math.erfc(-middle / math.sqrt(2.0)) < share else (low, middle)
    return low


def _cuts(shape: Shape) -> FloatArray:
    """Thresholds of the latent normal variable between the values."""
    return np.array([_quantile(share) for share in np.cumsum(shape.shares)[:-1]])


@cache
def latent_correlation(shape: Shape, icc: float) -> float:
    """Find the correlation of the latent variables at which two differences of one repository correlate by `icc`."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    values, cuts, mean = np.array(shape.values), _cuts(shape), shape.mean

    def observed(rho: float) -> float:
        inner = _cdf((cuts[:, None] - math.sqrt(rho) * nodes) / math.sqrt(1.0 - rho))
        below = np.vstack([np.zeros_like(nodes), inner, np.ones_like(nodes)])
        given = values @ np.diff(below, axis=0)
        return float(weights @ (given - mean) ** 2) / shape.sd**2

    low, high = 0.0, 0.999
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if observed(middle) < icc else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Sets:
    """Simulated sets over the same units: one column each."""

    units: tuple[Unit, ...]
    differences: FloatArray  # (queries, sets)
    truth: float


def draw_sets(rng: np.random.Generator, shape: Shape, design: Design, count: int) -> Sets:
    """Draw sets that share the sizes of their repositories."""
    sizes = _sizes(rng, design)
    homes = np.repeat(np.arange(design.repositories), sizes)
    rho = latent_correlation(shape, design.icc) if design.icc > 0.0 else 0.0
    shared = rng.standard_normal((design.repositories, count))[homes]
    latent = math.sqrt(rho) * shared + math.sqrt(1.0 - rho) * rng.standard_normal((design.queries, count))
    found = np.array(shape.values)[np.searchsorted(_cuts(shape), latent)]
    truth = shape.mean
    if shape.scales:
        found = found * np.exp(-np.abs(rng.standard_normal((design.repositories, count))))[homes]
        truth *= math.exp(0.5) * math.erfc(1.0 / math.sqrt(2.0))  # E exp(−|Z|)
    units = tuple(Unit("g", f"q{i}", "human", f"r{home}") for i, home in enumerate(homes))
    return Sets(units, found, truth)


def _sizes(rng: np.random.Generator, design: Design) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Draw sizes that add up to the queries; every repository has at least two, or one where there are fewer."""
    least = min(2, design.queries // design.repositories)
    weights = np.exp(design.spread * rng.standard_normal(design.repositories))
    rest = design.queries - least * design.repositories
    return np.asarray(least + rng.multinomial(rest, weights / weights.sum()))
