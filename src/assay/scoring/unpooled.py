"""Scores without the labels that engines brought up: a target added because of a result favours who returned it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.scoring.joining import restrict_run
from assay.types import Query, Run, Suite, Target


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
    """Give a query with the labels that nobody's results brought up."""
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
    """Name lines by file and content hash, which they keep when they move; an anchor without one as it is."""
    place, mark, digest = anchor.rpartition("#")
    return f"{place.rpartition(':')[0]}#{digest}" if mark else anchor


def _count(suite: Suite) -> int:
    """Count targets and adversaries."""
    return sum(len(query.targets) + len(query.adversaries) for gold in suite.golds for query in gold.queries)
