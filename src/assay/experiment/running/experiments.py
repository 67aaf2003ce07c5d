"""Run an experiment from its specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.experiment.cells.keeping import CellStore
from assay.experiment.cells.running import PlanResult
from assay.experiment.corpora import Missing
from assay.experiment.executors.base import FuturesAdapter, FuturesExecutor
from assay.experiment.running.asking import Tell
from assay.experiment.running.loading import load_suite
from assay.experiment.running.matrix import ExecutionOptions, is_timed, matrix, select_engines
from assay.experiment.running.turns import Failed, check_answered, run
from assay.experiment.spec import FILE, Spec, engine_factory, load_spec, override
from assay.experiment.spec.model import match_names
from assay.types import Run, Suite


@dataclass(frozen=True, slots=True)
class CompletedRun:
    """A run that was carried out; what is kept of it for the case that it is cut off goes when `finish` is called."""

    run: Run
    work: PlanResult | None = None  # of a run that was made of cells
    keeper: CellStore | None = field(default=None, repr=False)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What people should know of how it went."""
        return tuple(self.keeper.all_troubles) if self.keeper else ()

    def finish(self) -> None:
        """Forget what was kept for this run alone: its results are where they should be."""
        if self.keeper:
            self.keeper.finish()


def execute(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
    how: ExecutionOptions | None = None,
) -> CompletedRun:
    """Carry a checked specification out over loaded gold; the claim it was made for goes with the run.

    Where it measures times, engines take turns in this process; else its cells are run by a fleet.
    """
    how = how or ExecutionOptions()
    if is_timed(spec, how):
        return _take_turns(spec, suite, missing, progress, how)
    made = matrix(spec, suite, missing=missing, progress=progress, how=how)
    return CompletedRun(made.run, made.work, made.keeper)


def run_spec(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
    how: ExecutionOptions | None = None,
) -> Run:
    """Give the run of a specification to who writes nothing down, or writes it in a moment."""
    carried = execute(spec, suite, missing=missing, progress=progress, how=how)
    carried.finish()
    return carried.run


def run_experiment(
    file: str | Path = FILE,
    *,
    executor: FuturesExecutor | None = None,
    only: Sequence[str] = (),
    sets: Sequence[str] = (),
    fresh: bool = False,
    failed: Failed = "error",
) -> Run:
    """Run the experiment of an assay.toml; `only` names engines, `sets` has `table.key=value` texts as --set does.

    With an executor (anything with `submit(function, *args)` that gives a future, in threads, processes or on a
    cluster) its workers ask the cells; without one, processes on this machine do, or engines take turns where times
    are measured. Nothing is written but what is kept in the cache. `failed` is that of `assay.run`.
    """
    spec = load_spec(Path(file), sets=sets)
    names = match_names(list(only), spec.names(), "only") if only else ()
    chosen = override(spec, only=names)
    how = ExecutionOptions(fleet=FuturesAdapter(executor) if executor is not None else None, fresh=fresh)
    made = run_spec(chosen, load_suite(chosen), how=how)
    return made if failed == "report" else check_answered(made)


def _take_turns(
    spec: Spec, suite: Suite, missing: Missing | None, progress: Tell | None, how: ExecutionOptions
) -> CompletedRun:
    asked = select_engines(spec)
    engines = {subject.name: engine_factory(spec, subject.name, suite).make() for subject in asked.run}
    keeper = CellStore(how.folder, fresh=how.fresh) if how.folder else None
    made = run(
        engines,
        suite,
        k=spec.k,
        forms=spec.forms or None,
        split=spec.split,
        timeout=spec.timeout,
        index_timeout=spec.index_timeout,
        give_up=spec.give_up,
        threads=spec.threads or None,
        interleave=spec.interleave,
        missing=missing,
        failed="report",
        progress=progress,
        keeper=keeper,
        variations={s.name: s.variation for s in asked.run if s.variation},
    )
    header = replace(made.header, claim=spec.analysis_plan(), skipped=asked.skipped)
    return CompletedRun(replace(made, header=header), None, keeper)
