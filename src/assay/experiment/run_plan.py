"""Plan of a run: its cells (engine × gold set), their cache keys, and the tasks that compute them."""

from __future__ import annotations

import heapq
import os
import platform
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path

from assay.digests import digest_of, package_digest
from assay.engines.base import FullEngine, SharedStep, sharing_engine
from assay.engines.kinds import find_kind
from assay.errors import ConfigError
from assay.experiment.cell_cache import (
    CacheKey,
    CellId,
    CorpusSnapshot,
    EngineIdentity,
    ResultCache,
    cell_key,
    engine_identity,
    timed_key,
)
from assay.experiment.corpora import Missing, PreparedGold
from assay.experiment.executors import THREAD_VARIABLES, Executor, available_threads, pinned
from assay.experiment.interleaved import EngineLimits
from assay.experiment.spec import Spec, engine_factory
from assay.experiment.spec.engine_entries import EngineFactory, RunEntry, missing_requirement
from assay.experiment.spec.experiment_spec import resolve_level
from assay.experiment.worker import CellTask, CorpusAccess, TimedInputs
from assay.gold.build import gold_hash
from assay.gold.split import select
from assay.redaction import secret_variables
from assay.store.kinds import UNFINISHED
from assay.store.store import Store
from assay.types import AnalysisPlan, GoldSet, Suite, VariantInfo

_RECORDED = (*THREAD_VARIABLES, "TOKENIZERS_PARALLELISM", "PYTHONHASHSEED")
_PACKAGES = ("numpy", "pathspec", "PyYAML", "rich")
#: A task with fewer variants is not worth opening a corpus and its index once more.
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """Options for executing a run that do not affect rankings."""

    directory: Path | None = None  # results directory, which holds the cells of an unfinished run; None: the cache
    executor: Executor | None = None  # None: processes on this machine
    fresh: bool = False  # ignore cached cells
    reuse_index: bool = False  # let tools reuse indexes of earlier runs
    cache: ResultCache | None = None  # None: see `RunPlan.open_cache`


DEFAULT_OPTIONS = ExecutionOptions()


@dataclass(frozen=True, slots=True)
class Timing:
    threads: int = 0  # processors for every engine; 0: all
    interleave: bool = True  # send each query to all engines in turn; false: one engine after the other


@dataclass(frozen=True)
class PlannedEngine:
    engine: FullEngine = field(repr=False)
    factory: EngineFactory = field(default_factory=lambda: EngineFactory(""))  # unused in a timed run
    variation: VariantInfo | None = None

    @cached_property
    def identity(self) -> EngineIdentity:
        return engine_identity(self.engine, self.factory.spec)

    @cached_property
    def steps(self) -> tuple[SharedStep, ...]:
        """Steps from corpus to ranking; engines with equal steps share their results."""
        shares = sharing_engine(self.engine)
        return shares.steps() if shares else (SharedStep("ranking", digest_of([self.factory.spec, self.factory.name])),)

    @cached_property
    def group(self) -> str:
        """Key of the engines that may run in one task: those with one index, or the shipped engines without an index.

        Other engines run alone, because they may crash.
        """
        if sharing_engine(self.engine) is not None:
            return self.steps[0].digest
        kind = find_kind(self.engine.config.get("kind"))
        return "" if kind is not None and kind.shipped else self.factory.name


