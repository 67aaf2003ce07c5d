"""Measured behavior of engines: time and memory, failures, contract violations, paths outside the corpus, stderr."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from assay.report.family import competing_engines
from assay.report.render.formatting import SHOWN, clip, shape, strip_control
from assay.report.results_file import (
    ContractViolation,
    EngineResources,
    PathMismatch,
    QueryFailure,
    StderrTail,
    TimingConditions,
)
from assay.types import EngineRun, Ranking, Resources, Run, Status

#: Values too small to measure an engine: it opened without building an index; clock and call, not a search; no
#: process is smaller, so the engine ran in ours without raising its peak.
LEAST_INDEX_SECONDS, LEAST_QUERY_MS, _LEAST_PEAK_BYTES = 0.05, 0.05, 1_000_000
#: Characters of a version; some tools print a page.
_VERSION_LENGTH = 40


def measure_costs(run: Run) -> tuple[EngineResources, ...]:
    """Return the resources of each engine; for a timed run, include ratios to the fastest competing engine."""
    rows = [_costs(engine, limit_of(engine, run.header.timeout), timed=run.header.timed) for engine in run.engines]
    if not run.header.timed:
        return tuple(rows)
    real = set(competing_engines(run))
    warm = {row.engine: None if row.mostly_failed else row.warm_ms for row in rows}
    fastest = _least((warm[name] for name in real), LEAST_QUERY_MS)
    quickest = _least((row.index_seconds for row in rows if row.engine in real), LEAST_INDEX_SECONDS)
    for at, row in enumerate(rows):
        if row.engine in real:
            ratios = _ratio(warm[row.engine], fastest), _ratio(row.index_seconds, quickest)
            rows[at] = replace(row, warm_ratio=ratios[0], index_ratio=ratios[1])
    return tuple(rows)


def limit_of(engine: EngineRun, cap: float) -> float:
    """Return the query timeout of an engine in seconds, at most `cap`."""
    own = engine.config.get("timeout")
    return min(cap, float(own)) if isinstance(own, int | float) and own > 0 else cap


def timing_conditions(run: Run) -> TimingConditions:
    """Return the conditions under which the times of a run were measured."""
    known = run.header.environment
    pinned, cores = known.get("pinned"), known.get("cores")
    return TimingConditions(
        pinned=pinned if isinstance(pinned, int) else None,
        interleaved=bool(known.get("interleaved", "pinned" in known)),
        machine=", ".join(str(known[key]) for key in ("cpu", "os") if known.get(key)),
        cores=cores if isinstance(cores, int) else 0,
        alone=len(run.engines) == 1,
        in_flight={engine.name: engine.parallel for engine in run.engines if engine.parallel > 1},
    )


def _costs(engine: EngineRun, cap: float, *, timed: bool) -> EngineResources:
    golds = {ranking.gold: ranking for ranking in reversed(engine.rankings)}
    first = [ranking for ranking in engine.rankings if golds[ranking.gold] is ranking]
    warm = [ranking for ranking in engine.rankings if golds[ranking.gold] is not ranking]
    failed = [ranking for ranking in engine.rankings if ranking.status != Status.OK]
    costs = [ranking.cost for ranking in engine.rankings if ranking.cost is not None]
    total = reduce(add, costs) if costs else None
    untimed = EngineResources(
        engine=engine.name,
        version=clip(engine.version, _VERSION_LENGTH),
        charged=len(failed),
        calls=None if total is None else total.calls,
        tokens=None if total is None else total.tokens,
        limit_seconds=cap,
    )
    if not timed:
        return untimed
    index = {
        gold: max(0.0, seconds - (engine.resources.get(gold, Resources()).startup_seconds or 0.0))
        for gold, seconds in engine.index_seconds.items()
    }
    resources = engine.resources.values()
    startups = [used.startup_seconds for used in resources if used.startup_seconds is not None]
    sizes = [used.index_bytes for used in resources if used.index_bytes is not None]
    peaks = [used.peak_bytes for used in resources if (used.peak_bytes or 0) >= _LEAST_PEAK_BYTES]
    asked = (ranking for ranking in failed if ranking.gold in engine.index_seconds and ranking.seconds > 0)
    return replace(
        untimed,
        startup_seconds=sum(startups) if startups else None,
        index_seconds=sum(index.values()) if index else None,
        index_by_gold=index,
        first_ms=_quantile(first, 0.5, cap),
        warm_ms=_quantile(warm, 0.5, cap),
        warm_p95_ms=_quantile(warm, 0.95, cap),
        warm_queries=len(warm),
        peak_bytes=max(filter(None, peaks), default=None),
        index_bytes=sum(sizes) if sizes else None,
        first_failed=sum(ranking.status != Status.OK for ranking in first) * 2 > len(first),
        warm_failed=sum(ranking.status != Status.OK for ranking in warm),
        answered_ms=_median_ms(ranking for ranking in warm if ranking.status == Status.OK),
        failed_ms=_median_ms(asked),
    )


def _quantile(rankings: Sequence[Ranking], share: float, cap: float) -> float | None:
    seconds = [ranking.seconds if ranking.status == Status.OK else cap for ranking in rankings]
    return float(np.quantile(seconds, share)) * 1000 if seconds else None


def _median_ms(rankings: Iterable[Ranking]) -> float | None:
    seconds = [ranking.seconds for ranking in rankings]
    return float(np.median(seconds)) * 1000 if seconds else None


def _least(values: Iterable[float | None], floor: float) -> float | None:
    return min((value for value in values if value is not None and value >= floor), default=None)


def _ratio(value: float | None, least: float | None) -> float | None:
    return None if value is None or least is None or value < least else value / least


NOT_OPENED = "could not be opened"
#: Kinds of failures; those that leave nothing to measure first.
_KINDS = (NOT_OPENED, *(str(status) for status in (Status.CRASH, Status.TIMEOUT, Status.ERROR)))
#: A note of the harness on one ranking: "3 of 10 paths not in the corpus, e.g. x".
_COUNTED = re.compile(r"(\d+) of (\d+) (.+)", re.DOTALL)
_EXAMPLE = ", e.g. "


def query_failures(run: Run) -> tuple[QueryFailure, ...]:
    every: list[QueryFailure] = []
    for engine in run.engines:
        opened = _opened_sets(engine, timed=run.header.timed)
        failures: dict[tuple[str, str], QueryFailure] = {}
        for ranking in engine.rankings:
            if ranking.status == Status.OK:
                continue
            kind = str(ranking.status) if ranking.gold in opened else NOT_OPENED
            message = clip(ranking.error or "", SHOWN.message)
            key = (kind, shape(message))
            first = f"{ranking.gold}/{ranking.query} ({ranking.form})"
            known = failures.get(key) or QueryFailure(engine.name, kind, 0, 0.0, message, first)
            number = known.queries + 1
            failures[key] = replace(known, queries=number, share=number / len(engine.rankings))
        every += sorted(failures.values(), key=lambda f: (_KINDS.index(f.kind), -f.queries, f.message, f.first))
    return tuple(every)


def _opened_sets(engine: EngineRun, *, timed: bool) -> Collection[str]:
    """Return the gold sets on which the engine was opened; without times, those without one error on all queries."""
    if engine.index_seconds or timed:
        return engine.index_seconds.keys()
    errors: dict[str, set[str | None]] = {}
    for ranking in engine.rankings:
        errors.setdefault(ranking.gold, set()).add(None if ranking.status == Status.OK else ranking.error or "")
    return {gold for gold, known in errors.items() if None in known or len(known) > 1}


def contract_violations(run: Run) -> tuple[ContractViolation, ...]:
    every: list[ContractViolation] = []
    for engine in run.engines:
        violations: dict[str, ContractViolation] = {}
        for note in (note for ranking in engine.rankings for note in ranking.notes):
            text, _, example = note.partition(_EXAMPLE)
            counted = _COUNTED.fullmatch(text)
            kind = clip(counted[3] if counted else text, SHOWN.message)
            times, of = (int(counted[1]), int(counted[2])) if counted else (0, 0)
            new = ContractViolation(engine.name, kind, 0, 0, 0, clip(example, SHOWN.example))
            known = violations.get(shape(kind), new)
            violations[shape(kind)] = replace(
                known, queries=known.queries + 1, times=known.times + times, of=known.of + of
            )
        every += sorted(violations.values(), key=lambda violation: (-violation.queries, violation.kind))
    return tuple(every)


def path_mismatches(run: Run) -> tuple[PathMismatch, ...]:
    """Return each engine and gold set whose results contain no path of the corpus."""
    mismatches = []
    for engine in run.engines:
        for gold in run.suite.golds:
            paths = [hit.path for ranking in engine.rankings if ranking.gold == gold.name for hit in ranking.hits]
            known = run.lines[gold.name]
            if not paths or any(path in known for path in paths):
                continue
            similar = next(_similar_paths(paths, known), None)
            returned, there = similar or (paths[0], next(iter(known), ""))
            examples = (clip(returned, SHOWN.example), clip(there, SHOWN.example))
            cause = clip(_mismatch_cause(returned, there), SHOWN.message)
            mismatches.append(PathMismatch(engine.name, gold.name, len(paths), *examples, cause))
    return tuple(mismatches)


def _similar_paths(paths: Iterable[str], known: Iterable[str]) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    for path in dict.fromkeys(paths):
        for there in by_name.get(path.rpartition("/")[2], ()):
            if path.endswith(f"/{there}") or there.endswith(f"/{path}"):
                yield path, there


def _mismatch_cause(returned: str, there: str) -> str:
    if returned.startswith("/"):
        return "its paths are absolute and outside the corpus; it may search another copy"
    if there and returned.endswith(f"/{there}"):
        return f"its paths begin with {returned.removesuffix(there)}; its root may be above the corpus root"
    if there.endswith(f"/{returned}"):
        return f"its paths lack {there.removesuffix(returned)}; its root may be inside the corpus"
    return "no path is similar; the engine may search another directory or not return paths"


def stderr_tails(run: Run) -> tuple[StderrTail, ...]:
    return tuple(
        StderrTail(engine.name, gold, strip_control(text[-SHOWN.stderr :]).strip("\n"))
        for engine in run.engines
        for gold, text in engine.stderr.items()
        if text.strip()
    )
