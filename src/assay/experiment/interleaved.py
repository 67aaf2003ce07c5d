"""Run engines on one gold set, interleaved query by query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, cast

from assay.clock import today
from assay.corpus.opening import directory_size
from assay.engines.base import FullEngine, Session, SessionUsage, SharedCache, TimedEngine, sharing_engine
from assay.engines.calls import (
    QueryOutcome,
    close_session,
    open_session,
    query_session,
    session_notes,
    session_usage,
    summarize,
)
from assay.engines.normalize import Normalizer
from assay.errors import EngineError, SetupError
from assay.experiment.cell_cache import result_code
from assay.experiment.corpora import PhrasedQuery, PreparedGold, private_copy
from assay.experiment.spec.analysis_plan import BASELINE
from assay.processes.forks import AddedMemory
from assay.redaction import Redactor, make_redactor
from assay.types import Corpus, EngineRun, Hit, Ranking, Resources, Status

#: Times are rounded to the microsecond, so that numbers computed from memory and from disk are equal.
TIME_DIGITS = 6
_CODE_DIGITS = 16  # of a digest, enough to distinguish any two versions


@dataclass(frozen=True, slots=True)
class EngineLimits:
    query: float  # seconds
    index: float  # seconds
    max_timeouts: int = 0  # consecutive timeouts after which the engine gets no more queries; 0: never
    stderr: int = 8_000  # characters kept of the end of stderr: a traceback with its message


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a run, as passed to progress callbacks."""

    engine: str
    gold: str
    done: int
    total: int
    step: Literal["corpus", "index", "search", "trouble", "cells"]
    trouble: str = ""  # why an engine gets no more queries
    seconds: float = 0.0  # total time of all queries; 0 before the last query

    def __str__(self) -> str:
        if self.step == "corpus":
            return f"{self.gold}: reading the corpus"
        if self.step == "index":
            return f"{self.engine}: opening on {self.gold}"
        if self.step == "trouble":
            return f"{self.engine}: {self.trouble}"
        if self.step == "cells":
            return f"{self.done}/{self.total} cells{f', last on {self.gold}' if self.gold else ''}"
        return f"{self.engine}: {self.done}/{self.total} searches on {self.gold}"


ProgressCallback = Callable[[Progress], None]


def ignore_progress(_: Progress) -> None:
    pass


def run_interleaved(
    engines: Mapping[str, FullEngine],
    prepared: PreparedGold,
    k: int,
    limits: EngineLimits,
    report: ProgressCallback,
    *,
    shared: SharedCache | None = None,
) -> dict[str, EngineRun]:
    """Open every engine and send each query to all in rotating order; engines with concurrent queries run at the end.

    With `shared`, engines share indexes and cached steps, and neither memory nor index sizes are measured.
    """
    with ExitStack() as stack:
        sessions = []
        for name, engine in engines.items():
            report(Progress(name, prepared.gold.name, 0, len(prepared.queries), "index"))
            shares = shared is not None and sharing_engine(engine) is not None
            corpus = prepared.corpus if shares else stack.enter_context(private_copy(engine, prepared.corpus))
            session = _EngineSession(name, engine, corpus, prepared, k, limits, report, shared)
            stack.callback(session.close)
            session.open()
            sessions.append(session)
        serial = [session for session in sessions if session.parallel == 1]
        for number, query in enumerate(prepared.queries):
            first = number % len(serial) if serial else 0
            for session in (*serial[first:], *serial[:first]):
                session.search(query)
        for session in sessions:
            if session.parallel > 1:
                session.search_concurrently(prepared.queries)
        return {session.name: session.finish() for session in sessions}


