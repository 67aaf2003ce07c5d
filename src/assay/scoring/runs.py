"""Join runs, and restrict runs to some queries or labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.errors import InputError, NotComparableError
from assay.types import EngineRun, GoldSet, Query, Run, Suite, Target


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
