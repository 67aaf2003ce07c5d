"""Dry runs: the plan as a tree of shared steps, what is cached, and the expected time of the rest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from assay.engines.base import STEP_KINDS, SharedStep, cached_steps, sharing_engine
from assay.errors import SetupError
from assay.experiment.cache import CellId, CellResult, CorpusSnapshot, ResultCache
from assay.experiment.corpora import Missing
from assay.experiment.plan import DEFAULT_OPTIONS, ExecutionOptions, RunPlan, make_plan
from assay.experiment.spec import Spec
from assay.experiment.worker import survey
from assay.store.kinds import RATES
from assay.store.store import Store
from assay.types import Suite

#: Weight of the newest run against all earlier ones: machines change slowly, and first runs are cold.
_NEWEST = 0.5


@dataclass(frozen=True, slots=True)
class Rate:
    """Speed of one kind of engine on this machine."""

    index: float  # seconds per megabyte of source
    query: float  # seconds per query


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """Remaining work and its expected time; None if a kind of engine never ran on this machine."""

    cells: int
    questions: int
    seconds: float | None
    unknown: tuple[str, ...] = ()  # kinds that never ran on this machine


@dataclass(frozen=True, slots=True)
class Node:
    """Step whose result is shared by all engines below; a leaf is one engine."""

    name: str
    about: str
    golds: int  # gold sets that need it
    kept: int  # gold sets on which it is cached
    engines: int
    children: tuple[Node, ...] = ()

    @property
    def made(self) -> int:
        """Return on how many gold sets it has to be computed."""
        return self.golds - self.kept

    @property
    def needed(self) -> bool:
        """Whether the step, or an engine below it, has work left."""
        return any(child.needed for child in self.children) if self.children else bool(self.made)


@dataclass(frozen=True, slots=True)
class DryRun:
    """Work of a run."""

    tree: Node
    left: TimeEstimate
    skipped: Mapping[str, str]
    timed: bool
    strangers: tuple[str, ...] = ()  # engines without an identity, whose results are never reused


def dry_run(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    options: ExecutionOptions = DEFAULT_OPTIONS,
    width: int = 1,
) -> DryRun:
    """Return what a run would do; corpora are opened, but no engine starts and nothing is written."""
    plan = make_plan(spec, suite, options, missing=missing)
    snapshots = {gold.name: survey(plan.access(gold)) for gold in plan.suite.golds}
    # All cells of a timed run are executed.
    cache = None if plan.timing else plan.open_cache(options)
    left = [cell for cell in plan.cells if not cache or not cache.has(plan.key(cell, snapshots[cell.gold], {}))]
    indexes = cached_indexes(plan, left, snapshots) if cache else ()
    unknown = tuple(name for name, planned in plan.engines.items() if cache and planned.engine.identity is None)
    return DryRun(
        plan_tree(plan, snapshots, cache),
        estimate(plan, left, snapshots, read_rates(), width if cache else 1, indexes),
        plan.skipped,
        plan.timing is not None,
        unknown,
    )


def estimate(
    plan: RunPlan,
    cells: Sequence[CellId],
    snapshots: Mapping[str, CorpusSnapshot],
    rates: Mapping[str, Rate],
    width: int,
    cached: Collection[tuple[str, str]] = (),
) -> TimeEstimate:
    """Estimate the time of cells: each shared index once unless `cached`, each query for every engine."""
    kinds = {cell.engine: _kind(plan, cell.engine) for cell in cells}
    unknown = tuple(sorted({kind for kind in kinds.values() if kind not in rates}))
    queries = sum(snapshots[cell.gold].questions for cell in cells)
    if unknown:
        return TimeEstimate(len(cells), queries, None, unknown)
    indexes = {(cell.gold, plan.engines[cell.engine].group): kinds[cell.engine] for cell in cells}
    missing = {index: kind for index, kind in indexes.items() if index not in cached}
    seconds = sum(snapshots[gold].size / 1e6 * rates[kind].index for (gold, _), kind in missing.items())
    seconds += sum(snapshots[cell.gold].questions * rates[kinds[cell.engine]].query for cell in cells)
    return TimeEstimate(len(cells), queries, seconds / max(1, min(width, len(indexes))))


def cached_indexes(
    plan: RunPlan, cells: Iterable[CellId], snapshots: Mapping[str, CorpusSnapshot]
) -> frozenset[tuple[str, str]]:
    """Return the completely cached indexes that cells need, as gold set and engine group."""
    store = Store()
    engines = {(cell.gold, plan.engines[cell.engine].group): plan.engines[cell.engine].engine for cell in cells}
    return frozenset(
        index
        for index, engine in engines.items()
        if (shares := sharing_engine(engine))
        and cached_steps(shares, snapshots[index[0]].facts.digest, store) >= set(STEP_KINDS)
    )


def read_rates() -> dict[str, Rate]:
    """Read the rates of earlier runs; malformed ones count as unknown."""
    try:
        rows = json.loads(Store().get(RATES.name, "rates") or b"{}")
        return {kind: Rate(float(row["index"]), float(row["query"])) for kind, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def learn(plan: RunPlan, snapshots: Mapping[str, CorpusSnapshot], executed: Mapping[CellId, CellResult]) -> None:
    """Update the rates from the cells that a run executed."""
    rates = read_rates()
    by_kind: dict[str, dict[CellId, CellResult]] = {}
    for cell, result in executed.items():
        if result.spent.worker:
            by_kind.setdefault(_kind(plan, cell.engine), {})[cell] = result
    for kind, results in by_kind.items():
        new = _measured_rate(results, snapshots)
        old = rates.get(kind, new)
        rates[kind] = Rate(_blend(old.index, new.index), _blend(old.query, new.query))
    with suppress(SetupError):  # the next estimate is worse
        data = {kind: asdict(rate) for kind, rate in sorted(rates.items())}
        Store().put(RATES.name, "rates", json.dumps(data).encode())


def _kind(plan: RunPlan, engine: str) -> str:
    """Return the kind of engine that rates are stored under; other people's tools are kinds of their own."""
    planned = plan.engines[engine]
    kind = str(planned.kind or engine)
    return kind if planned.is_shipped else f"{kind}:{engine}"


