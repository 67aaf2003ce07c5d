"""Score runs from their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from assay.errors import ConfigError
from assay.scoring.grid import FloatArray, Grid, IntArray, SpanKey
from assay.scoring.measures import Measure, parse_measure
from assay.types import Query, Run, Scores, Status, Suite

By = Literal["relationship", "strength"]


def score(run: Run | Scorer, measures: Sequence[Measure | str]) -> Scores:
    """Score a run: the worst value for failed queries, NaN where a measure does not apply."""
    parsed = [parse_measure(measure) if isinstance(measure, str) else measure for measure in measures]
    return as_scorer(run).tabulate(parsed)


class Scorer:
    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._values: dict[Measure, FloatArray] = {}

    @property
    def run(self) -> Run:
        return self.grid.run

    def tabulate(self, measures: Sequence[Measure]) -> Scores:
        listed = tuple(dict.fromkeys(measures))
        values = np.empty((self.grid.shape[0], len(listed), self.grid.shape[1]))
        for index, measure in enumerate(listed):
            if measure not in self._values:
                self._values[measure] = measure.evaluate(self.grid)
            values[:, index] = self._values[measure]
        engines = tuple(engine.name for engine in self.run.engines)
        return Scores(engines, tuple(map(repr, listed)), self.grid.units, values)

    @cached_property
    def codes(self) -> IntArray:
        return number_rankings(self.run)


def as_scorer(run: Run | Scorer) -> Scorer:
    return run if isinstance(run, Scorer) else Scorer(Grid(run))


def number_rankings(run: Run) -> IntArray:
    asked = {(r.gold, r.query, r.form): None for engine in run.engines for r in engine.rankings}
    column = {key: index for index, key in enumerate(asked)}
    known: dict[tuple[SpanKey, ...], int] = {(): 0}
    codes = np.zeros((len(run.engines), len(column)), dtype=np.intp)
    for engine, row in zip(run.engines, codes, strict=True):
        answered = [r for r in engine.rankings if r.status == Status.OK]
        spans = (tuple([(hit.path, hit.start, hit.end) for hit in r.hits]) for r in answered)
        columns = [column[r.gold, r.query, r.form] for r in answered]
        row[columns] = [known.setdefault(ranking, len(known)) for ranking in spans]
    return codes


@dataclass(frozen=True, slots=True)
class Slice:
    by: By
    label: str
    adversaries: int  # number in the suite
    scores: Scores  # measures of adversaries are NaN for queries without such an adversary


def breakdown(run: Run | Scorer, measures: Sequence[Measure], by: By) -> tuple[Slice, ...]:
    """Score once per relationship or strength, each time with its adversaries only."""
    scorer = as_scorer(run)
    queries = [query for gold in scorer.run.suite.golds for query in gold.queries]
    counts = Counter(str(getattr(adversary, by)) for query in queries for adversary in query.adversaries)

    def select(label: str) -> Scorer:
        return Scorer(scorer.grid.against(lambda adversary: getattr(adversary, by) == label))

    return tuple(Slice(by, label, count, select(label).tabulate(measures)) for label, count in sorted(counts.items()))


@dataclass(frozen=True, slots=True)
class EvaluationMean:
    engine: str
    measure: str
    n: int
    mean: float


def evaluation_measures(suite: Suite) -> tuple[Measure, ...]:
    """Return the measures named in evaluation layers, in file order."""
    named = [measure for gold in suite.golds for query in gold.queries for measure in _parse_named(gold.name, query)]
    return tuple(dict.fromkeys(named))


def evaluation_means(run: Run, scores: Scores) -> tuple[EvaluationMean, ...]:
    """Average each measure over the headline units whose query names the measure; omit measures that no query names."""
    naming = {
        f"{gold.name}/{query.id}": {repr(measure) for measure in _parse_named(gold.name, query)}
        for gold in run.suite.golds
        for query in gold.queries
    }
    means = []
    for column, measure in enumerate(scores.measures):
        chosen = [unit.headline and measure in naming.get(unit.intent, ()) for unit in scores.units]
        if any(chosen):
            values = scores.values[:, column, np.array(chosen)]
            for engine, row in zip(scores.engines, values, strict=True):
                applies = row[~np.isnan(row)]
                mean = float(applies.mean()) if len(applies) else float("nan")
                means.append(EvaluationMean(engine, measure, len(applies), mean))
    return tuple(means)


def _parse_named(gold: str, query: Query) -> list[Measure]:
    try:
        return [parse_measure(text) for text in query.measures]
    except ConfigError as error:
        message = f"{gold}/{query.id}: {error.message}"
        raise ConfigError(message, line=query.line, hint=error.hint) from error
