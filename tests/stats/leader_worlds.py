"""Equal engines whose best is chosen by looking, and queries that share targets: how often is a difference claimed?

`test_leader_worlds.py` bounds small counts in `make test` and the stated ones in `make soak`; `simulating.py` has the
documented rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusterTable, cluster_table, estimate
from assay.stats.config import DEFAULT
from assay.stats.distributions import t_quantile
from assay.stats.intervals import difference_interval
from assay.stats.paired import sign_flip
from assay.stats.records import ValueRange
from assay.stats.score_table import Partition, partition
from assay.stats.selection import near_leader
from assay.stats.verdicts import holm
from assay.types import Unit
from tests.stats.worlds import GAINS, NONZERO, SPIKES, make_units

if TYPE_CHECKING:
    from assay.types import FloatArray

ENGINES = (3, 5, 10, 20)
REPOSITORIES = (1, 6, 10, 20)
QUERIES = (100, 300)
ALIKE = (0.0, 0.7)  # correlation of the scores of two engines on one query
HOME = 0.1  # share of the variance that an engine has in common over a repository
LEVEL = DEFAULT.alpha
SEED = 18
BATCH = 100
#: Sets of a leader's world in `make test` and in the documentation; those of shared targets take a tenth of the time.
SMALL, STATED, STATED_SHARED = 300, 2000, 10_000
#: Columns whose t-test is far from the level that Holm asks for are not tested by sign flips.
_FILTER = 20.0


@dataclass(frozen=True, slots=True)
class Contest:
    """Equal engines on queries of some repositories."""

    engines: int
    repositories: int
    queries: int
    alike: float


@dataclass(frozen=True, slots=True)
class Claims:
    """Shares of the sets in which a difference of equal engines is claimed."""

    runner_up: float  # the leader is better than the runner-up, by Holm over all pairs
    anyone: float  # ... than any engine
    noise: float  # the diagnostic "within noise" sets any engine below the leader
    challenger: float  # the best rival differs from the baseline, by Holm over the family


def contests() -> Iterator[Contest]:
    """Yield every setting."""
    for engines, repositories, queries, alike in product(ENGINES, REPOSITORIES, QUERIES, ALIKE):
        yield Contest(engines, repositories, queries, alike)


def simulate(contest: Contest, sets: int, resamples: int = DEFAULT.resamples) -> Claims:
    """Draw sets of equal engines and count the claims."""
    units = make_units(np.arange(contest.queries) % contest.repositories)
    parts = partition(units)
    found: list[list[bool]] = []
    for batch in range(math.ceil(sets / BATCH)):
        rng = np.random.default_rng([SEED, *(ord(c) for c in repr(contest)), batch])
        values = draw_values(contest, rng, min(BATCH, sets))
        found += count_claims(values, parts, rng, resamples)
    return Claims(*np.mean(found[:sets], axis=0).tolist())


def draw_values(contest: Contest, rng: np.random.Generator, sets: int) -> FloatArray:
    """Draw nDCG-like values, sets × engines × queries, that have the same distribution for every engine."""
    shape = (sets, contest.engines, contest.queries)
    home = HOME if contest.repositories > 1 else 0.0
    latent = math.sqrt(contest.alike) * rng.normal(size=(sets, 1, contest.queries))
    effect = rng.normal(size=(sets, contest.engines, contest.repositories))
    rest = 1.0 - contest.alike - (1.0 - contest.alike) * home
    latent = (
        latent
        + math.sqrt((1.0 - contest.alike) * home)
        * np.tile(effect, math.ceil(contest.queries / contest.repositories))[:, :, : contest.queries]
    )
    latent += math.sqrt(rest) * rng.normal(size=shape)
    levels = np.concatenate([[0.0], GAINS[::-1]])
    cuts = [NormalDist().inv_cdf(p) for p in np.linspace(0.3, 0.65, len(GAINS))]  # 30 % not found, 35 % first
    return np.asarray(levels[np.searchsorted(cuts, latent)])


def count_claims(values: FloatArray, parts: Partition, rng: np.random.Generator, resamples: int) -> list[list[bool]]:
    """Return, set by set, whether each kind of claim is made."""
    sets, engines, _ = values.shape
    pairs = list(combinations(range(engines), 2))
    first, second = (np.array([pair[at] for pair in pairs]) for at in (0, 1))
    table = cluster_table((values[:, first] - values[:, second]).reshape(sets * len(pairs), -1).T, parts)
    p = _p_values(table, len(pairs), rng, resamples).reshape(sets, len(pairs))
    base = np.array([0 in pair for pair in pairs])
    against = p[:, base]
    if engines - 1 < len(pairs):  # the smaller family has a higher level, so other columns are tested
        small = ClusterTable(*_columns(table, np.tile(base, sets)))
        against = _p_values(small, engines - 1, rng, resamples).reshape(sets, engines - 1)
    found = []
    for at in range(sets):
        order = np.argsort(-values[at].mean(axis=1), kind="stable")
        decided = {pairs[i] for i, adjusted in enumerate(holm(p[at].tolist())) if adjusted <= LEVEL}
        beaten = [other for other in order[1:] if tuple(sorted((int(order[0]), int(other)))) in decided]
        challenger = int(order[0] or order[1]) - 1
        found.append(
            [
                int(order[1]) in beaten,
                bool(beaten),
                bool(near_leader(values[at], parts).decided.any()),
                holm(against[at].tolist())[challenger] <= LEVEL,
            ]
        )
    return found


def _p_values(table: ClusterTable, family: int, rng: np.random.Generator, resamples: int) -> FloatArray:
    """Return sign-flip p-values of the columns that Holm could reject; 1 for the others."""
    p = np.ones(table.sums.shape[1])
    found = estimate(table)
    level = min(0.5, _FILTER * LEVEL / family)
    near = np.abs(found.mean) >= t_quantile(1.0 - level / 2.0, found.df) * found.se
    if near.any():
        tested = sign_flip(ClusterTable(*_columns(table, near)), rng, resamples=resamples)
        p[near] = 1.0 if tested is None else tested
    return p


def _columns(table: ClusterTable, kept: np.ndarray) -> tuple[FloatArray, FloatArray, tuple[slice, ...], FloatArray]:
    return table.sums[:, kept], table.sizes, table.strata, table.plain_se[kept]


@dataclass(frozen=True, slots=True)
class SharedWorld:
    """Queries of one repository that share targets, with differences that are correlated through the target."""

    about: str
    targets: Sequence[frozenset[int]]  # of each query
    correlation: float  # of two differences that share all of their targets


def shared_worlds() -> Iterator[SharedWorld]:
    """Yield the settings: pairs of phrasings, groups of unequal size, queries with some targets in common."""
    pairs = [frozenset({at // 2}) for at in range(80)]
    uneven = [frozenset({target}) for target, size in enumerate([1, 1, 2, 3, 5] * 8) for _ in range(size)]
    partly = [frozenset(kept) for at in range(30) for kept in ({2 * at}, {2 * at, 2 * at + 1}, {2 * at + 1})]
    for correlation in (0.0, 0.3, 0.6):
        yield SharedWorld("two queries for each of 40 targets", pairs, correlation)
        yield SharedWorld("one to five queries for each of 40 targets", uneven, correlation)
        yield SharedWorld("two targets in three queries, 30 times", partly, correlation)


def simulate_shared(world: SharedWorld, sets: int, resamples: int = 2000) -> Mapping[str, float]:
    """Return type I error and coverage with every query as a unit, and with shared targets as one."""
    units = named_units(world.targets)
    figures: dict[str, list[float]] = {}
    for batch in range(math.ceil(sets / BATCH)):
        rng = np.random.default_rng([SEED, len(world.targets), batch])
        values = _differences(world, rng)
        for name, chosen in (("apart", [replace(unit, shared="") for unit in units]), ("together", units)):
            table = cluster_table(values, partition(chosen))
            p, ends = sign_flip(table, rng, resamples=resamples), difference_interval(estimate(table), ValueRange())
            assert p is not None
            figures.setdefault(f"type I {name}", []).append(float(np.mean(p <= LEVEL)))
            figures.setdefault(f"coverage {name}", []).append(float(np.mean((ends.low <= 0.0) & (ends.high >= 0.0))))
    return {name: float(np.mean(shares)) for name, shares in figures.items()}


def named_units(targets: Sequence[frozenset[int]]) -> list[Unit]:
    """Return units that are grouped by the rule of `assay.score`."""
    from assay.scoring import score
    from assay.types import CorpusSpec, EngineRun, GoldSet, Query, Run, Span, Suite, Target

    queries = tuple(
        Query(f"q{at}", {"human": "?"}, tuple(Target(Span(f"{key}.py")) for key in sorted(kept)))
        for at, kept in enumerate(targets)
    )
    run = Run(Suite((GoldSet("g", CorpusSpec("path", "r"), queries),)), 10, (EngineRun("e", ()),))
    return list(score(run, ["RR@10"]).units)


def _differences(world: SharedWorld, rng: np.random.Generator) -> FloatArray:
    """Draw spiky differences, queries × sets, that follow the effects of the targets."""
    count = 1 + max(max(kept) for kept in world.targets)
    weights = np.zeros((len(world.targets), count))
    for at, kept in enumerate(world.targets):
        weights[at, sorted(kept)] = 1.0 / math.sqrt(len(kept))
    effect = weights @ rng.normal(size=(count, BATCH))
    latent = math.sqrt(world.correlation) * effect + math.sqrt(1 - world.correlation) * rng.normal(
        size=(len(world.targets), BATCH)
    )
    levels = np.concatenate([-SPIKES, [0.0], SPIKES[::-1]])
    below = np.linspace(0.0, NONZERO / 2, len(SPIKES) + 1)[1:]
    cuts = [NormalDist().inv_cdf(p) for p in (*below, *(1.0 - below[::-1]))]
    return np.asarray(levels[np.searchsorted(cuts, latent)])
