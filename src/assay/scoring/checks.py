from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, pairwise
from typing import NamedTuple

import numpy as np

from assay.scoring.grid import FloatArray, Grid, IntArray
from assay.scoring.measures import Measure
from assay.scoring.score import Scorer, as_scorer, number_rankings, restrict_suite
from assay.types import Ranking, Run, Scores, Status

#: Number of shuffles of tied hits.
SHUFFLES = 100


@dataclass(frozen=True, slots=True)
class Ties:
    """The effect of the order of tied hits on an engine's mean over headline units."""

    engine: str
    measure: str
    rate: float  # share of the successful rankings in which two adjacent hits have the same score
    value: float  # in the engine's order
    low: float  # over the shuffles
    mean: float
    high: float


def ties(
    run: Run | Scorer, measures: Sequence[Measure], rng: np.random.Generator, *, shuffles: int = SHUFFLES
) -> tuple[Ties, ...]:
    """Rescore with tied hits in random order, and return the range of each engine's means.

    Only queries with ties are rescored, each distinct order once.
    """
    scorer = as_scorer(run)
    base, run = scorer.tabulate(measures), scorer.run
    base_means = _headline_means(base, base.values)
    draws = np.repeat(base_means[None], shuffles, axis=0)
    tied = set()
    for ranking in (ranking for engine in run.engines for ranking in engine.rankings):
        scores = [hit.score for hit in ranking.hits]
        # distinct scores are the common case, checked first because it is fast
        if len(set(scores)) < len(scores) and any(a is not None and a == b for a, b in pairwise(scores)):
            tied.add(id(ranking))
    shuffled = list(_shuffle(run, tied, base, measures, rng, shuffles))
    values = base.values.copy()
    for draw in range(shuffles if shuffled else 0):
        for engine, columns, by_order, orders in shuffled:
            values[engine][:, columns] = by_order[orders[draw], :, np.arange(len(columns))].T
        draws[draw] = _headline_means(base, values)
    summaries = []
    for e, engine_run in enumerate(run.engines):
        answered = [ranking for ranking in engine_run.rankings if ranking.status == Status.OK]
        rate = sum(id(ranking) in tied for ranking in answered) / max(len(answered), 1)
        for m, measure in enumerate(base.measures):
            drawn = draws[:, e, m]
            summary = float(drawn.min()), float(drawn.mean()), float(drawn.max())
            summaries.append(Ties(engine_run.name, measure, rate, float(base_means[e, m]), *summary))
    return tuple(summaries)


def _headline_means(scores: Scores, values: FloatArray) -> FloatArray:
    headline = np.array([unit.headline for unit in scores.units], dtype=np.bool_)
    shown = values[..., headline]
    applies = ~np.isnan(shown)
    total = np.where(applies, shown, 0.0).sum(axis=-1)
    return np.asarray(np.where(applies.any(axis=-1), total, np.nan) / np.maximum(applies.sum(axis=-1), 1))


class _Answer(NamedTuple):
    engine: int
    intent: str
    rankings: tuple[Ranking, ...]
    numbers: list[int]  # positions of the hits among all random numbers of a draw


def _shuffle(
    run: Run,
    marked: Collection[int],
    base: Scores,
    measures: Sequence[Measure],
    rng: np.random.Generator,
    shuffles: int,
) -> Iterator[tuple[int, IntArray, FloatArray, IntArray]]:
    """Yield engine, columns with ties, values (orders × measures × columns), and the order of each draw × column."""
    answers = _collect_answers(run, marked, base, measures)
    tied = [answer for answer in answers if any(id(ranking) in marked for ranking in answer.rankings)]
    size = sum(len(answer.numbers) for answer in answers)
    orders, order_by_draw = _draw_orders(tied, size, rng, shuffles if tied else 0)
    column = {(unit.gold, unit.query, unit.form): index for index, unit in enumerate(base.units)}
    forms = frozenset(unit.form for unit in base.units)
    for engine, indexes in groupby(range(len(tied)), key=lambda index: tied[index].engine):
        members = list(indexes)
        reordered = _reorder(run, [tied[i] for i in members], [orders[i] for i in members])
        scores = Scorer(Grid(reordered, forms)).tabulate(measures)
        by_intent = {tied[i].intent: order_by_draw[i] for i in members}
        columns = np.array([column[unit.gold, unit.query, unit.form] for unit in scores.units], dtype=np.int64)
        drawn = np.array([by_intent[unit.intent] for unit in scores.units], dtype=np.int64).T
        yield engine, columns, scores.values, drawn


