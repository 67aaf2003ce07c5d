from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from assay._version import __version__
from assay.clock import now
from assay.digests import text_digest
from assay.engines import as_engine
from assay.engines.base import Engine
from assay.errors import EngineError, InputError
from assay.experiment.cell_cache import CellId, CellResult, CorpusSnapshot, ResultCache, relabel
from assay.experiment.corpora import Missing, load_suite, phrased_queries
from assay.experiment.executors import (
    Executor,
    FuturesAdapter,
    FuturesExecutor,
    ProcessExecutor,
    SerialExecutor,
    iter_results,
)
from assay.experiment.interleaved import EngineLimits, Progress, ProgressCallback, engine_record, ignore_progress
from assay.experiment.records.codec import join_lines
from assay.experiment.records.directory import IN_TURN, KEPT, SHARDED, SIDE_BY_SIDE, CellTiming
from assay.experiment.run_plan import (
    DEFAULT_OPTIONS,
    ExecutionOptions,
    PlannedEngine,
    PlanSummary,
    RunPlan,
    Timing,
    make_plan,
)
from assay.experiment.spec import FILE, Spec, load_spec, override
from assay.experiment.spec.analysis_plan import match_names
from assay.experiment.spec.engine_entries import check_encodable
from assay.experiment.worker import CellTask, CorpusAccess, measure, prepare_corpus, survey, take_snapshot
from assay.gold.access_log import log_access
from assay.gold.build import gold_hash, query_hash
from assay.gold.split import sealed_queries, select
from assay.redaction import register_secret_values
from assay.types import TIME_LIMITS, EngineRun, GoldSet, Hit, Ranking, Run, RunMetadata, Status, Suite, VariantInfo

T = TypeVar("T")
Failed = Literal["error", "report"]
Searcher = Engine | Callable[[str, int], Sequence[Hit | str]] | Callable[[str], Sequence[Hit | str]]


def run(
    engines: Mapping[str, Searcher],
    gold: Suite | GoldSet,
    *,
    k: int = 10,
    forms: Sequence[str] | None = None,
    split: Sequence[str] = (),
    timeout: float = TIME_LIMITS.query,
    index_timeout: float = TIME_LIMITS.index,
    max_timeouts: int = 10,
    threads: int | None = None,
    interleave: bool = True,
    cache: Path | None = None,
    missing: Missing | None = None,
    failed: Failed = "error",
    progress: ProgressCallback | None = None,
    keeper: ResultCache | None = None,
    variations: Mapping[str, VariantInfo] | None = None,
) -> Run:
    """Run engines over gold sets and return their rankings, with times.

    Gold sets are checked against their corpora before any engine starts. `missing` decides about targets that are not
    in the corpus: "error", or "report" to go on without them; the default reports only those of the standard library,
    whose content depends on the interpreter. `split` names splits of a gold set; sealed queries run only if named,
    and the access is logged next to the gold set before any engine starts.

    An engine that fails on every query has no quality to measure: `failed="error"` raises EngineError, whose `run`
    attribute has the rankings of all engines; "report" returns the run, with the worst values for that engine.

    Each query goes to all engines in turn, so that machine load affects all equally; without `interleave`, engines run
    one after the other, and only one is open at a time. All have the same `threads` processors (default: all). After
    `max_timeouts` consecutive timeouts an engine gets no more queries on that corpus (0: no limit). With a `keeper`,
    gold sets that all engines have finished are not repeated when a run is resumed.
    """
    suite = select(Suite((gold,)) if isinstance(gold, GoldSet) else gold, split).suite
    if k < 1:
        raise InputError(f"expected k of at least 1, got {k}", hint="the default is 10")
    if threads is not None and threads < 1:
        raise InputError(f"expected threads of at least 1, got {threads}", hint="None uses every processor")
    check_encodable(engines)
    variants = variations or {}
    plan = RunPlan(
        suite=suite,
        engines={name: PlannedEngine(as_engine(e), variation=variants.get(name)) for name, e in engines.items()},
        k=k,
        forms=tuple(forms or ()),
        missing=missing,
        limits=EngineLimits(timeout, index_timeout, max_timeouts),
        timing=Timing(threads or 0, interleave),
        corpus_cache=cache,
    )
    results = execute(plan, plan.cells, ExecutionOptions(cache=keeper), progress)
    done = assemble(plan.summary(results.conditions), results)
    return done if failed == "report" else check_answered(done)


