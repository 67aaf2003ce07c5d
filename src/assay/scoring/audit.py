"""Two alarms over whole runs: ties that decide a score (rule 9), and variants that answer the same (rule 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.scoring.evaluate import tabulate
from assay.scoring.measure import Measure
from assay.types import EngineRun, Ranking, Run, Scores, Status, Suite

if TYPE_CHECKING:
    from assay.types import FloatArray

#: Shuffles of tied hits: rule 9's number.
SHUFFLES = 100


@dataclass(frozen=True, slots=True)
class Ties:
    """How far the order of equally scored hits moves an engine's mean over headline units."""

    engine: str
    measure: str
    rate: float  # share of the answered rankings in which two neighbours have the same score
    value: float  # in the order the engine gave
    low: float  # over the shuffles
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Twins:
    """Two engines that gave the same hits in the same order to everything."""

    first: str
    second: str


def ties(
    run: Run, measures: Sequence[Measure], rng: np.random.Generator, *, shuffles: int = SHUFFLES
) -> tuple[Ties, ...]:
    """Shuffle hits of equal score and score again; hits below the depth the engine was asked for cannot be seen."""
    base = tabulate(run, measures)
    tied = _tied_intents(run)
    small = _restrict(run, tied)
    forms = frozenset(unit.form for unit in base.units)
    base_means = _means(base, base.values)
    columns = [index for index, unit in enumerate(base.units) if unit.intent in tied]
    draws = np.repeat(base_means[None], shuffles, axis=0)
    values = base.values.copy()
    for draw in range(shuffles if tied else 0):
        values[..., columns] = tabulate(_shuffled(small, rng), measures, forms).values
        draws[draw] = _means(base, values)
    rates = [_rate(engine) for engine in run.engines]
    return tuple(
        Ties(engine, measure, rates[e], base_means[e, m], *_summary(draws[:, e, m]))
        for e, engine in enumerate(base.engines)
        for m, measure in enumerate(base.measures)
    )


def _summary(draws: FloatArray) -> tuple[float, float, float]:
    """Least, mean and greatest."""
    return float(draws.min()), float(draws.mean()), float(draws.max())


def _means(scores: Scores, values: FloatArray) -> FloatArray:
    """Average over the headline units where a measure applies: engines × measures."""
    headline = np.array([unit.headline for unit in scores.units], dtype=np.bool_)
    shown = values[..., headline]
    applies = ~np.isnan(shown)
    total = np.where(applies, shown, 0.0).sum(axis=-1)
    means: FloatArray = np.where(applies.any(axis=-1), total, np.nan) / np.maximum(applies.sum(axis=-1), 1)
    return means


def _has_ties(ranking: Ranking) -> bool:
    """Tell whether two neighbours have the same score."""
    return any(a.score is not None and a.score == b.score for a, b in pairwise(ranking.hits))


def _rate(engine: EngineRun) -> float:
    """Share of the answered rankings that have ties."""
    answered = [ranking for ranking in engine.rankings if ranking.status == Status.OK]
    return sum(map(_has_ties, answered)) / max(len(answered), 1)


def _tied_intents(run: Run) -> frozenset[str]:
    """The intents for which any engine gave ties: the only ones that a shuffle can move."""
    rankings = (ranking for engine in run.engines for ranking in engine.rankings)
    return frozenset(f"{ranking.gold}/{ranking.query}" for ranking in rankings if _has_ties(ranking))


def _restrict(run: Run, intents: frozenset[str]) -> Run:
    """Keep these intents only."""
    golds = tuple(
        replace(gold, queries=tuple(query for query in gold.queries if f"{gold.name}/{query.id}" in intents))
        for gold in run.suite.golds
    )
    engines = tuple(
        replace(engine, rankings=tuple(r for r in engine.rankings if f"{r.gold}/{r.query}" in intents))
        for engine in run.engines
    )
    return replace(run, suite=Suite(golds), engines=engines)


def _shuffled(run: Run, rng: np.random.Generator) -> Run:
    """Put every group of tied hits in a random order."""
    engines = tuple(
        replace(engine, rankings=tuple(_shuffle(ranking, rng) for ranking in engine.rankings)) for engine in run.engines
    )
    return replace(run, engines=engines)


def _shuffle(ranking: Ranking, rng: np.random.Generator) -> Ranking:
    """Shuffle inside each run of equal scores; token counts move with their hits."""
    if not _has_ties(ranking):
        return ranking
    order: list[int] = []
    for score, group in groupby(range(len(ranking.hits)), key=lambda index: ranking.hits[index].score):
        members = list(group)
        order += members if score is None else [members[place] for place in rng.permutation(len(members))]
    tokens = tuple(ranking.tokens[index] for index in order) if len(ranking.tokens) == len(order) else ranking.tokens
    return replace(ranking, hits=tuple(ranking.hits[index] for index in order), tokens=tokens)


def identical_rankings(run: Run) -> tuple[Twins, ...]:
    """List the pairs of engines whose answers are the same throughout: whatever tells them apart is not connected.

    Engines that answered nothing are no pair: there is nothing to tell them apart by.
    """
    answers = {engine.name: _answers(engine) for engine in run.engines}
    return tuple(
        Twins(first, second)
        for first, second in combinations(answers, 2)
        if answers[first] and answers[first] == answers[second]
    )


def _answers(engine: EngineRun) -> dict[tuple[str, str, str], tuple[object, ...]]:
    """What was returned where, without scores; only answers that hold something."""
    return {
        (ranking.gold, ranking.query, ranking.form): tuple(hit.span for hit in ranking.hits)
        for ranking in engine.rankings
        if ranking.status == Status.OK and ranking.hits
    }
