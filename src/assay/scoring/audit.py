"""Two alarms over whole runs: ties that decide a score (rule 9), and variants that answer the same (rule 7)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.scoring.grid import IntArray
from assay.scoring.joining import restrict_suite
from assay.scoring.measure import Measure
from assay.scoring.score import Scorer, as_scorer, tabulate
from assay.types import EngineRun, Ranking, Run, Scores, Status

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
class IdenticalEngines:
    """Two engines that gave the same hits in the same order to everything."""

    first: str
    second: str


def ties(
    run: Run | Scorer, measures: Sequence[Measure], rng: np.random.Generator, *, shuffles: int = SHUFFLES
) -> tuple[Ties, ...]:
    """Shuffle hits of equal score and score again; hits below the depth the engine was asked for cannot be seen.

    Only answers that have ties are scored again, each order of theirs once; every other one stays as it is.
    """
    scorer = as_scorer(run)
    base, run = scorer.tabulate(measures), scorer.run
    base_means = _means(base, base.values)
    draws = np.repeat(base_means[None], shuffles, axis=0)
    tied = frozenset(id(ranking) for engine in run.engines for ranking in engine.rankings if _has_ties(ranking))
    shuffled = _shuffle(run, tied, base, measures, rng, shuffles)
    values = base.values.copy()
    for draw in range(shuffles if shuffled else 0):
        for part in shuffled:
            values[part.engine][:, part.columns] = part.drawn(draw)
        draws[draw] = _means(base, values)
    rates = [_rate(engine, tied) for engine in run.engines]
    return tuple(
        Ties(engine, measure, rates[e], float(base_means[e, m]), *_summary(draws[:, e, m]))
        for e, engine in enumerate(base.engines)
        for m, measure in enumerate(base.measures)
    )


def _summary(draws: FloatArray) -> tuple[float, float, float]:
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
    scores = [hit.score for hit in ranking.hits]
    if len(set(scores)) == len(scores):  # most have none, and this tells it at once
        return False
    return any(a is not None and a == b for a, b in pairwise(scores))


def _rate(engine: EngineRun, tied: Collection[int]) -> float:
    answered = [ranking for ranking in engine.rankings if ranking.status == Status.OK]
    return sum(id(ranking) in tied for ranking in answered) / max(len(answered), 1)


def _tied_intents(run: Run, tied: Collection[int]) -> frozenset[str]:
    rankings = (ranking for engine in run.engines for ranking in engine.rankings)
    return frozenset(f"{ranking.gold}/{ranking.query}" for ranking in rankings if id(ranking) in tied)


def _shown(base: Scores, measures: Sequence[Measure]) -> frozenset[tuple[str, str]]:
    every = any(measure.kind.phrasings for measure in measures)
    return frozenset((unit.intent, unit.form) for unit in base.units if unit.headline or every)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What an engine answered to one intent: the rankings of it that are shown."""

    engine: int
    intent: str
    rankings: tuple[Ranking, ...]
    lots: tuple[range, ...]  # which of all that are drawn are those of the hits of each ranking

    @property
    def size(self) -> int:
        return sum(map(len, self.lots))


@dataclass(frozen=True, slots=True)
class _Shuffled:
    """The values that the tied answers of one engine can take, and which of them they take in each draw."""

    engine: int
    columns: IntArray  # the units that they stand at
    values: FloatArray  # orders × measures × columns
    orders: IntArray  # draws × columns

    def drawn(self, draw: int) -> FloatArray:
        """Give the values of one draw: measures × columns."""
        values: FloatArray = self.values[self.orders[draw], :, np.arange(len(self.columns))].T
        return values


def _shuffle(
    run: Run,
    marked: Collection[int],
    base: Scores,
    measures: Sequence[Measure],
    rng: np.random.Generator,
    shuffles: int,
) -> list[_Shuffled]:
    answers = _answers(run, _tied_intents(run, marked), _shown(base, measures))
    tied = [answer for answer in answers if any(id(ranking) in marked for ranking in answer.rankings)]
    orders, taken = _draw(tied, sum(answer.size for answer in answers), rng, shuffles if tied else 0)
    found = []
    for engine, places in groupby(range(len(tied)), key=lambda place: tied[place].engine):
        mine = list(places)
        scores = _score_orders(run, [tied[i] for i in mine], [orders[i] for i in mine], measures, base)
        found.append(_Shuffled(engine, *_placed(scores, base, {tied[i].intent: taken[i] for i in mine})))
    return found


def _answers(run: Run, intents: frozenset[str], shown: frozenset[tuple[str, str]]) -> list[_Answer]:
    found: list[_Answer] = []
    end = 0
    for place, engine in enumerate(run.engines):
        kept: dict[str, list[tuple[Ranking, range]]] = {}
        for ranking in engine.rankings:
            intent = f"{ranking.gold}/{ranking.query}"
            if intent in intents and (intent, ranking.form) in shown:
                start, end = end, end + len(ranking.hits)
                kept.setdefault(intent, []).append((ranking, range(start, end)))
        found += [_Answer(place, intent, *zip(*parts, strict=True)) for intent, parts in kept.items()]
    return found


