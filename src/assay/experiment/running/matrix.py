"""Run a specification as a matrix of cells, by an executor or in shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.experiment.cells.estimating import TimeEstimate, estimate, learn, read_rates
from assay.experiment.cells.keeping import CellStore, partial_dir
from assay.experiment.cells.outline import outline_of, run_of
from assay.experiment.cells.planning import PlannedEngine, RunPlan
from assay.experiment.cells.running import PlanResult, run_cells, snapshot_all
from assay.experiment.cells.tree import Node, kept_indexes, plan_tree
from assay.experiment.corpora import Missing
from assay.experiment.executors.base import Fleet, SerialExecutor
from assay.experiment.executors.processes import ProcessExecutor
from assay.experiment.running.asking import EngineLimits, Tell
from assay.experiment.spec import RunEntry, Spec, engine_factory, missing_requirement
from assay.gold.access_log import log_access
from assay.gold.split import select
from assay.types import Run, Suite


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """How a run is carried out; nothing of it shows in the results."""

    folder: Path | None = None  # of the results, where what is unfinished is kept; none: in the cache
    fleet: Fleet | None = None  # none: processes on this machine
    fresh: bool = False  # ask again what is kept
    reuse_index: bool = False  # let tools take up the indexes of earlier runs


@dataclass(frozen=True, slots=True)
class EngineSelection:
    """What is run of a specification now, and what is not, with the reason."""

    run: tuple[RunEntry, ...]
    skipped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MatrixResult:
    """A run that was made of cells, and the work that went into it."""

    run: Run
    work: PlanResult
    keeper: CellStore


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would do."""

    tree: Node
    left: TimeEstimate
    skipped: Mapping[str, str]
    timed: bool
    strangers: tuple[str, ...] = ()  # engines that every run asks, for nobody knows whether they are what they were


def is_timed(spec: Spec, how: ExecutionOptions | None = None) -> bool:
    """Tell whether times are measured: said so, or nothing asks for cells."""
    return spec.timed and (spec.times is not None or how is None or how.fleet is None)


def select_engines(spec: Spec) -> EngineSelection:
    """Choose what is run: what `only` names, without what lacks something that it needs and is checked all the same."""
    wanted = [subject for subject in spec.entries() if not spec.only or subject.name in spec.only]
    lacking = {subject.name: reason for subject in wanted if (reason := missing_requirement(subject.requires))}
    for name in lacking:
        engine_factory(spec, name).check()
    chosen = tuple(subject for subject in wanted if subject.name not in lacking)
    if not any(subject.name in spec.engines or subject.variation for subject in chosen) and lacking:
        name, reason = next(iter(lacking.items()))
        raise ConfigError(f"nothing is left to run: {name}: {reason}", hint="provide what is missing, or run others")
    return EngineSelection(chosen, lacking)


def plan_of(spec: Spec, suite: Suite, missing: Missing | None = None, *, reuse_index: bool = False) -> RunPlan:
    """Plan the matrix; every engine is made once here, so that what is wrong with one shows before anything runs."""
    chosen = select_engines(spec)
    picked = select(suite, spec.split).suite
    asked = {subject.name: _asked(spec, subject, picked) for subject in chosen.run}
    limits = EngineLimits(spec.timeout, spec.index_timeout, spec.give_up)
    return RunPlan(picked, asked, spec.k, spec.forms, missing, limits, chosen.skipped, reuse_index)


def _asked(spec: Spec, subject: RunEntry, suite: Suite) -> PlannedEngine:
    recipe = engine_factory(spec, subject.name, suite)
    return PlannedEngine(recipe, recipe.make(), subject.variation)


def matrix(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
    how: ExecutionOptions | None = None,
) -> MatrixResult:
    """Run every cell of a specification and put them together."""
    how = how or ExecutionOptions()
    plan = plan_of(spec, suite, missing, reuse_index=how.reuse_index)
    keeper = cell_store(plan, how)
    log_access(plan.suite, "run", list(plan.asked))
    with executor_for(spec, how) as fleet:
        work = run_cells(plan, plan.slots, fleet, keeper, progress or (lambda _: None))
    learn(plan, work)
    return MatrixResult(run_of(outline_of(plan, spec.analysis_plan()), work), work, keeper)


def dry_run(
    spec: Spec, suite: Suite, *, missing: Missing | None = None, how: ExecutionOptions | None = None, width: int = 1
) -> DryRun:
    """Look what a run would have to do; corpora are opened, no engine is asked and nothing is written."""
    how = how or ExecutionOptions()
    plan = plan_of(spec, suite, missing, reuse_index=how.reuse_index)
    grounds = snapshot_all(plan, (gold.name for gold in plan.suite.golds), SerialExecutor(), lambda _: None)
    keeper = cell_store(plan, how)
    timed = is_timed(spec, how)
    left = [slot for slot in plan.slots if timed or not keeper.has(plan.key(slot, grounds[slot.gold]))]
    there = () if timed else kept_indexes(plan, left, grounds)
    guess = estimate(plan, left, grounds, read_rates(), 1 if timed else width, there)
    tree = plan_tree(plan, grounds, None if timed else keeper)
    strangers = tuple(name for name, one in plan.asked.items() if not timed and one.engine.identity is None)
    return DryRun(tree, guess, plan.skipped, timed, strangers)


def cell_store(plan: RunPlan, how: ExecutionOptions) -> CellStore:
    """Say where cells are kept."""
    return CellStore(how.folder or partial_dir(plan.digest), fresh=how.fresh)


@contextmanager
def executor_for(spec: Spec, how: ExecutionOptions) -> Iterator[Fleet]:
    """Give whoever runs the cells; a fleet of our own ends with the run."""
    if how.fleet is not None:
        yield how.fleet
        return
    fleet: Fleet = SerialExecutor() if spec.jobs == 1 else ProcessExecutor(spec.jobs or 0)
    try:
        yield fleet
    finally:
        fleet.close()
