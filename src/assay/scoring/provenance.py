"""Scores without the labels that engines brought up: a target added because of a result favours who returned it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.scoring.joining import restrict_run
from assay.types import PRIMARY, Gold, Query, Run, Suite


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
    gone = tuple(f"{gold.name}/{query.id}" for gold in golds for query in gold.queries if not _answered(query))
    kept = Suite(tuple(gold for gold in map(_answerable, golds) if gold.queries))
    engines = sorted({engine for label in marked for engine in label.shown_by})
    return Unpooled(restrict_run(run, kept), _count(run.suite) - _count(Suite(tuple(golds))), gone, tuple(engines))


def _own(query: Query) -> Query:
    """Give a query with the labels that nobody's results brought up."""
    shown = {label.target for label in query.labels if label.shown_by}
    return replace(
        query,
        targets=tuple(target for target in query.targets if target.anchor not in shown),
        adversaries=tuple(adversary for adversary in query.adversaries if adversary.target.anchor not in shown),
    )


def _answered(query: Query) -> bool:
    """Tell whether a query has a primary target."""
    return any(target.grade == PRIMARY for target in query.targets)


def _answerable(gold: Gold) -> Gold:
    """Leave out the queries without a primary target."""
    return replace(gold, queries=tuple(query for query in gold.queries if _answered(query)))


def _count(suite: Suite) -> int:
    """Count targets and adversaries."""
    return sum(len(query.targets) + len(query.adversaries) for gold in suite.golds for query in gold.queries)
