"""How good is each ranking of a run? Values by engine × measure × unit, from records alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import ConfigError
from assay.scoring.evaluate import Scorer, as_scorer
from assay.scoring.measure import Measure
from assay.scoring.measures import parse_measure
from assay.types import Query, Run, Scores, Suite


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
    """Average what applies."""
    applies = values[~np.isnan(values)]
    return EvaluationMean(engine, measure, len(applies), float(applies.mean()) if len(applies) else float("nan"))


def _named(gold: str, query: Query) -> list[Measure]:
    """Read the measures of one query's evaluation layer, and say whose they are when that fails."""
    try:
        return [parse_measure(text) for text in query.measures]
    except ConfigError as error:
        message = f"{gold}/{query.id}: {error.message}"
        raise ConfigError(message, line=query.line, hint=error.hint) from error
