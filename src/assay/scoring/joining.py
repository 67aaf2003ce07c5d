"""Join runs of one gold set: their common queries and all engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import InputError, NotComparableError
from assay.types import EngineRun, Run, Suite


@dataclass(frozen=True, slots=True)
class JoinedRuns:
    """The joined run, and the number of queries of the first run that are not in all others."""

    run: Run
    left_out: int = 0


def join_runs(runs: Mapping[str, Run]) -> JoinedRuns:
    """Join runs by name; a query is kept if its hash is the same in all of them."""
    if not runs:
        raise InputError("no runs given", hint="name directories that `assay run` wrote")
    first, *others = runs.values()
    shared = {key for key, digest in first.hashes.items() if all(run.hashes.get(key) == digest for run in others)}
    if not shared:
        raise NotComparableError("the runs have no query in common", hint="they use different gold sets or revisions")
    suite = restrict_suite(first.suite, shared)
    engines = [_restrict_engine(engine, shared) for engine in _collect_engines(runs)]
    lines: dict[str, dict[str, tuple[int, ...]]] = {}
    for run in runs.values():
        for gold, files in run.lines.items():
            lines.setdefault(gold, {}).update(files)
    k = min(run.k for run in runs.values())
    hashes = {key: digest for key, digest in first.hashes.items() if key in shared}
    joined = replace(first, suite=suite, k=k, engines=tuple(engines), lines=lines, hashes=hashes)
    return JoinedRuns(joined, len(first.hashes) - len(shared))


def restrict_suite(suite: Suite, keys: set[str]) -> Suite:
    """Keep some queries, named `gold/query`, and drop empty sets."""
    golds = [
        replace(gold, queries=tuple(query for query in gold.queries if f"{gold.name}/{query.id}" in keys))
        for gold in suite.golds
    ]
    return Suite(tuple(gold for gold in golds if gold.queries))


def restrict_run(run: Run, suite: Suite) -> Run:
    """Keep the queries of a suite, with the suite's targets."""
    keys = {f"{gold.name}/{query.id}" for gold in suite.golds for query in gold.queries}
    return replace(run, suite=suite, engines=tuple(_restrict_engine(engine, keys) for engine in run.engines))


def _restrict_engine(engine: EngineRun, keys: set[str]) -> EngineRun:
    return replace(engine, rankings=tuple(r for r in engine.rankings if f"{r.gold}/{r.query}" in keys))


def _collect_engines(runs: Mapping[str, Run]) -> Sequence[EngineRun]:
    found: dict[str, EngineRun] = {}
    for name, run in runs.items():
        for engine in run.engines:
            known = found.get(engine.name)
            if known is None:
                found[engine.name] = engine
            elif engine.role == "contestant" or _answers(known) != _answers(engine):
                other = f"{engine.name} ({name})"
                found[other] = replace(engine, name=other)
    return tuple(found.values())


def _answers(engine: EngineRun) -> list[object]:
    return [(r.gold, r.query, r.form, r.hits) for r in engine.rankings]