def run_experiment(
    file: str | Path = FILE,
    *,
    executor: FuturesExecutor | None = None,
    only: Sequence[str] = (),
    sets: Sequence[str] = (),
    fresh: bool = False,
    failed: Failed = "error",
) -> Run:
    """Run the experiment of an assay.toml; `only` names engines, `sets` are values of --set such as `run.k=20`.

    With an executor (an object whose `submit(function, *args)` returns a future: threads, processes or a cluster) its
    workers run the cells; without one, worker processes on this machine do, or this process if times are measured. No
    results directory is written. `failed` has the same meaning as in `assay.run`.
    """
    spec = load_spec(Path(file), sets=sets)
    names = match_names(list(only), spec.names(), "only") if only else ()
    spec = override(spec, only=names)
    options = ExecutionOptions(executor=FuturesAdapter(executor) if executor is not None else None, fresh=fresh)
    result = run_spec(spec, load_suite(spec), options=options)
    return result if failed == "report" else check_answered(result)


def run_spec(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: ProgressCallback | None = None,
    options: ExecutionOptions = DEFAULT_OPTIONS,
) -> Run:
    """Run a specification, and delete the cells that were cached for this run only."""
    outcome = execute_spec(spec, suite, missing=missing, progress=progress, options=options)
    outcome.results.finish()
    return outcome.run


@dataclass(frozen=True, slots=True)
class PlanResult:
    snapshots: Mapping[str, CorpusSnapshot]
    cells: Mapping[CellId, CellResult]
    cached: frozenset[CellId] = frozenset()  # cells that were not executed
    reason: str = SHARDED  # why the times of the other cells are not comparable
    conditions: Mapping[str, object] = field(default_factory=dict)
    timed: bool = False
    cache: ResultCache | None = field(default=None, compare=False, repr=False)

    @property
    def warnings(self) -> Sequence[str]:
        return self.cache.warnings if self.cache else ()

    def finish(self) -> None:
        """Delete the cells that were cached for this run only, after its results were written."""
        if self.cache:
            self.cache.finish()

    def timings(self) -> list[CellTiming]:
        """Return the time spent on each cell."""
        return [
            CellTiming(cell.engine, cell.gold, *spent, reason=KEPT if cell in self.cached else self.reason)
            for cell, result in self.cells.items()
            for spent in [(result.spent.index_seconds, result.spent.query_seconds, result.spent.worker)]
        ]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    run: Run
    results: PlanResult


def execute_spec(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: ProgressCallback | None = None,
    options: ExecutionOptions = DEFAULT_OPTIONS,
) -> RunOutcome:
    """Run a specification; the caller writes the run and then calls `results.finish`."""
    plan = make_plan(spec, suite, options, missing=missing)
    results = execute(plan, plan.cells, options, progress)
    return RunOutcome(assemble(plan.summary(results.conditions), results), results)


def execute(
    plan: RunPlan,
    cells: Sequence[CellId],
    options: ExecutionOptions = DEFAULT_OPTIONS,
    progress: ProgressCallback | None = None,
) -> PlanResult:
    """Return the results of cells, from the cache or by running engines.

    All corpora are surveyed before any engine starts.
    """
    golds = {cell.gold for cell in cells}
    suite = Suite(tuple(gold for gold in plan.suite.golds if gold.name in golds))
    run_cells = _execute_timed if plan.timing else _execute_untimed
    return run_cells(plan, suite, cells, options, progress or ignore_progress)


def _execute_timed(
    plan: RunPlan, suite: Suite, cells: Sequence[CellId], options: ExecutionOptions, report: ProgressCallback
) -> PlanResult:
    """Run engines in this process on pinned processors; they report progress query by query."""
    cache = options.cache or plan.open_cache(options)
    prepared = {access.gold.name: prepare_corpus(access) for access in _accesses(plan, suite, report)}
    snapshots = {name: take_snapshot(opened) for name, opened in prepared.items()}
    _protect_queries_and_secrets(plan, suite)
    with plan.conditions() as conditions:
        results = _Results(plan, cells, snapshots, cache, conditions)
        for task in plan.tasks(results.pending, snapshots, 1, prepared):
            results.add(measure(task, report), task)
    return results.combine(IN_TURN)


