"""Tasks of a run: survey the corpus of a gold set, and measure engines on it.

Worker processes import this module, so it loads neither numpy nor scoring, stats, search or report.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import cast

from assay.clock import today
from assay.corpus.sources import find_work_tree
from assay.digests import digest_of, package_digest, text_digest
from assay.engines.base import FullEngine, SharedCache, TimedEngine
from assay.errors import CorpusError, SetupError
from assay.experiment.cache import CacheKey, CellCost, CellId, CellResult, CorpusSnapshot, ResultCache, result_code
from assay.experiment.corpora import Missing, PreparedGold, prepare, reopen
from assay.experiment.records.codec import Lines, hit_paths, query_paths
from assay.experiment.records.directory import is_excluded
from assay.experiment.sessions import (
    TIME_DIGITS,
    EngineLimits,
    EngineOutcome,
    ProgressCallback,
    ignore_progress,
    run_interleaved,
)
from assay.experiment.spec.model import BASELINE, EngineFactory
from assay.redaction import make_redactor, register_secret_values
from assay.store.store import Store
from assay.types import Corpus, CorpusInfo, EngineRole, EngineRun, GoldSet, Suite

_CODE_DIGITS = 16  # of a digest, enough to distinguish any two versions


@dataclass(frozen=True, slots=True)
class CorpusAccess:
    """Gold set and how a worker opens its corpus."""

    gold: GoldSet  # as loaded; in a CellTask with anchors resolved
    forms: tuple[str, ...] = ()
    missing: Missing | None = None
    directory: Path | None = None  # base of relative paths; a cluster worker has another working directory
    code: str = ""  # digest of the planning Assay's code; a worker with other code refuses
    cache: Path | None = None  # directory for downloaded corpora; None: the default

    def __str__(self) -> str:
        return f"reading {self.gold.name}"


@dataclass(frozen=True, slots=True)
class CellSink:
    """Cache that a worker writes finished cells to, so that a kill costs only the cells in progress."""

    directory: Path
    keys: Mapping[str, CacheKey]  # by engine


@dataclass(frozen=True, slots=True)
class TimedInputs:
    """Opened corpus and engines of a timed task, which never leaves the planning process."""

    prepared: PreparedGold
    engines: Mapping[str, FullEngine]


@dataclass(frozen=True, slots=True)
class CellTask:
    """Engines to run on one gold set; engines that share an index are in one task."""

    access: CorpusAccess
    corpus: str  # digest of the corpus at planning time
    factories: tuple[EngineFactory, ...]  # empty in a timed task
    k: int
    limits: EngineLimits
    reuse_index: bool = False
    sink: CellSink | None = None  # None: the worker may not share the planner's file system
    timed: TimedInputs | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.timed.engines) if self.timed else tuple(factory.name for factory in self.factories)

    @property
    def cells(self) -> tuple[CellId, ...]:
        return tuple(CellId(self.access.gold.name, name) for name in self.names)

    def __str__(self) -> str:
        others = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
        return f"{self.names[0]}{others} on {self.access.gold.name}"


def survey(access: CorpusAccess) -> CorpusSnapshot:
    """Open the corpus of a gold set, resolve its anchors and return the facts that planning needs."""
    _check_code(access)
    return take_snapshot(prepare_corpus(access))


def prepare_corpus(access: CorpusAccess) -> PreparedGold:
    prepared = prepare(_localize_gold(access), access.forms, access.cache, access.missing)
    return _with_planned_source(prepared, access)


def take_snapshot(prepared: PreparedGold) -> CorpusSnapshot:
    gold, corpus = prepared.gold, prepared.corpus
    return CorpusSnapshot(
        gold=gold,
        facts=CorpusInfo(
            repository=_repository(corpus),
            revision=corpus.revision,
            digest=corpus.digest,
            files=len(corpus.files),
            skipped=_count_skipped(corpus),
            notes=corpus.notes,
            problems=prepared.problems,
        ),
        lines=_line_table(prepared, query_paths(gold.queries)),
        size=sum(file.size for file in corpus.files),
        questions=len(prepared.queries),
        asked=digest_of([[phrased.query.id, phrased.form, phrased.text] for phrased in prepared.queries]),
        own=tuple(sorted(prepared.own)),
    )


def measure(task: CellTask, report: ProgressCallback = ignore_progress) -> dict[str, CellResult]:
    """Run the engines of a task and return their results by name.

    A timed task interleaves all its engines query by query; each has a private copy of the corpus and shares nothing.
    Other tasks share indexes and cached steps, and record no times.
    """
    if task.timed:
        return _run_group(task, task.timed.engines, task.timed.prepared, None, report)
    _check_code(task.access)
    # Always reopened, because files may have changed since the survey.
    prepared = _with_planned_source(reopen(_localize_gold(task.access), task.access.forms), task.access)
    if prepared.corpus.digest != task.corpus:
        raise _corpus_changed(prepared)
    suite = Suite((prepared.gold,))
    engines = {factory.name: replace(_localize(factory, task.access), suite=suite).make() for factory in task.factories}
    register_secret_values(secret for engine in engines.values() for secret in engine.secrets)
    with Store() as store:
        shared = SharedCache(prepared.corpus, store, reuse_index=task.reuse_index)
        try:
            cells: dict[str, CellResult] = {}
            for group in _groups(engines):
                cells |= _run_group(task, group, prepared, shared, report)
        finally:
            shared.close()
    if shared.moved:
        raise _corpus_changed(prepared)
    return {name: cells[name] for name in engines}


def _groups(engines: Mapping[str, FullEngine]) -> list[dict[str, FullEngine]]:
    """Group engines that run in this process, which share what they look up for a query; others run one by one."""
    local = {name: engine for name, engine in engines.items() if not isinstance(engine, TimedEngine)}
    return [*([local] if local else []), *({name: engines[name]} for name in engines if name not in local)]


def _run_group(
    task: CellTask,
    engines: Mapping[str, FullEngine],
    prepared: PreparedGold,
    shared: SharedCache | None,
    report: ProgressCallback,
) -> dict[str, CellResult]:
    before = shared.made.copy() if shared else Counter[str]()
    outcomes = run_interleaved(engines, prepared, task.k, task.limits, report, shared=shared)
    made = tuple(sorted((shared.made - before).elements())) if shared else ()
    cells = {}
    for name, outcome in outcomes.items():
        run = replace(engine_run(name, engines[name], prepared.gold.name, outcome), date=today())
        lines = _line_table(prepared, hit_paths(run.rankings))
        cells[name] = CellResult(run, lines) if shared is None else _untimed(CellResult(run, lines), outcome, made)
    if task.sink and not (shared and shared.moved):
        cache = ResultCache(task.sink.directory)
        with suppress(SetupError):  # the planning process tries again, and reports the failure
            for name, cell in cells.items():
                cache.write(task.sink.keys[name], cell)
    return cells


def _untimed(cell: CellResult, outcome: EngineOutcome, made: tuple[str, ...]) -> CellResult:
    """Move the times of a cell out of its records: other cells ran at the same time."""
    seconds = round(sum(ranking.seconds for ranking in outcome.rankings), TIME_DIGITS)
    spent = CellCost(outcome.index_seconds, seconds, f"{socket.gethostname()}:{os.getpid()}", made)
    rankings = tuple(replace(ranking, seconds=0.0) for ranking in cell.engine.rankings)
    return replace(cell, engine=replace(cell.engine, rankings=rankings, index_seconds={}, resources={}), spent=spent)


def engine_run(name: str, engine: FullEngine, gold: str, outcome: EngineOutcome) -> EngineRun:
    """Return the record of an engine on one gold set."""
    oversampled = [f"asked for {engine.oversample} × k results (oversample)"] if engine.oversample > 1 else []
    concurrent = [f"{outcome.parallel} questions were in flight at once"] if outcome.parallel > 1 else []
    redactor = make_redactor(engine.secrets)
    notes = (*map(redactor.text, engine.notes), *oversampled, *concurrent, *outcome.notes)
    return EngineRun(
        name=name,
        rankings=outcome.rankings,
        role=_role(name, engine),
        oversample=engine.oversample,
        config=cast(dict[str, object], redactor.value(engine.config)),
        index_seconds={} if outcome.index_seconds is None else {gold: outcome.index_seconds},
        notes=tuple(dict.fromkeys(notes)),
        resources={gold: outcome.resources},
        version=outcome.version,
        stderr={gold: outcome.stderr} if outcome.stderr else {},
        parallel=outcome.parallel,
        fingerprint=engine.fingerprint,
        code=result_code()[:_CODE_DIGITS],
    )


def _role(name: str, engine: FullEngine) -> EngineRole:
    # A keywords engine under another name was declared by the user, so it is under test.
    return "candidate" if engine.role == "reference" and name != BASELINE else engine.role


def _line_table(prepared: PreparedGold, paths: Iterable[str]) -> Lines:
    return {path: prepared.sizes.lines(path) for path in sorted(paths) if path in prepared.sizes}


def _repository(corpus: Corpus) -> str:
    """Return the repository that queries are clustered by: for a directory its work tree, else the directory.

    The hash distinguishes directories of one name without recording local paths.
    """
    if corpus.spec.kind != "path":
        return corpus.spec.repository
    top = find_work_tree(corpus.root.resolve()) or corpus.root.resolve()
    return f"path:{top.name}-{text_digest(str(top))[:6]}"


def _count_skipped(corpus: Corpus) -> dict[str, int]:
    """Count the files left out of a corpus by reason, without those in results directories."""
    known: dict[PurePosixPath, bool] = {}

    def is_results(directory: PurePosixPath) -> bool:
        if directory not in known:
            known[directory] = is_excluded(corpus.root / directory)
        return known[directory]

    paths = ((skipped.reason, PurePosixPath(skipped.path)) for skipped in corpus.skipped)
    counts = Counter(reason for reason, path in paths if not any(map(is_results, (path, *path.parents))))
    return dict(sorted(counts.items()))


def _corpus_changed(prepared: PreparedGold) -> CorpusError:
    return CorpusError(
        f"the corpus of {prepared.gold.name} changed during the run",
        file=prepared.corpus.root,
        hint="exclude files that change, such as logs, in .assayignore; finished cells are reused",
    )


def _check_code(access: CorpusAccess) -> None:
    if access.code and access.code != package_digest():
        raise SetupError(
            f"the Assay on {socket.gethostname()} differs from the one that planned the run",
            hint="install the same version on every worker and restart them",
        )


def _with_planned_source(prepared: PreparedGold, access: CorpusAccess) -> PreparedGold:
    return replace(prepared, gold=replace(prepared.gold, source=access.gold.source))


def _localize_gold(access: CorpusAccess) -> GoldSet:
    source = access.gold.source
    if source is None or access.directory is None or access.directory == Path.cwd():
        return access.gold
    return replace(access.gold, source=str(access.directory / source))


def _localize(factory: EngineFactory, access: CorpusAccess) -> EngineFactory:
    if access.directory is None or access.directory == Path.cwd():
        return factory
    file = None if factory.file is None else str(access.directory / factory.file)
    return replace(factory, directory=access.directory / factory.directory, file=file)
