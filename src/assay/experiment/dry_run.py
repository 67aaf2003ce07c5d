"""Dry runs: the tree of steps that engines share, and how many results are cached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.engines.base import cached_steps, sharing_engine
from assay.experiment.cell_cache import CellId, CorpusSnapshot, ResultCache
from assay.experiment.corpora import Missing
from assay.experiment.run_plan import DEFAULT_OPTIONS, ExecutionOptions, RunPlan, make_plan
from assay.experiment.spec import Spec
from assay.experiment.worker import survey
from assay.store.store import Store
from assay.types import Suite


@dataclass(frozen=True, slots=True)
class RemainingWork:
    cells: int
    questions: int


@dataclass(frozen=True, slots=True)
class Node:
    """Step that all engines below it share; a leaf is one engine."""

    name: str
    about: str
    golds: int  # gold sets that need it
    cached: int  # gold sets on which it is
    engines: int
    children: tuple[Node, ...] = ()

    @property
    def made(self) -> int:
        """Number of gold sets on which the step is not cached."""
        return self.golds - self.cached

    @property
    def needed(self) -> bool:
        """Whether the step, or an engine below it, has work left."""
        return any(child.needed for child in self.children) if self.children else bool(self.made)


@dataclass(frozen=True, slots=True)
class DryRun:
    tree: Node
    remaining: RemainingWork
    skipped: Mapping[str, str]
    timed: bool
    uncached_engines: tuple[str, ...] = ()  # engines without an identity, whose results are never reused


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


def plan_tree(plan: RunPlan, snapshots: Mapping[str, CorpusSnapshot], cache: ResultCache | None) -> Node:
    """Return the tree of a plan, with engines below the steps they share; without `cache`, no step counts as cached."""
    size = sum(snapshot.size for snapshot in snapshots.values()) / 1e6
    files = sum(snapshot.facts.files for snapshot in snapshots.values())
    golds, store = len(snapshots), Store()

    def cached_golds(name: str) -> list[int]:
        """Return the number of gold sets on which each step of an engine is cached; the last step is its result."""
        steps, shares = plan.engines[name].steps, sharing_engine(plan.engines[name].engine)
        if cache is None:
            return [0] * len(steps)
        cells = sum(cache.has(plan.key(CellId(gold, name), snapshot, {})) for gold, snapshot in snapshots.items())
        found = [cached_steps(shares, s.facts.digest, store) if shares else frozenset() for s in snapshots.values()]
        return [*(sum(step.name in names for names in found) for step in steps[:-1]), cells]

    cached = {name: cached_golds(name) for name in plan.engines}

    def branches(names: Sequence[str], depth: int) -> tuple[Node, ...]:
        groups: dict[tuple[str, str], list[str]] = {}
        for name in names:
            steps = plan.engines[name].steps
            is_last = depth >= len(steps) - 1
            groups.setdefault(("", name) if is_last else (steps[depth].name, steps[depth].digest), []).append(name)
        nodes = []
        for (shared, first), group in groups.items():
            if shared:
                step = plan.engines[group[0]].steps[depth]
                children = branches(group, depth + 1)
                nodes.append(Node(step.name, step.about, golds, cached[group[0]][depth], len(group), children))
            else:
                nodes.append(Node(first, plan.engines[first].steps[-1].about, golds, cached[first][-1], 1))
        return tuple(nodes)

    about = f"{files:,} files, {size:.1f} MB"
    return Node("corpora", about, golds, golds, len(plan.engines), branches(list(plan.engines), 0))