def _execute_untimed(
    plan: RunPlan, suite: Suite, cells: Sequence[CellId], options: ExecutionOptions, report: ProgressCallback
) -> PlanResult:
    """Run engines on the workers of an executor; their tasks report cells."""
    cache = options.cache or plan.open_cache(options)
    with _executor(plan, options) as executor, plan.conditions() as conditions:
        surveyed = {a.gold.name: s for a, s in iter_results(executor, survey, _accesses(plan, suite, report))}
        snapshots = {gold.name: surveyed[gold.name] for gold in suite.golds}
        _protect_queries_and_secrets(plan, suite)
        results = _Results(plan, cells, snapshots, cache, conditions)
        report(Progress("", "", len(results.cached), len(cells), "cells"))
        tasks = plan.tasks(results.pending, snapshots, executor.width)
        if cache and executor.shares_disk:
            # Workers on this disk cache their cells at once, so that a kill costs only those in progress; this process
            # caches the cells of all others.
            directory = cache.directory.absolute()
            tasks = [replace(t, cache=directory, keys={c.engine: results.keys[c] for c in t.cells}) for t in tasks]
        for task, measured in iter_results(executor, measure, tasks, on_lost=partial(_crashed_cells, plan, snapshots)):
            results.add(measured, task)
            report(Progress("", task.access.gold.name, len(results.cells), len(cells), "cells"))
        return results.combine(IN_TURN if executor.width == 1 else SIDE_BY_SIDE)


def _accesses(plan: RunPlan, suite: Suite, report: ProgressCallback) -> Iterator[CorpusAccess]:
    for number, gold in enumerate(suite.golds):
        report(Progress("", gold.name, number, len(suite.golds), "corpus"))
        yield plan.access(gold)


def _protect_queries_and_secrets(plan: RunPlan, suite: Suite) -> None:
    """Log the access to sealed queries, and redact the secrets of engines from now on."""
    if any(map(sealed_queries, suite.golds)):
        log_access(suite, "run", list(plan.engines))
    register_secret_values(secret for planned in plan.engines.values() for secret in planned.engine.secrets)


@contextmanager
def _executor(plan: RunPlan, options: ExecutionOptions) -> Iterator[Executor]:
    if options.executor is not None:
        yield options.executor  # closed by its owner
        return
    executor: Executor = SerialExecutor() if plan.jobs == 1 else ProcessExecutor(plan.jobs or 0)
    try:
        yield executor
    finally:
        executor.close()


class _Results:
    """Results of the cells of a plan: first those in the cache, then those that tasks compute."""

    def __init__(
        self,
        plan: RunPlan,
        cells: Sequence[CellId],
        snapshots: Mapping[str, CorpusSnapshot],
        cache: ResultCache | None,
        conditions: Mapping[str, object],
    ) -> None:
        self._order, self._snapshots, self._cache, self._conditions = cells, snapshots, cache, conditions
        self._timed = plan.timing is not None
        self._tables: defaultdict[str, dict[str, tuple[int, ...]]] = defaultdict(dict)
        self.keys = {cell: plan.key(cell, snapshots[cell.gold], conditions) for cell in cells} if cache else {}
        found = {cell: cache.read(key) for cell, key in self.keys.items()} if cache else {}
        self.cells = {cell: self._share_lines(relabel(hit, cell), cell) for cell, hit in found.items() if hit}
        self.pending = plan.pending(cells, self.cells)
        self.cached = frozenset(self.cells).difference(self.pending)

    def add(self, measured: Mapping[str, CellResult], task: CellTask) -> None:
        for cell in task.cells:
            result = measured[cell.engine]
            if self._cache and not self._cache.is_stored(self.keys[cell]):
                self._cache.write(self.keys[cell], result)
            self.cells[cell] = self._share_lines(result, cell)

    def combine(self, reason: str) -> PlanResult:
        ordered = {cell: self.cells[cell] for cell in self._order}
        return PlanResult(
            self._snapshots, ordered, self.cached, reason, self._conditions, timed=self._timed, cache=self._cache
        )

    def _share_lines(self, result: CellResult, cell: CellId) -> CellResult:
        """Move the line sizes of a result into the table of its gold set: thousands of cells name the same files."""
        table = self._tables[cell.gold]
        for path, sizes in result.lines.items():
            table.setdefault(path, sizes)
        return replace(result, lines=table)


