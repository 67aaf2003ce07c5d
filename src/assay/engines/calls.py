"""Open and query engines with timeouts; a failed query is returned as an outcome, not raised as an exception.

An engine in this process opens, searches and closes in one thread, because some libraries tie resources to a thread. A
call that times out is abandoned: its thread is a daemon, which cannot delay the end of the process, and the next call
uses a new thread. `session_notes` counts abandoned queries. An engine that enforces timeouts itself (`TimedEngine`,
`TimedSession`) is called directly.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar, cast

from assay.clock import format_duration
from assay.engines.base import (
    Engine,
    EngineCrash,
    EngineReply,
    FilteringSession,
    MeasuredSession,
    SearchFilter,
    SearchReply,
    Session,
    SessionUsage,
    SessionWithNotes,
    SharedCache,
    TimedEngine,
    TimedSession,
    UpdatingSession,
    sharing_engine,
)
from assay.engines.normalize import read_reply
from assay.errors import AssayError, EngineError, EngineTimeoutError
from assay.processes.forks import waiting
from assay.types import Corpus, Cost, Hit, Status

T = TypeVar("T")

ABANDONED = "a query was abandoned and may still be running: later times are not reliable"
_HINT = "raise --timeout"


@dataclass(frozen=True, slots=True)
class CallLimits:
    close: float = 5.0  # seconds to close before the engine is abandoned
    message: int = 500  # characters of a recorded error message


CALL_LIMITS = CallLimits()


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    status: Status
    hits: tuple[Hit, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    cost: Cost | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenEngine:
    session: Session
    seconds: float


def open_session(
    engine: Engine, corpus: Corpus, timeout: float | None = None, *, cache: SharedCache | None = None
) -> OpenEngine:
    """Open an engine on a corpus, with cached steps if possible; raise AssayError on any failure."""
    shares = None if cache is None else sharing_engine(engine)
    opening: Callable[[], Session] = partial(engine.open, corpus)
    if cache is not None and shares is not None:
        opening = partial(shares.open_shared, corpus, cache, timeout)
    elif isinstance(engine, TimedEngine):
        opening = partial(engine.open_within, corpus, timeout)
    if isinstance(engine, TimedEngine):  # in this thread, so that an interrupt reaches the engine
        done = _run_here(opening)
        if done.value is None:
            raise _opening_error(done.problem) from done.problem
        return OpenEngine(done.value, done.seconds)
    threaded = _ThreadedSession()
    done = threaded.call(opening, timeout)
    if done.value is None:
        threaded.end()
        raise _opening_error(done.problem, abandoned=threaded.abandoned) from done.problem
    if isinstance(done.value, TimedSession):
        threaded.end()
        return OpenEngine(done.value, done.seconds)
    threaded.inner = done.value
    return OpenEngine(threaded, done.seconds)


def _opening_error(problem: BaseException | None, *, abandoned: bool = False) -> AssayError:
    if isinstance(problem, EngineTimeoutError):
        message = f"cannot open the engine: {problem.message}{'; it may still be running' if abandoned else ''}"
        hint = None if abandoned else problem.hint
        late = EngineTimeoutError(message, hint=hint or "raise `index_timeout` or choose a smaller corpus")
        late.stderr = problem.stderr
        return late
    if isinstance(problem, AssayError):
        return problem
    return EngineError(
        f"cannot open the engine: {summarize(problem)}", hint="open the engine outside Assay to see the traceback"
    )


def query_session(session: Session, query: str, k: int, timeout: float | None = None) -> QueryOutcome:
    """Search for k results and return the outcome; raise only KeyboardInterrupt."""
    if isinstance(session, _ThreadedSession):
        return _outcome(session.call(lambda: read_reply(session.inner.search(query, k)), timeout))
    if isinstance(session, TimedSession):
        return _outcome(_run_here(lambda: read_reply(session.search_within(query, k, timeout))))
    threaded = _ThreadedSession()
    threaded.inner = session
    try:
        return query_session(threaded, query, k, timeout)
    finally:
        threaded.end()


def query_filtered(
    session: Session, query: str, k: int, wanted: SearchFilter, timeout: float | None = None
) -> QueryOutcome | None:
    """Search with a filter and return the outcome; None if the session does not support the filter."""
    inner = _inner(session)
    needed = {name for name in ("paths", "languages") if getattr(wanted, name)}
    if not isinstance(inner, FilteringSession) or not needed <= inner.filters:
        return None
    return _outcome(_call(session, lambda: read_reply(inner.search_filtered(query, k, wanted, timeout)), timeout))


def update_session(session: Session, corpus: Corpus, timeout: float | None = None) -> QueryOutcome | None:
    """Update a session after files changed and return the outcome; None if the session does not support updates."""
    inner = _inner(session)
    if not isinstance(inner, UpdatingSession):
        return None

    def update() -> EngineReply:
        inner.update_within(corpus, timeout)
        return EngineReply(())

    return _outcome(_call(session, update, timeout, "raise `index_timeout`"))


def session_usage(session: Session) -> SessionUsage:
    """Return the resources used by a session; an empty record if the session measures none or measuring fails."""
    inner = _inner(session)
    if not isinstance(inner, MeasuredSession):
        return SessionUsage()
    return _call(session, inner.usage, CALL_LIMITS.close).value or SessionUsage()


def close_session(session: Session) -> str | None:
    problem = _run_here(session.close).problem
    return None if problem is None else f"close failed: {summarize(problem)}"


def session_notes(session: Session) -> tuple[str, ...]:
    if isinstance(session, _ThreadedSession):
        return (ABANDONED,) if session.abandoned else ()
    return session.session_notes() if isinstance(session, SessionWithNotes) else ()


def summarize(problem: BaseException | None) -> str:
    def one_line(text: str) -> str:
        return " ".join(text.split())[: CALL_LIMITS.message]

    if problem is None:
        return "returned None"
    if not isinstance(problem, AssayError):
        return one_line(f"{type(problem).__name__}: {problem}").removesuffix(":")
    return one_line(problem.message) + (f" → {one_line(problem.hint)}" if problem.hint else "")


@dataclass(frozen=True, slots=True)
class _CallResult(Generic[T]):
    value: T | None
    problem: BaseException | None
    seconds: float


def _outcome(done: _CallResult[EngineReply]) -> QueryOutcome:
    reply, problem, status = done.value, done.problem, Status.ERROR
    if reply is not None:
        return QueryOutcome(Status.OK, reply.hits, max(done.seconds - reply.waited, 0.0), None, reply.cost, reply.notes)
    if isinstance(problem, EngineTimeoutError):
        status = Status.TIMEOUT
    elif isinstance(problem, EngineCrash):
        status = Status.CRASH
    waited = problem.waited if isinstance(problem, EngineError) else 0.0
    return QueryOutcome(status, (), max(done.seconds - waited, 0.0), summarize(problem))


def _inner(session: Session) -> Session:
    return session.inner if isinstance(session, _ThreadedSession) else session


def _call(session: Session, function: Callable[[], T], timeout: float | None, hint: str = _HINT) -> _CallResult[T]:
    return session.call(function, timeout, hint) if isinstance(session, _ThreadedSession) else _run_here(function)


def _run_here(function: Callable[[], T]) -> _CallResult[T]:
    done = _run(function)
    if isinstance(done.problem, KeyboardInterrupt):
        raise done.problem
    return done


def _run(function: Callable[[], T]) -> _CallResult[T]:
    begin = time.perf_counter()
    try:
        value = function()
    except BaseException as problem:
        return _CallResult(None, problem, time.perf_counter() - begin)
    return _CallResult(value, None, time.perf_counter() - begin)


class _ThreadedSession:
    """A session whose calls run one after another in one thread, which is replaced after a timeout."""

    inner: Session  # unset until opened

    def __init__(self) -> None:
        self.abandoned = False  # whether a call was abandoned
        self._start()

    def _start(self) -> None:
        calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

        def receive() -> Callable[[], None] | None:
            with waiting():
                return calls.get()

        def serve() -> None:
            while (call := receive()) is not None:
                call()

        self._calls = calls
        threading.Thread(target=serve, name="assay-engine", daemon=True).start()

    def call(self, function: Callable[[], T], timeout: float | None, hint: str | None = _HINT) -> _CallResult[T]:
        outcome: queue.SimpleQueue[_CallResult[T]] = queue.SimpleQueue()
        directory = os.getcwd() if os.path.isdir(".") else None
        try:
            with waiting():  # so that an engine may index in several processes
                self._calls.put(lambda: outcome.put(_run(function)))
                return outcome.get(timeout=timeout)
        except queue.Empty:
            self.abandoned = True
            if directory is not None:  # an abandoned Python function is in the corpus
                os.chdir(directory)
            self.end()
            self._start()
            late = EngineTimeoutError(f"no answer after {format_duration(timeout)}", hint=hint)
            return _CallResult(None, late, timeout or 0.0)

    def end(self) -> None:
        self._calls.put(None)

    def search(self, query: str, k: int) -> SearchReply:
        done = self.call(lambda: read_reply(self.inner.search(query, k)), None)
        if done.problem is not None:
            raise done.problem
        return cast(EngineReply, done.value)

    def close(self) -> None:
        abandoned = self.abandoned
        problem = self.call(self.inner.close, CALL_LIMITS.close, None).problem
        self.end()
        self.abandoned = abandoned  # counts queries only; `close_session` reports a timeout of `close`
        if problem is not None:
            raise problem