def _measured_rate(results: Mapping[CellId, CellResult], snapshots: Mapping[str, CorpusSnapshot]) -> Rate:
    queries = sum(snapshots[cell.gold].questions for cell in results)
    built: dict[str, float] = {}  # cells of one gold set share an index; the first has its time
    for cell, result in results.items():
        if result.spent.made:
            built.setdefault(cell.gold, result.spent.index_seconds or 0.0)
    size = sum(snapshots[gold].size for gold in built) / 1e6
    index = sum(built.values()) / size if size else 0.0
    return Rate(index, sum(result.spent.query_seconds for result in results.values()) / max(queries, 1))


def _blend(old: float, new: float) -> float:
    return (1 - _NEWEST) * old + _NEWEST * new if new else old


@dataclass(frozen=True, slots=True)
class _EnginePath:
    """Steps of one engine, with the number of gold sets on which each step, and the result, is cached."""

    engine: str
    steps: tuple[SharedStep, ...]
    cached: tuple[int, ...]
    cells: int


def plan_tree(plan: RunPlan, snapshots: Mapping[str, CorpusSnapshot], cache: ResultCache | None) -> Node:
    """Return a plan as a tree in which engines that share a step are below it; without a cache, nothing is cached."""
    paths = [_engine_path(plan, name, snapshots, cache) for name in plan.engines]
    size = sum(snapshot.size for snapshot in snapshots.values()) / 1e6
    files = sum(snapshot.facts.files for snapshot in snapshots.values())
    children = _branches(paths, 0, len(snapshots))
    return Node("corpora", f"{files:,} files, {size:.1f} MB", len(snapshots), len(snapshots), len(paths), children)


def _engine_path(
    plan: RunPlan, name: str, snapshots: Mapping[str, CorpusSnapshot], cache: ResultCache | None
) -> _EnginePath:
    planned = plan.engines[name]
    if cache is None:
        return _EnginePath(name, planned.steps, (0,) * len(planned.steps), 0)
    cells = sum(cache.has(plan.key(CellId(gold, name), snapshot, {})) for gold, snapshot in snapshots.items())
    shares, store = sharing_engine(planned.engine), Store()
    digests = [snapshot.facts.digest for snapshot in snapshots.values()]
    cached = [cached_steps(shares, digest, store) if shares else frozenset() for digest in digests]
    counts = tuple(sum(step.name in names for names in cached) for step in planned.steps)
    return _EnginePath(name, planned.steps, counts, cells)


def _branches(paths: Sequence[_EnginePath], depth: int, golds: int) -> tuple[Node, ...]:
    groups: dict[tuple[str, str], list[_EnginePath]] = {}
    for path in paths:
        last = depth >= len(path.steps) - 1
        key = ("", path.engine) if last else (path.steps[depth].name, path.steps[depth].digest)
        groups.setdefault(key, []).append(path)
    nodes = []
    for group in groups.values():
        first = group[0]
        if depth >= len(first.steps) - 1:
            nodes.append(Node(first.engine, first.steps[-1].about, golds, first.cells, 1))
        else:
            step, children = first.steps[depth], _branches(group, depth + 1, golds)
            nodes.append(Node(step.name, step.about, golds, first.cached[depth], len(group), children))
    return tuple(nodes)