#: Names no worker, because results do not depend on the worker.
_DIED = "its worker process died at every attempt"


def _crashed_cells(plan: RunPlan, snapshots: Mapping[str, CorpusSnapshot], task: CellTask) -> dict[str, CellResult]:
    """Return crashed queries for a task that killed every worker, so that other engines keep their results."""
    gold = snapshots[task.access.gold.name].gold
    rankings = [
        Ranking(gold.name, phrased.query.id, phrased.form, status=Status.CRASH, error=_DIED)
        for phrased in phrased_queries(gold, task.access.forms)
    ]
    notes = (f"on {gold.name}: {_DIED}",)
    engines = {name: plan.engines[name].engine for name in task.names}
    return {name: CellResult(engine_record(name, engine, rankings, notes), {}) for name, engine in engines.items()}


def assemble(summary: PlanSummary, results: PlanResult) -> Run:
    """Combine the cells of a plan into a run; untimed runs do not depend on where and when their cells ran."""
    snapshots = [results.snapshots[name] for name in summary.golds]
    cells = {name: [results.cells[CellId(gold, name)] for gold in summary.golds] for name in summary.engines}
    engines = [
        join_engine_runs(name, [cell.engine for cell in own], summary.variations.get(name))
        for name, own in cells.items()
    ]
    tables = [{id(own[at].lines): own[at].lines for own in cells.values()} for at in range(len(snapshots))]
    suite = Suite(tuple(snapshot.gold for snapshot in snapshots))
    days = (result.engine.date for result in results.cells.values())
    return Run(
        suite=suite,
        k=summary.k,
        engines=tuple(engines),
        lines={  # cells share tables
            snapshot.gold.name: join_lines([snapshot.lines, *shared.values()])
            for snapshot, shared in zip(snapshots, tables, strict=True)
        },
        hashes={
            f"{gold.name}/{query.id}": query_hash(query, gold.corpus) for gold in suite.golds for query in gold.queries
        },
        header=RunMetadata(
            assay=__version__,
            date=now().isoformat(timespec="seconds") if results.timed else max(days),
            gold_hash=text_digest("\n".join(map(gold_hash, suite.golds)))[:16],
            corpora={snapshot.gold.name: snapshot.facts for snapshot in snapshots},
            environment=summary.environment,
            timeout=summary.timeout,
            skipped=summary.skipped,
            timed=results.timed,
            analysis_plan=summary.analysis_plan,
        ),
    )


def join_engine_runs(name: str, parts: Sequence[EngineRun], variation: VariantInfo | None = None) -> EngineRun:
    """Combine the records of one engine on several gold sets."""

    def by_gold(get: Callable[[EngineRun], Mapping[str, T]]) -> dict[str, T]:
        return {gold: value for part in parts for gold, value in get(part).items()}

    def common(values: Iterable[str]) -> str:
        different = set(values)
        return different.pop() if len(different) == 1 else "mixed"

    return replace(
        parts[0],
        name=name,
        rankings=tuple(ranking for part in parts for ranking in part.rankings),
        index_seconds=by_gold(lambda part: part.index_seconds),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        resources=by_gold(lambda part: part.resources),
        version=next((part.version for part in parts if part.version), ""),
        stderr=by_gold(lambda part: part.stderr),
        parallel=max(part.parallel for part in parts),
        variation=variation,
        date=max(part.date for part in parts),
        fingerprint=common(part.fingerprint for part in parts),
        code=common(part.code for part in parts),
    )


def failure_reasons(run: Run) -> dict[str, str]:
    """Return the engines that failed on every query, each with the first error."""
    return {
        engine.name: engine.rankings[0].error or engine.rankings[0].status.value
        for engine in run.engines
        if engine.failed_throughout
    }


def check_answered(run: Run) -> Run:
    """Return the run; raise EngineError if one of its engines failed on every query."""
    failed = failure_reasons(run)
    if not failed:
        return run
    error = EngineError(
        "; ".join(f"{name} failed on every query: {reason}" for name, reason in failed.items()),
        hint='fix the engine, or pass failed="report" to score it with the worst values',
    )
    error.run = run
    raise error
