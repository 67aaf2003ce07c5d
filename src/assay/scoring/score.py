"""How good is each ranking of a run? Values by engine × measure × unit, from records alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import ConfigError
from assay.scoring.evaluate import Scorer, as_scorer
from assay.scoring.joining import restrict_run
from assay.scoring.measure import Measure
from assay.scoring.measures import parse_measure
from assay.types import Query, Run, Scores, Suite, Target


@dataclass(frozen=True, slots=True)
class EvaluationMean:
    """An engine's mean over the queries whose evaluation layer names the measure."""

    engine: str
    measure: str
    n: int
    mean: float


def as_measure(measure: Measure | str) -> Measure:
    """Read a measure that was given by name."""
    return measure if isinstance(measure, Measure) else parse_measure(measure)


def score(run: Run | Scorer, measures: Sequence[Measure | str]) -> Scores:
    """Score a run. A failed or missing answer takes the worst value; NaN says that the measure does not apply."""
    return as_scorer(run).tabulate([as_measure(measure) for measure in measures])


def evaluation_measures(suite: Suite) -> tuple[Measure, ...]:
    """List the measures that evaluation layers name, in the order they are met."""
    named = [measure for gold in suite.golds for query in gold.queries for measure in _named(gold.name, query)]
    return tuple(dict.fromkeys(named))


def evaluation_means(run: Run, scores: Scores) -> tuple[EvaluationMean, ...]:
    """Average each measure over the headline units whose query names it; a measure that no query names has no row."""
    naming = {
        f"{gold.name}/{query.id}": {repr(measure) for measure in _named(gold.name, query)}
        for gold in run.suite.golds
        for query in gold.queries
    }
    means = []
    for column, measure in enumerate(scores.measures):
        chosen = [unit.headline and measure in naming.get(unit.intent, ()) for unit in scores.units]
        if any(chosen):
            values = scores.values[:, column, np.array(chosen)]
            means += [_mean(engine, measure, row) for engine, row in zip(scores.engines, values, strict=True)]
    return tuple(means)


def _mean(engine: str, measure: str, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> EvaluationMean:
    applies = values[~np.isnan(values)]
    return EvaluationMean(engine, measure, len(applies), float(applies.mean()) if len(applies) else float("nan"))


def _named(gold: str, query: Query) -> list[Measure]:
    try:
        return [parse_measure(text) for text in query.measures]
    except ConfigError as error:
        message = f"{gold}/{query.id}: {error.message}"
        raise ConfigError(message, line=query.line, hint=error.hint) from error


@dataclass(frozen=True, slots=True)
class Unpooled:
    """A run without the labels that engines brought up, and what went with them."""

    run: Run
    labels: int  # targets and adversaries that went
    queries: tuple[str, ...]  # that have no primary left, as `gold/query`
    engines: tuple[str, ...]  # that brought labels up


def without_pooled(run: Run) -> Unpooled:
    """Leave out every label that results brought up; a query whose primaries all go is left out."""
    marked = [label for gold in run.suite.golds for query in gold.queries for label in query.labels if label.shown_by]
    golds = [replace(gold, queries=tuple(map(_own, gold.queries))) for gold in run.suite.golds]
    gone = {
        f"{gold.name}/{query.id}": None
        for gold, left in zip(run.suite.golds, golds, strict=True)
        for query, own in zip(gold.queries, left.queries, strict=True)
        if not set(query.primaries).intersection(own.targets)
    }
    answerable = [
        replace(gold, queries=tuple(query for query in gold.queries if f"{gold.name}/{query.id}" not in gone))
        for gold in golds
    ]
    kept = Suite(tuple(gold for gold in answerable if gold.queries))
    engines = sorted({engine for label in marked for engine in label.shown_by})
    labels = _count(run.suite) - _count(Suite(tuple(golds)))
    return Unpooled(restrict_run(run, kept), labels, tuple(gone), tuple(engines))


def _own(query: Query) -> Query:
    there = {target.anchor for target in (*query.targets, *(adversary.target for adversary in query.adversaries))}
    shown = {label.target for label in query.labels if label.shown_by}
    moved = {_content(anchor) for anchor in shown - there}  # found elsewhere in its file by what it says

    def pooled(target: Target) -> bool:
        return target.anchor in shown or _content(target.anchor) in moved

    return replace(
        query,
        targets=tuple(target for target in query.targets if not pooled(target)),
        adversaries=tuple(adversary for adversary in query.adversaries if not pooled(adversary.target)),
    )


def _content(anchor: str) -> str:
    place, mark, digest = anchor.rpartition("#")
    return f"{place.rpartition(':')[0]}#{digest}" if mark else anchor


def _count(suite: Suite) -> int:
    return sum(len(query.targets) + len(query.adversaries) for gold in suite.golds for query in gold.queries)
