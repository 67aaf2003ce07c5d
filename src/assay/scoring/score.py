from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from assay.errors import ConfigError, InputError, NotComparableError
from assay.scoring.grid import FloatArray, Grid, IntArray, SpanKey
from assay.scoring.match import PLACE
from assay.scoring.measures import Measure, parse_measure
from assay.types import EngineRun, GoldSet, Query, Run, Scores, Status, Suite, Target

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
        spans = (tuple(map(PLACE, r.hits)) for r in answered)
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


def join_runs(runs: Mapping[str, Run]) -> tuple[Run, int]:
    """Join named runs on the queries whose hash is the same in all of them.

    Return the run, and the number of queries of the first run that are missing or different in another.
    """
    if not runs:
        raise InputError("no runs given", hint="pass directories that `assay run` wrote")
    first, *others = runs.values()
    shared = {key for key, digest in first.hashes.items() if all(run.hashes.get(key) == digest for run in others)}
    if not shared:
        raise NotComparableError("the runs have no query in common", hint="use runs of the same gold set and revision")
    engines: dict[str, EngineRun] = {}
    for name, run in runs.items():
        for engine in run.engines:
            same = engines.get(engine.name)
            if same is None:
                engines[engine.name] = engine
            elif engine.role == "candidate" or _answers(same) != _answers(engine):
                other = f"{engine.name} ({name})"
                engines[other] = replace(engine, name=other)
    lines: dict[str, dict[str, tuple[int, ...]]] = {}
    for run in runs.values():
        for gold, files in run.lines.items():
            lines.setdefault(gold, {}).update(files)
    joined = replace(
        first,
        suite=restrict_suite(first.suite, shared),
        k=min(run.k for run in runs.values()),
        engines=tuple(_restrict_engine(engine, shared) for engine in engines.values()),
        lines=lines,
        hashes={key: digest for key, digest in first.hashes.items() if key in shared},
    )
    return joined, len(first.hashes) - len(shared)


def _answers(engine: EngineRun) -> list[object]:
    return [(r.gold, r.query, r.form, r.hits) for r in engine.rankings]


def restrict_suite(suite: Suite, keys: set[str]) -> Suite:
    golds = [
        replace(gold, queries=tuple(query for query in gold.queries if f"{gold.name}/{query.id}" in keys))
        for gold in suite.golds
    ]
    return Suite(tuple(gold for gold in golds if gold.queries))


def restrict_run(run: Run, suite: Suite) -> Run:
    keys = {f"{gold.name}/{query.id}" for gold in suite.golds for query in gold.queries}
    return replace(run, suite=suite, engines=tuple(_restrict_engine(engine, keys) for engine in run.engines))


def _restrict_engine(engine: EngineRun, keys: set[str]) -> EngineRun:
    return replace(engine, rankings=tuple(r for r in engine.rankings if f"{r.gold}/{r.query}" in keys))


@dataclass(frozen=True, slots=True)
class Unpooled:
    run: Run
    labels: int  # removed targets and adversaries
    queries: tuple[str, ...]  # without a primary target left, as `gold/query`
    engines: tuple[str, ...]  # whose results were labeled


def without_pooled(run: Run) -> Unpooled:
    """Remove pooled labels, and queries without a primary target left."""
    removed = 0
    gone: list[str] = []
    engines: set[str] = set()
    golds: list[GoldSet] = []
    for gold in run.suite.golds:
        queries = []
        for query in gold.queries:
            engines |= {engine for label in query.labels for engine in label.shown_by}
            left = _remove_pooled(query)
            removed += len(query.targets) + len(query.adversaries) - len(left.targets) - len(left.adversaries)
            if set(query.primaries).intersection(left.targets):
                queries.append(left)
            else:
                gone.append(f"{gold.name}/{query.id}")
        golds += [replace(gold, queries=tuple(queries))] if queries else []
    return Unpooled(restrict_run(run, Suite(tuple(golds))), removed, tuple(gone), tuple(sorted(engines)))


def _remove_pooled(query: Query) -> Query:
    there = {target.anchor for target in (*query.targets, *(adversary.target for adversary in query.adversaries))}
    shown = {label.target for label in query.labels if label.shown_by}
    moved = {_without_lines(anchor) for anchor in shown - there}  # re-anchored within the file by content

    def is_pooled(target: Target) -> bool:
        return target.anchor in shown or _without_lines(target.anchor) in moved

    return replace(
        query,
        targets=tuple(target for target in query.targets if not is_pooled(target)),
        adversaries=tuple(adversary for adversary in query.adversaries if not is_pooled(adversary.target)),
    )


def _without_lines(anchor: str) -> str:
    location, mark, digest = anchor.rpartition("#")
    return f"{location.rpartition(':')[0]}#{digest}" if mark else anchor
