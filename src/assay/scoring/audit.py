"""Two alarms over whole runs: ties that decide a score (rule 9), and variants that answer the same (rule 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.scoring.evaluate import tabulate
from assay.scoring.grid import IntArray
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
    small = _restrict(run, tied, _shown(base, measures))
    groups, forms = _groups(small), frozenset(unit.form for unit in base.units)
    base_means = _means(base, base.values)
    columns = [index for index, unit in enumerate(base.units) if unit.intent in tied]
    draws = np.repeat(base_means[None], shuffles, axis=0)
    values = base.values.copy()
    for draw in range(shuffles if tied else 0):
        values[..., columns] = tabulate(_shuffled(small, groups, rng), measures, forms).values
        draws[draw] = _means(base, values)
    rates = [_rate(engine) for engine in run.engines]
    return tuple(
        Ties(engine, measure, rates[e], float(base_means[e, m]), *_summary(draws[:, e, m]))
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


def _shown(base: Scores, measures: Sequence[Measure]) -> frozenset[tuple[str, str]]:
    """The intents and forms that a mean over headline units can see: all of them for a measure over phrasings."""
    every = any(measure.kind.phrasings for measure in measures)
    return frozenset((unit.intent, unit.form) for unit in base.units if unit.headline or every)


def _restrict(run: Run, intents: frozenset[str], shown: frozenset[tuple[str, str]]) -> Run:
    """Keep these intents only, and of their rankings those that are shown."""
    golds = tuple(
        replace(gold, queries=tuple(query for query in gold.queries if f"{gold.name}/{query.id}" in intents))
        for gold in run.suite.golds
    )
    kept = {(intent, form) for intent, form in shown if intent in intents}
    engines = tuple(
        replace(engine, rankings=tuple(r for r in engine.rankings if (f"{r.gold}/{r.query}", r.form) in kept))
        for engine in run.engines
    )
    return replace(run, suite=Suite(golds), engines=engines)


def _groups(run: Run) -> IntArray:
    """Number all hits of a run in one row; neighbours of one ranking with the same score have the same number."""
    numbers: list[int] = []
    group = 0
    for engine in run.engines:
        for ranking in engine.rankings:
            group += 1
            for before, hit in zip((None, *ranking.hits), ranking.hits, strict=False):
                group += before is None or hit.score is None or before.score != hit.score
                numbers.append(group)
    return np.array(numbers, dtype=np.int64)


def _shuffled(run: Run, groups: IntArray, rng: np.random.Generator) -> Run:
    """Put the hits of each group in a random order; one draw for the whole run, groups stay where they are."""
    order = iter(np.lexsort((rng.random(len(groups)), groups)).tolist())
    offset = 0
    engines = []
    for engine in run.engines:
        rankings = []
        for ranking in engine.rankings:
            places = [place - offset for place in islice(order, len(ranking.hits))]
            rankings.append(_reordered(ranking, places))
            offset += len(places)
        engines.append(replace(engine, rankings=tuple(rankings)))
    return replace(run, engines=tuple(engines))


def _reordered(ranking: Ranking, places: list[int]) -> Ranking:
    """Put hits in another order; token counts move with them."""
    whole = len(ranking.tokens) == len(places)
    tokens = tuple([ranking.tokens[place] for place in places]) if whole else ranking.tokens
    return replace(ranking, hits=tuple([ranking.hits[place] for place in places]), tokens=tokens)


def identical_rankings(run: Run) -> tuple[Twins, ...]:
    """List the pairs of engines whose answers are the same throughout: whatever tells them apart is not connected.

    Engines that answered nothing are no pair: there is nothing to tell them apart by.
    """
    names = [engine.name for engine in run.engines]
    rows = [row.tobytes() if row.any() else None for row in ranking_codes(run)]
    return tuple(
        Twins(names[first], names[second])
        for first, second in combinations(range(len(names)), 2)
        if rows[first] is not None and rows[first] == rows[second]
    )


def ranking_codes(run: Run) -> IntArray:
    """Number what each engine (row) answered to each question (column): equal numbers are equal hits in equal order.

    Scores play no part. 0 is no answer: a failure, nothing found, or not asked.
    """
    asked = {(r.gold, r.query, r.form): None for engine in run.engines for r in engine.rankings}
    column = {key: place for place, key in enumerate(asked)}
    known: dict[tuple[tuple[str, int | None, int | None], ...], int] = {(): 0}
    codes = np.zeros((len(run.engines), len(column)), dtype=np.intp)
    for engine, row in zip(run.engines, codes, strict=True):
        answered = [r for r in engine.rankings if r.status == Status.OK]
        spans = (tuple([(hit.path, hit.start, hit.end) for hit in r.hits]) for r in answered)
        row[[column[r.gold, r.query, r.form] for r in answered]] = [known.setdefault(one, len(known)) for one in spans]
    return codes
