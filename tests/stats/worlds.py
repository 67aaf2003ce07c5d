"""The simulated worlds of the statistics: units, their values, and the truth; a column is a replication."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.types import Unit

if TYPE_CHECKING:
    from assay.stats.score_table import IntArray
    from assay.types import FloatArray

# Differences of nDCG@10 with one target jump between these values, hence "spiky".
SPIKES = np.array([1.0, 0.63, 0.5, 0.37, 0.31, 0.13, 0.07])
GAINS = np.array([1.0, 0.63, 0.5, 0.43, 0.39, 0.36, 0.33, 0.32, 0.30, 0.29])  # nDCG by rank of the one target
NONZERO = 0.45
ICC = 0.1
LEAST_QUERIES, MOST_QUERIES = 8, 30  # of a repository


@dataclass(frozen=True)
class World:
    """Units, their values by replication, and the truth."""

    units: list[Unit]
    values: FloatArray  # (units, replications)
    truth: float


def make_units(repositories: Iterable[int]) -> list[Unit]:
    """One unit for each entry, in the named repository."""
    return [Unit("g", f"q{i}", "human", f"r{r:04d}", hash=f"h{i}") for i, r in enumerate(repositories)]


def _homes(rng: np.random.Generator, repositories: int, giant: int = 0) -> IntArray:
    """8 to 30 queries in each repository; the first has `giant` of them, if that is more than none."""
    sizes = rng.integers(LEAST_QUERIES, MOST_QUERIES + 1, size=repositories)
    if giant:
        sizes[0] = giant
    return np.repeat(np.arange(repositories), sizes)


def nested_differences(
    rng: np.random.Generator,
    repositories: int,
    replications: int,
    *,
    lean: float = 0.0,
    fixed: bool = False,
    icc: float = ICC,
    giant: int = 0,
) -> World:
    """Paired differences of queries in repositories: 45 % non-zero, spiky, a repository effect with ICC .1.

    With `lean` more of the spikes are positive, so the differences are skewed and their mean is not zero.
    `fixed` repositories are all there are: their effects are facts that cancel out over their queries, not draws.
    """
    home = _homes(rng, repositories, giant)
    shape = (len(home), replications)
    signs = np.where(rng.random(shape) < 0.5 + lean, 1.0, -1.0)
    share = icc / NONZERO  # two non-zero differences of a repository share their effect: ICC = NONZERO · share
    effect = rng.normal(0.0, np.sqrt((SPIKES**2).mean() * share / (1 - share)), size=(repositories, replications))
    if fixed:
        effect -= effect[home].mean(axis=0)
    raw = rng.choice(SPIKES, size=shape) * signs + effect[home]
    values = np.where(rng.random(shape) < NONZERO, raw, 0.0)
    return World(make_units(home), values, NONZERO * 2 * lean * float(SPIKES.mean()))


def measure_values(
    rng: np.random.Generator, kind: str, level: float, replications: int, *, queries: int = 0, repositories: int = 0
) -> World:
    """A 0/1 or nDCG-like measure: `queries` in one repository, or `repositories` of 8–30 queries with ICC .1."""
    home = np.zeros(queries, dtype=np.intp) if queries else _homes(rng, repositories)
    chance = np.full((1, replications), level)
    if repositories:
        strength = 1 / ICC - 1
        chance = rng.beta(level * strength, (1 - level) * strength, size=(repositories, replications))
    hit = rng.random((len(home), replications)) < chance[home]
    if kind == "hit":
        return World(make_units(home), hit.astype(float), level)
    rank = np.minimum(rng.geometric(0.55, size=hit.shape) - 1, 9)
    weights = np.array([0.55 * 0.45**i for i in range(9)] + [0.45**9])
    return World(make_units(home), np.where(hit, GAINS[rank], 0.0), level * float(weights @ GAINS))
