"""Dry runs: the tree of steps that engines share, and how many results are cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.engines.base import SharedStep, cached_steps, sharing_engine
from assay.experiment.cache import CellId, CorpusSnapshot, ResultCache
from assay.experiment.corpora import Missing
from assay.experiment.plan import DEFAULT_OPTIONS, ExecutionOptions, RunPlan, make_plan
from assay.experiment.spec import Spec
from assay.experiment.worker import survey
from assay.store.store import Store
from assay.types import Suite


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """Number of cells that are not cached, and of their queries."""

    cells: int
    questions: int


@dataclass(frozen=True, slots=True)
class Node:
    """Step that all engines below it share; a leaf is one engine."""

    name: str
    about: str
    golds: int  # gold sets that need it
    kept: int  # gold sets on which it is cached
    engines: int
    children: tuple[Node, ...] = ()

    @property
    def made(self) -> int:
        """Number of gold sets on which the step is not cached."""
        return self.golds - self.kept

    @property
    def needed(self) -> bool:
        """Whether the step, or an engine below it, has work left."""
        return any(child.needed for child in self.children) if self.children else bool(self.made)


@dataclass(frozen=True, slots=True)
class DryRun:
    """Work that a run would do."""

    tree: Node
    left: RemainingWork
    skipped: Mapping[str, str]
    timed: bool
    strangers: tuple[str, ...] = ()  # engines without an identity, whose results are never reused


def dry_run(
    spec: Spec, suite: Suite, *, missing: Missing | None = None, options: ExecutionOptions = DEFAULT_OPTIONS
) -> DryRun:
    """Return the work that a run would do; corpora are opened, but no engine starts and no result is written."""
    plan = make_plan(spec, suite, options, missing=missing)
    snapshots = {gold.name: survey(plan.access(gold)) for gold in plan.suite.golds}
    # All cells of a timed run are executed.
    cache = None if plan.timing else plan.open_cache(options)
    left = [cell for cell in plan.cells if not cache or not cache.has(plan.key(cell, snapshots[cell.gold], {}))]
    unknown = tuple(name for name, planned in plan.engines.items() if cache and planned.engine.identity is None)
    return DryRun(
        plan_tree(plan, snapshots, cache),
        RemainingWork(len(left), sum(snapshots[cell.gold].questions for cell in left)),
        plan.skipped,
        plan.timing is not None,
        unknown,
    )


@dataclass(frozen=True, slots=True)
class _EnginePath:
    """Steps of one engine, with the number of gold sets on which each step, and the result, is cached."""

    engine: str
    steps: tuple[SharedStep, ...]
    cached: tuple[int, ...]
    cells: int


def plan_tree(plan: RunPlan, snapshots: Mapping[str, CorpusSnapshot], cache: ResultCache | None) -> Node:
    """Return the tree of a plan, with engines below the steps they share; without `cache`, no step counts as cached."""
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