def _draw(
    tied: Sequence[_Answer], size: int, rng: np.random.Generator, shuffles: int
) -> tuple[list[list[IntArray]], list[list[int]]]:
    """Draw how the hits of each answer stand: its different orders, and which of them it has in each draw.

    A number is drawn for every hit, tied or not, so that the lots of one engine do not depend on another's ties.
    """
    sizes = np.array([answer.size for answer in tied], dtype=np.int64)
    ends = np.cumsum(sizes)
    offsets = np.repeat(ends - sizes, sizes)
    mine = [lot for answer in tied for lots in answer.lots for lot in lots]
    groups = _groups(tied)
    known: list[dict[bytes, int]] = [{} for _ in tied]
    taken: list[list[int]] = [[] for _ in tied]
    cuts = list(pairwise([0, *(ends * offsets.itemsize).tolist()]))
    for _ in range(shuffles):
        drawn = (np.lexsort((rng.random(size)[mine], groups)) - offsets).tobytes()
        for (start, end), seen, took in zip(cuts, known, taken, strict=True):
            took.append(seen.setdefault(drawn[start:end], len(seen)))
    return [[np.frombuffer(order, dtype=np.int64) for order in seen] for seen in known], taken


def _groups(answers: Sequence[_Answer]) -> IntArray:
    numbers: list[int] = []
    group = 0
    for answer in answers:
        for ranking in answer.rankings:
            group += 1
            for before, hit in zip((None, *ranking.hits), ranking.hits, strict=False):
                group += before is None or hit.score is None or before.score != hit.score
                numbers.append(group)
    return np.array(numbers, dtype=np.int64)


def _score_orders(
    run: Run,
    answers: Sequence[_Answer],
    orders: Sequence[Sequence[IntArray]],
    measures: Sequence[Measure],
    base: Scores,
) -> Scores:
    engine = run.engines[answers[0].engine]
    most = max(map(len, orders))
    rankings: list[list[Ranking]] = [[] for _ in range(most)]
    for answer, known in zip(answers, orders, strict=True):
        for at, order in enumerate(known):
            rankings[at].extend(_reordered(answer.rankings, order.tolist()))
    made = tuple(replace(engine, name=str(at), rankings=tuple(found)) for at, found in enumerate(rankings))
    suite = restrict_suite(run.suite, {answer.intent for answer in answers})
    return tabulate(replace(run, suite=suite, engines=made), measures, frozenset(unit.form for unit in base.units))


def _placed(scores: Scores, base: Scores, taken: Mapping[str, Sequence[int]]) -> tuple[IntArray, FloatArray, IntArray]:
    column = {(unit.gold, unit.query, unit.form): place for place, unit in enumerate(base.units)}
    columns = np.array([column[unit.gold, unit.query, unit.form] for unit in scores.units], dtype=np.int64)
    orders = np.array([taken[unit.intent] for unit in scores.units], dtype=np.int64).T
    return columns, scores.values, orders


def _reordered(rankings: Sequence[Ranking], order: Sequence[int]) -> Iterator[Ranking]:
    start = 0
    for ranking in rankings:
        end = start + len(ranking.hits)
        places = [place - start for place in order[start:end]]
        whole = len(ranking.tokens) == len(places)
        tokens = tuple([ranking.tokens[place] for place in places]) if whole else ranking.tokens
        yield replace(ranking, hits=tuple([ranking.hits[place] for place in places]), tokens=tokens)
        start = end


def identical_rankings(run: Run | Scorer) -> tuple[IdenticalEngines, ...]:
    """List the pairs of engines whose answers are the same throughout: whatever tells them apart is not connected.

    Engines that answered nothing are no pair: there is nothing to tell them apart by.
    """
    names = [engine.name for engine in (run.run if isinstance(run, Scorer) else run).engines]
    rows = [row.tobytes() if row.any() else None for row in ranking_codes(run)]
    return tuple(
        IdenticalEngines(names[first], names[second])
        for first, second in combinations(range(len(names)), 2)
        if rows[first] is not None and rows[first] == rows[second]
    )


def ranking_codes(run: Run | Scorer) -> IntArray:
    """Number what each engine (row) answered to each question (column): equal numbers are equal hits in equal order.

    Scores play no part. 0 is no answer: a failure, nothing found, or not asked.
    """
    return run.codes(_numbered) if isinstance(run, Scorer) else _numbered(run)


def _numbered(run: Run) -> IntArray:
    asked = {(r.gold, r.query, r.form): None for engine in run.engines for r in engine.rankings}
    column = {key: place for place, key in enumerate(asked)}
    known: dict[tuple[tuple[str, int | None, int | None], ...], int] = {(): 0}
    codes = np.zeros((len(run.engines), len(column)), dtype=np.intp)
    for engine, row in zip(run.engines, codes, strict=True):
        answered = [r for r in engine.rankings if r.status == Status.OK]
        spans = (tuple([(hit.path, hit.start, hit.end) for hit in r.hits]) for r in answered)
        row[[column[r.gold, r.query, r.form] for r in answered]] = [known.setdefault(one, len(known)) for one in spans]
    return codes