@dataclass(eq=False)
class _EngineSession:
    name: str
    engine: FullEngine
    corpus: Corpus
    prepared: PreparedGold
    k: int
    limits: EngineLimits
    progress: ProgressCallback
    shared: SharedCache | None
    session: Session | None = None
    open_error: str = ""
    open_stderr: str = ""
    index_seconds: float | None = None
    index_bytes: int | None = None
    memory: AddedMemory = field(default_factory=AddedMemory)
    timeouts: int = 0  # consecutive
    rankings: list[Ranking] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def parallel(self) -> int:
        return self.engine.parallel if isinstance(self.engine, TimedEngine) else 1  # others run in a single thread

    @cached_property
    def measured(self) -> bool:
        """Whether memory is measured: not of engines that share indexes, or that run in processes of their own."""
        return self.shared is None and not isinstance(self.engine, TimedEngine)

    def search(self, query: PhrasedQuery) -> None:
        self._record(query, self._query(query))

    def search_concurrently(self, queries: Sequence[PhrasedQuery]) -> None:
        with ThreadPoolExecutor(self.parallel, thread_name_prefix="assay-query") as pool:
            for query, outcome in zip(queries, pool.map(self._query, queries), strict=True):
                self._record(query, outcome)

    def finish(self) -> EngineRun:
        """Close the engine and return its record."""
        usage = SessionUsage() if self.session is None else session_usage(self.session)
        self.close()
        gold = self.prepared.gold.name
        sizes = [size for size in (self.index_bytes, usage.store_bytes) if size is not None]
        resources = Resources(
            None if usage.startup_seconds is None else round(usage.startup_seconds, TIME_DIGITS),
            sum(sizes) if sizes else None,
            self.memory.peak if usage.peak_bytes is None else usage.peak_bytes,
        )
        stderr = self._clean(usage.stderr or self.open_stderr)[-self.limits.stderr :]
        concurrent = [f"{self.parallel} concurrent queries"] if self.parallel > 1 else []
        record = engine_record(self.name, self.engine, self.rankings, [*concurrent, *map(self._clean, self.notes)])
        return replace(
            record,
            index_seconds={} if self.index_seconds is None else {gold: self.index_seconds},
            resources={gold: resources},
            version=self._clean(usage.version),
            stderr={gold: stderr} if stderr else {},
            parallel=self.parallel,
        )

    def open(self) -> None:
        sized = self.engine.private and self.shared is None
        before = directory_size(self.corpus.root) if sized else 0
        try:
            with self._measured_memory():
                opened = open_session(self.engine, self.corpus, self.limits.index, cache=self.shared)
        except (EngineError, SetupError) as error:
            self.open_error = self._clean(summarize(error)).removeprefix("cannot open the engine: ")
            self.open_stderr = error.stderr if isinstance(error, EngineError) else ""
            self.notes.append(f"could not be opened on {self.prepared.gold.name}: {self.open_error}")
            self._report("trouble", self.notes[-1])
            return
        self.session = opened.session
        self.index_seconds = round(opened.seconds, TIME_DIGITS)
        if sized:
            self.index_bytes = max(0, directory_size(self.corpus.root) - before)

    def close(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            problem = close_session(session)
            self.notes += [*session_notes(session), *([problem] if problem else [])]

    def _query(self, query: PhrasedQuery) -> QueryOutcome:
        if self.session is None:
            return QueryOutcome(Status.ERROR, error=self.open_error)
        if self.limits.max_timeouts and self.timeouts >= self.limits.max_timeouts:
            return QueryOutcome(Status.TIMEOUT, error=f"skipped after {self.timeouts} consecutive timeouts")
        with self._measured_memory():
            wanted = self.k * self.engine.oversample
            outcome = query_session(self.session, query.text, wanted, self.limits.query)
        self.timeouts = self.timeouts + 1 if outcome.status is Status.TIMEOUT else 0
        if self.timeouts and self.timeouts == self.limits.max_timeouts:
            self._report("trouble", f"gets no more queries: {self.timeouts} consecutive timeouts")
        return outcome

    def _record(self, query: PhrasedQuery, outcome: QueryOutcome) -> None:
        normalized = self._normalizer(outcome.hits, self.k, oversample=self.engine.oversample)
        sizes = self.prepared.sizes
        paths = [hit.path if hit.path in sizes else self._clean(hit.path) for hit in normalized.hits]
        own = [path for path in paths if self.prepared.is_own(path)]
        dropped = [f"results that are Assay's own files were dropped, e.g. {own[0]}"] if own else []
        hits = zip(paths, normalized.hits, strict=True)
        kept = tuple([Hit(path, hit.start, hit.end, hit.score) for path, hit in hits if path not in own])
        self.rankings.append(
            Ranking(
                gold=self.prepared.gold.name,
                query=query.query.id,
                form=query.form,
                hits=kept,
                tokens=tuple(map(sizes.tokens, kept)),
                status=outcome.status,
                seconds=round(outcome.seconds, TIME_DIGITS),
                error=None if outcome.error is None else self._clean(outcome.error),
                notes=tuple(map(self._clean, (*outcome.notes, *normalized.notes, *dropped))),
                cost=outcome.cost,
            )
        )
        if self.session is not None:
            self._report("search")

    @cached_property
    def _normalizer(self) -> Normalizer:
        sizes, original = self.prepared.sizes, self.prepared.corpus.root
        return Normalizer(self.corpus, lambda path: len(sizes.lines(path)), also=(original,))

    def _measured_memory(self) -> AbstractContextManager[None]:
        return self.memory.measure() if self.measured else nullcontext()

    def _report(self, step: Literal["search", "trouble"], trouble: str = "") -> None:
        done, total = len(self.rankings), len(self.prepared.queries)
        seconds = sum(ranking.seconds for ranking in self.rankings) if done == total else 0.0
        self.progress(Progress(self.name, self.prepared.gold.name, done, total, step, trouble, seconds))

    def _clean(self, text: str) -> str:
        text = text.replace(str(self.corpus.root), "{root}") if self.engine.private else text
        return self._redactor.text(text)

    @cached_property
    def _redactor(self) -> Redactor:
        return make_redactor(self.engine.secrets)


def engine_record(name: str, engine: FullEngine, rankings: Iterable[Ranking], notes: Iterable[str]) -> EngineRun:
    """Return the record of an engine on one gold set, without secrets and resources."""
    redactor = make_redactor(engine.secrets)
    oversampled = [f"requested {engine.oversample} × k results (oversample)"] if engine.oversample > 1 else []
    # A keywords engine under another name was declared by the user, so it is under test.
    renamed = engine.role == "reference" and name != BASELINE
    return EngineRun(
        name=name,
        rankings=tuple(rankings),
        role="candidate" if renamed else engine.role,
        oversample=engine.oversample,
        config=cast(dict[str, object], redactor.value(engine.config)),
        notes=tuple(dict.fromkeys((*map(redactor.text, engine.notes), *oversampled, *notes))),
        date=today(),
        fingerprint=engine.fingerprint,
        code=result_code()[:_CODE_DIGITS],
    )