@dataclass(frozen=True)
class RunPlan:
    """Engines and gold sets of a run, with all settings that determine the results."""

    suite: Suite
    engines: Mapping[str, PlannedEngine]
    k: int
    forms: tuple[str, ...] = ()
    missing: Missing | None = None
    limits: EngineLimits = field(default_factory=lambda: EngineLimits(0.0, 0.0))
    skipped: Mapping[str, str] = field(default_factory=dict)  # engine -> reason
    analysis_plan: AnalysisPlan | None = None
    reuse_index: bool = False
    jobs: int | None = None  # worker processes; None or 0: as many as processors
    timing: Timing | None = None  # None: cells are independent of each other and not timed
    corpus_cache: Path | None = None  # directory for downloaded corpora; None: the default

    @cached_property
    def cells(self) -> tuple[CellId, ...]:
        """Return every cell, by gold set."""
        return tuple(CellId(gold.name, name) for gold in self.suite.golds for name in self.engines)

    @cached_property
    def digest(self) -> str:
        """Return the digest of the plan; shards with equal digests can be merged."""
        engines = {name: [dict(p.engine.config), p.factory.seed] for name, p in self.engines.items()}
        golds = [[gold.name, gold_hash(gold)] for gold in self.suite.golds]
        return digest_of([package_digest(), engines, golds, self.k, list(self.forms), self.missing, dict(self.skipped)])

    @contextmanager
    def conditions(self) -> Iterator[dict[str, object]]:
        """Pin the processors of a timed run; yield the description of the environment."""
        if self.timing is None:
            yield {**environment(), "interleaved": False}
            return
        with pinned(self.timing.threads or available_threads()) as granted:
            interleaved = self.timing.interleave and len(self.engines) > 1
            yield {**environment(), "pinned": granted, "interleaved": interleaved}

    def open_cache(self, options: ExecutionOptions) -> ResultCache | None:
        """Open the cache of cells; a timed run without a results directory has none."""
        if self.timing and options.directory is None:
            return None
        directory = options.directory or Store().path(UNFINISHED.name, self.digest)
        return ResultCache(directory, fresh=options.fresh)

    def access(self, gold: GoldSet) -> CorpusAccess:
        code = "" if self.timing else package_digest()
        return CorpusAccess(gold, self.forms, self.missing, Path.cwd(), code, self.corpus_cache)

    def key(self, cell: CellId, snapshot: CorpusSnapshot, conditions: Mapping[str, object]) -> CacheKey:
        if self.timing is None:
            return cell_key(self.engines[cell.engine].identity, snapshot, self.k)
        engines = {name: planned.engine for name, planned in self.engines.items()}
        return timed_key(cell.engine, engines, snapshot, self.k, conditions)

    def pending(self, cells: Iterable[CellId], cached: Collection[CellId]) -> list[CellId]:
        """Return the cells to compute: the missing ones and, for interleaved engines, all cells of their gold sets."""
        missing = [cell for cell in cells if cell not in cached]
        if self.timing is None or not self.timing.interleave:
            return missing
        golds = {cell.gold for cell in missing}
        return [cell for cell in cells if cell.gold in golds]

    def tasks(
        self,
        cells: Iterable[CellId],
        snapshots: Mapping[str, CorpusSnapshot],
        width: int,
        prepared: Mapping[str, PreparedGold] | None = None,
    ) -> list[CellTask]:
        """Return the tasks that compute cells, the longest first, and enough of them to occupy all workers.

        A timed run, whose tasks are not sorted, has one task per gold set or, without interleaving, one per cell.
        """
        groups: dict[tuple[str, str], list[str]] = {}
        for cell in cells:
            planned = self.engines[cell.engine]
            group = planned.group if self.timing is None else "" if self.timing.interleave else cell.engine
            groups.setdefault((cell.gold, group), []).append(cell.engine)
        divided = [(gold, names) for (gold, _), names in groups.items()]
        if self.timing is None:
            divided = _divide(divided, snapshots, 2 * width)
            divided.sort(key=lambda group: (-_work(group, snapshots), group))
        tasks = []
        for gold, names in divided:
            chosen = {name: self.engines[name] for name in names}
            factories, timed = tuple(replace(planned.factory, suite=None) for planned in chosen.values()), None
            if prepared:
                engines = {name: planned.engine for name, planned in chosen.items()}
                factories, timed = (), TimedInputs(prepared[gold], engines)
            access, corpus = self.access(snapshots[gold].gold), snapshots[gold].facts.digest
            task = CellTask(access, corpus, factories, self.k, self.limits, self.reuse_index, timed=timed)
            tasks.append(replace(task, secrets=secret_variables()))
        return tasks

    def summary(self, conditions: Mapping[str, object]) -> PlanSummary:
        return PlanSummary(
            plan="" if self.timing else self.digest,
            golds=tuple(gold.name for gold in self.suite.golds),
            engines=tuple(self.engines),
            k=self.k,
            timeout=self.limits.query,
            analysis_plan=self.analysis_plan,
            skipped=dict(self.skipped),
            variations={name: planned.variation for name, planned in self.engines.items() if planned.variation},
            environment=conditions,
        )