def _collect_answers(run: Run, marked: Collection[int], base: Scores, measures: Sequence[Measure]) -> list[_Answer]:
    rankings = (ranking for engine in run.engines for ranking in engine.rankings)
    intents = {f"{ranking.gold}/{ranking.query}" for ranking in rankings if id(ranking) in marked}
    every = any(measure.kind.phrasings for measure in measures)
    scored = {(unit.intent, unit.form) for unit in base.units if unit.headline or every}
    answers: list[_Answer] = []
    end = 0
    for index, engine in enumerate(run.engines):
        by_intent: dict[str, _Answer] = {}
        for ranking in engine.rankings:
            intent = f"{ranking.gold}/{ranking.query}"
            if intent in intents and (intent, ranking.form) in scored:
                start, end = end, end + len(ranking.hits)
                known = by_intent.get(intent, _Answer(index, intent, (), []))
                by_intent[intent] = known._replace(
                    rankings=(*known.rankings, ranking), numbers=[*known.numbers, *range(start, end)]
                )
        answers += by_intent.values()
    return answers


def _draw_orders(
    tied: Sequence[_Answer], size: int, rng: np.random.Generator, shuffles: int
) -> tuple[list[list[IntArray]], list[list[int]]]:
    """Return the distinct orders of each answer's hits, and the index of the order used in each draw.

    A draw has one random number for every hit of a query with ties; tied hits are sorted by their numbers.
    """
    groups: list[int] = []
    for ranking in (ranking for answer in tied for ranking in answer.rankings):
        group = groups[-1] if groups else 0
        for before, hit in zip((None, *ranking.hits), ranking.hits, strict=False):
            group += before is None or hit.score is None or before.score != hit.score
            groups.append(group)
    sizes = np.array([len(answer.numbers) for answer in tied], dtype=np.int64)
    ends = np.cumsum(sizes)
    offsets = np.repeat(ends - sizes, sizes)
    numbers = [number for answer in tied for number in answer.numbers]
    known: list[dict[bytes, int]] = [{} for _ in tied]
    by_draw: list[list[int]] = [[] for _ in tied]
    cuts = list(pairwise([0, *(ends * offsets.itemsize).tolist()]))
    for _ in range(shuffles):
        drawn = (np.lexsort((rng.random(size)[numbers], np.array(groups))) - offsets).tobytes()
        for (start, end), distinct, drawn_orders in zip(cuts, known, by_draw, strict=True):
            drawn_orders.append(distinct.setdefault(drawn[start:end], len(distinct)))
    return [[np.frombuffer(order, dtype=np.int64) for order in distinct] for distinct in known], by_draw


def _reorder(run: Run, answers: Sequence[_Answer], orders: Sequence[Sequence[IntArray]]) -> Run:
    """Return a run whose n-th engine has the n-th order of each answer that has one; all answers are of one engine."""
    rankings: list[list[Ranking]] = [[] for _ in range(max(map(len, orders)))]
    for answer, known in zip(answers, orders, strict=True):
        for number, order in enumerate(known):
            start = 0
            for ranking in answer.rankings:
                end = start + len(ranking.hits)
                positions = [position - start for position in order[start:end].tolist()]
                complete = len(ranking.tokens) == len(positions)
                tokens = tuple([ranking.tokens[position] for position in positions]) if complete else ranking.tokens
                hits = tuple([ranking.hits[position] for position in positions])
                rankings[number].append(replace(ranking, hits=hits, tokens=tokens))
                start = end
    engine = run.engines[answers[0].engine]
    engines = tuple(replace(engine, name=str(at), rankings=tuple(own)) for at, own in enumerate(rankings))
    return replace(run, suite=restrict_suite(run.suite, {answer.intent for answer in answers}), engines=engines)


@dataclass(frozen=True, slots=True)
class IdenticalEngines:
    first: str
    second: str


def identical_rankings(run: Run | Scorer) -> tuple[IdenticalEngines, ...]:
    """Return the pairs of engines with identical rankings, a sign that a changed setting has no effect.

    Engines without hits are not compared.
    """
    names = [engine.name for engine in (run.run if isinstance(run, Scorer) else run).engines]
    rows = [row.tobytes() if row.any() else None for row in ranking_codes(run)]
    return tuple(
        IdenticalEngines(names[first], names[second])
        for first, second in combinations(range(len(names)), 2)
        if rows[first] is not None and rows[first] == rows[second]
    )


def ranking_codes(run: Run | Scorer) -> IntArray:
    """Number the rankings by engine (row) and phrasing (column); equal hits in equal order have the same number.

    Hits with the same path and lines are equal. 0 is a failure, an empty ranking or a phrasing that was not run.
    """
    return run.codes if isinstance(run, Scorer) else number_rankings(run)
