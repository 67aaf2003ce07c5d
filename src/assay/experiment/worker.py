"""Tasks of a run: survey the corpus of a gold set, and measure engines on it.

Worker processes import this module, so it loads neither numpy nor scoring, stats, search or report.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath

from assay.corpus.git import read_head, read_root_commit
from assay.corpus.sources import find_work_tree
from assay.corpus_changes import changed_during_run
from assay.digests import digest_of, package_digest, text_digest
from assay.engines.base import FullEngine, SharedCache, TimedEngine, sharing_engine
from assay.errors import SetupError
from assay.experiment.cell_cache import CacheKey, CellCost, CellId, CellResult, CorpusSnapshot, ResultCache
from assay.experiment.corpora import Missing, PreparedGold, prepare, reopen
from assay.experiment.interleaved import TIME_DIGITS, EngineLimits, ProgressCallback, ignore_progress, run_interleaved
from assay.experiment.records.codec import Lines, hit_paths, query_paths
from assay.experiment.records.directory import is_excluded
from assay.experiment.spec.engine_entries import EngineFactory
from assay.gold.git_history import find_stale_ranges
from assay.redaction import register_secret_values, register_variables
from assay.store.store import Store
from assay.types import Corpus, CorpusInfo, EngineRun, GoldSet, Suite

#: Files of a corpus whose digests are recorded: 60 bytes each in a run, 8 in a baseline file.
_MAX_FILE_DIGESTS = 10_000
_FILE_DIGITS = 6


@dataclass(frozen=True, slots=True)
class CorpusAccess:
    """Gold set, and the settings with which a worker opens its corpus."""

    gold: GoldSet  # as loaded; in a CellTask with anchors resolved
    forms: tuple[str, ...] = ()
    missing: Missing | None = None
    directory: Path | None = None  # base of relative paths; a cluster worker has another working directory
    code: str = ""  # digest of the planning Assay's code; a worker with other code refuses
    cache: Path | None = None  # directory for downloaded corpora; None: the default

    @property
    def base(self) -> Path:
        return Path() if self.directory in (None, Path.cwd()) else self.directory

    def __str__(self) -> str:
        return f"reading {self.gold.name}"


@dataclass(frozen=True, slots=True)
class TimedInputs:
    """Opened corpus and engines of a timed task, which never leaves the planning process."""

    prepared: PreparedGold
    engines: Mapping[str, FullEngine]


@dataclass(frozen=True, slots=True)
class CellTask:
    access: CorpusAccess
    corpus: str  # digest of the corpus at planning time
    factories: tuple[EngineFactory, ...]  # empty in a timed task
    k: int
    limits: EngineLimits
    reuse_index: bool = False
    cache: Path | None = None  # of finished cells, so that a kill costs only those in progress; None: not on this disk
    keys: Mapping[str, CacheKey] = field(default_factory=dict)  # of the cells, by engine
    secrets: tuple[str, ...] = ()  # environment variables whose values no result may contain
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
    prepared = prepare(_local_gold(access), access.forms, access.cache, access.missing)
    return replace(prepared, gold=replace(prepared.gold, source=access.gold.source))


def take_snapshot(prepared: PreparedGold) -> CorpusSnapshot:
    gold, corpus = prepared.gold, prepared.corpus
    tree = find_work_tree(corpus.root.resolve()) if corpus.spec.kind == "path" else None
    small = len(corpus.hashes) <= _MAX_FILE_DIGESTS
    repository = corpus.spec.repository
    if corpus.spec.kind == "path":
        top = tree or corpus.root.resolve()
        repository = f"path:{top.name}-{text_digest(str(top))[:6]}"  # directories may share a name; no path is recorded
    return CorpusSnapshot(
        gold=gold,
        facts=CorpusInfo(
            repository=repository,
            revision=corpus.revision or (read_head(corpus.root) if tree else None),
            digest=corpus.digest,
            files=len(corpus.files),
            skipped=_count_skipped(corpus),
            notes=corpus.notes,
            problems=prepared.problems,
            stale=tuple(target.anchor for target in find_stale_ranges(gold, corpus)) if tree else (),
            root_commit=read_root_commit(tree) if tree else None,
            file_digests={path: full[:_FILE_DIGITS] for path, full in sorted(corpus.hashes.items())} if small else {},
        ),
        lines=_line_table(prepared, query_paths(gold.queries)),
        size=sum(file.size for file in corpus.files),
        questions=len(prepared.queries),
        asked=digest_of([[phrased.query.id, phrased.form, phrased.text] for phrased in prepared.queries]),
        own=tuple(sorted(prepared.own)),
    )


def measure(task: CellTask, report: ProgressCallback = ignore_progress) -> dict[str, CellResult]:
    """Run the engines of a task and return their results by name.

    A timed task interleaves its engines query by query, and they share nothing. The engines of other tasks share
    indexes and cached steps, and their rankings record no times.
    """
    if task.timed:
        return _run_group(task, task.timed.engines, task.timed.prepared, None, report)
    _check_code(task.access)
    register_variables(task.secrets)
    # Always reopened, because files may have changed since the survey.
    prepared = replace(reopen(_local_gold(task.access), task.access.forms), gold=task.access.gold)
    if prepared.corpus.digest != task.corpus:
        raise changed_during_run(prepared.gold.name, prepared.corpus.root)
    suite = Suite((prepared.gold,))
    engines = {factory.name: _make_engine(factory, task.access.base, suite) for factory in task.factories}
    register_secret_values(secret for engine in engines.values() for secret in engine.secrets)
    # Engines in this process share what they look up for a query; others run one by one.
    local = {name: engine for name, engine in engines.items() if not isinstance(engine, TimedEngine)}
    groups = [local, *({name: engines[name]} for name in engines if name not in local)]
    with Store() as store:
        shared = SharedCache(prepared.corpus, store, reuse_index=task.reuse_index)
        try:
            cells: dict[str, CellResult] = {}
            for group in filter(None, groups):
                cells |= _run_group(task, group, prepared, shared, report)
        finally:
            shared.close()
    if shared.moved:
        raise changed_during_run(prepared.gold.name, prepared.corpus.root)
    return {name: cells[name] for name in engines}


def _run_group(
    task: CellTask,
    engines: Mapping[str, FullEngine],
    prepared: PreparedGold,
    shared: SharedCache | None,
    report: ProgressCallback,
) -> dict[str, CellResult]:
    before = shared.made.copy() if shared else Counter[str]()
    records = run_interleaved(engines, prepared, task.k, task.limits, report, shared=shared)
    made = tuple(sorted((shared.made - before).elements())) if shared else ()
    cells = {}
    for name, record in records.items():
        lines = _line_table(prepared, hit_paths(record.rankings))
        cells[name] = CellResult(record, lines) if shared is None else _untimed(record, lines, made)
    if task.cache and not (shared and shared.moved):
        stored = ResultCache(task.cache)
        with suppress(SetupError):  # the planning process tries again, and reports the failure
            for name, cell in cells.items():
                stored.write(task.keys[name], cell)
    return cells


def _untimed(record: EngineRun, lines: Lines, made: tuple[str, ...]) -> CellResult:
    """Return a cell whose times are not in its record: other cells ran at the same time."""
    seconds = round(sum(ranking.seconds for ranking in record.rankings), TIME_DIGITS)
    index_seconds = next(iter(record.index_seconds.values()), None)
    spent = CellCost(index_seconds, seconds, f"{socket.gethostname()}:{os.getpid()}", made)
    rankings = tuple(replace(ranking, seconds=0.0) for ranking in record.rankings)
    return CellResult(replace(record, rankings=rankings, index_seconds={}, resources={}), lines, spent)


def _line_table(prepared: PreparedGold, paths: Iterable[str]) -> Lines:
    return {path: prepared.sizes.lines(path) for path in sorted(paths) if path in prepared.sizes}


def _count_skipped(corpus: Corpus) -> dict[str, int]:
    """Count the files left out of a corpus by reason, without those in results directories."""
    is_results = cache(lambda directory: is_excluded(corpus.root / directory))
    paths = ((skipped.reason, PurePosixPath(skipped.path)) for skipped in corpus.skipped)
    counts = Counter(reason for reason, path in paths if not any(map(is_results, (path, *path.parents))))
    return dict(sorted(counts.items()))


def _check_code(access: CorpusAccess) -> None:
    if access.code and access.code != package_digest():
        raise SetupError(
            f"the code of Assay on {socket.gethostname()} differs from that of the planning process",
            hint="install the same version on every worker and restart them",
        )


def _local_gold(access: CorpusAccess) -> GoldSet:
    gold = access.gold
    return gold if gold.source is None else replace(gold, source=str(access.base / gold.source))


_made: dict[bytes, FullEngine] = {}  # engines of this process by their pickled factory


def _make_engine(factory: EngineFactory, base: Path, suite: Suite) -> FullEngine:
    """Create an engine, or reuse one that shares indexes: those are stateless."""
    file = factory.file and str(base / factory.file)
    local = replace(factory, directory=base / factory.directory, file=file)
    key = pickle.dumps(local)
    if key in _made:
        return _made[key]
    engine = replace(local, suite=suite).make()
    if sharing_engine(engine) is not None and not isinstance(engine, TimedEngine):
        _made[key] = engine
    return engine