_Group = tuple[str, list[str]]  # gold set, engines


def _work(group: _Group, snapshots: Mapping[str, CorpusSnapshot]) -> int:
    gold, names = group
    return snapshots[gold].size + 20_000 * len(names) * snapshots[gold].questions


def _divide(groups: Iterable[_Group], snapshots: Mapping[str, CorpusSnapshot], wanted: int) -> list[_Group]:
    """Halve the groups with the most queries until there are `wanted` groups or all are small."""
    heap = [(-len(names) * snapshots[gold].questions, gold, names) for gold, names in groups]
    heapq.heapify(heap)
    done: list[_Group] = []
    while heap and len(heap) + len(done) < wanted:
        _, gold, names = heapq.heappop(heap)
        if len(names) < 2 * _FEWEST:
            done.append((gold, names))
            continue
        for half in (names[: len(names) // 2], names[len(names) // 2 :]):
            heapq.heappush(heap, (-len(half) * snapshots[gold].questions, gold, half))
    return done + [(gold, names) for _, gold, names in heap]


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """Part of a plan that is enough to assemble a run from the results of its cells."""

    plan: str  # digest; empty for a timed run
    golds: tuple[str, ...]
    engines: tuple[str, ...]
    k: int
    timeout: float
    analysis_plan: AnalysisPlan | None
    skipped: Mapping[str, str] = field(default_factory=dict)
    variations: Mapping[str, VariantInfo] = field(default_factory=dict)
    environment: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def cells(self) -> tuple[CellId, ...]:
        return tuple(CellId(gold, engine) for gold in self.golds for engine in self.engines)


def select_engines(spec: Spec) -> tuple[tuple[RunEntry, ...], dict[str, str]]:
    """Return the engines to run, and the reason for each skipped engine, whose settings are checked."""
    wanted = [entry for entry in spec.entries() if not spec.only or entry.name in spec.only]
    lacking = {entry.name: reason for entry in wanted if (reason := missing_requirement(entry.requires))}
    for name in lacking:
        engine_factory(spec, name).check()
    chosen = tuple(entry for entry in wanted if entry.name not in lacking)
    if not any(entry.name in spec.engines or entry.variation for entry in chosen) and lacking:
        name, reason = next(iter(lacking.items()))
        raise ConfigError(f"cannot run {name}: {reason}", hint="fix the reason, or choose other engines")
    return chosen, lacking


def make_plan(
    spec: Spec,
    suite: Suite,
    options: ExecutionOptions = DEFAULT_OPTIONS,
    *,
    missing: Missing | None = None,
    timed: bool | None = None,
) -> RunPlan:
    """Plan the run of a specification; every engine is made once, so that errors are raised before the run.

    With `timed=None`, the run is timed if `spec.timed` is true, except with an executor and no explicit `times`.
    """
    if timed is None:
        timed = spec.timed and (spec.times is not None or options.executor is None)
    spec = resolve_level(spec, suite)
    entries, skipped = select_engines(spec)
    engines = {}
    for entry in entries:
        factory = engine_factory(spec, entry.name, suite)
        engines[entry.name] = PlannedEngine(factory.make(), factory, entry.variation)
    return RunPlan(
        suite=select(suite, spec.split).suite,
        engines=engines,
        k=spec.k,
        forms=spec.phrasings,
        missing=missing,
        limits=EngineLimits(spec.timeout, spec.index_timeout, spec.max_timeouts),
        skipped=skipped,
        analysis_plan=spec.analysis_plan(),
        reuse_index=options.reuse_index,
        jobs=spec.jobs,
        timing=Timing(spec.threads, spec.interleave) if timed else None,
    )


def environment() -> dict[str, object]:
    """Return the interpreter, machine, package versions and thread variables; other variables could be secret."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "packages": {name: next((d.version for d in distributions(name=name)), "missing") for name in _PACKAGES},
        "threads": {name: os.environ[name] for name in _RECORDED if name in os.environ},
    }


def _cpu() -> str:
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if model := re.search(r"^model name\s*:\s*(.*\S)", text, re.MULTILINE):
            return model[1]
    return platform.processor() or "unknown"
