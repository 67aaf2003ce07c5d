"""Calling an engine so that nothing it does can stop or mislead the harness.

An engine in this process runs in a thread of its own, one for its whole life (open, every search, close), because
some libraries tie what they open to a thread. A call that runs out of time is abandoned: the thread is a daemon and
cannot hold up the end of the process, and the next call gets a new one; `session_notes` says that it happened. An
engine that can end what it started (`TimedEngine`, `TimedSession`) is called directly.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from assay.clock import format_duration
from assay.engines.base import (
    Answered,
    Engine,
    EngineCrash,
    EngineReply,
    FilteringSession,
    MeasuredSession,
    SearchFilter,
    Session,
    SessionUsage,
    SessionWithNotes,
    TimedEngine,
    TimedSession,
    UpdatingSession,
)
from assay.engines.text_answers import read_reply
from assay.errors import AssayError, EngineError, EngineTimeoutError
from assay.types import Corpus, Cost, Hit, Status

T = TypeVar("T")

_LATE = "raise index_timeout or choose a smaller corpus"
ABANDONED = "a query was abandoned and may still be running: later times are not trustworthy"


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Times that are no part of any measure."""

    close: float = 5.0  # seconds an engine has to close before it is left alone
    message: int = 500  # characters of an error message that are kept


CALL_LIMITS = CallLimits()


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """How one query ended."""

    status: Status
    hits: tuple[Hit, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    cost: Cost | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenEngine:
    """An engine ready to be asked, and how long that took."""

    session: TimedSession
    seconds: float


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """What became of a call: a value or what it raised, and its time without the hand-over between threads."""

    value: T | None
    problem: BaseException | None
    seconds: float
    left: bool = False  # whether it was left running


def open_session(engine: Engine, corpus: Corpus, timeout: float | None = None) -> OpenEngine:
    """Open an engine on a corpus; whatever goes wrong is an EngineError (or the AssayError it raised)."""
    if isinstance(engine, TimedEngine):
        return _open_timed(engine, corpus, timeout)
    thread = _EngineThread()
    done = thread.call(lambda: engine.open(corpus), timeout)
    if done.problem is not None or done.value is None:
        thread.end()
        raise _opening_problem(done) from done.problem
    session = done.value
    if isinstance(session, TimedSession):
        thread.end()
        return OpenEngine(session, done.seconds)
    return OpenEngine(_ThreadedSession(session, thread), done.seconds)


def _open_timed(engine: TimedEngine, corpus: Corpus, timeout: float | None) -> OpenEngine:
    """Open an engine that keeps to its time, in this thread: an interrupt must reach what it started."""
    done = _run(lambda: engine.open_within(corpus, timeout))
    if isinstance(done.problem, KeyboardInterrupt):
        raise done.problem
    if done.problem is not None or done.value is None:
        raise _opening_problem(done) from done.problem
    return OpenEngine(done.value, done.seconds)


def _opening_problem(done: _Done[T]) -> AssayError:
    problem = done.problem
    if isinstance(problem, EngineTimeoutError):
        aftermath = "; it may still be running" if done.left else ""
        hint = None if done.left else problem.hint
        late = EngineTimeoutError(f"cannot be opened: {problem.message}{aftermath}", hint=hint or _LATE)
        late.stderr = problem.stderr
        return late
    if isinstance(problem, AssayError):
        return problem
    return EngineError(f"cannot be opened: {summarize(problem)}", hint="open it by itself to see where it fails")


def ask(session: Session, query: str, k: int, timeout: float | None = None) -> QueryOutcome:
    """Ask for k results and tell how it ended; nothing but KeyboardInterrupt gets out."""
    if isinstance(session, TimedSession):
        return _answer(session, query, k, timeout)
    thread = _EngineThread()
    try:
        return _answer(_ThreadedSession(session, thread), query, k, timeout)
    finally:
        thread.end()


def close_session(session: Session) -> str | None:
    """Close a session; a problem is told, not raised."""
    done = _run(session.close)
    if isinstance(done.problem, KeyboardInterrupt):
        raise done.problem
    return None if done.problem is None else f"did not close: {summarize(done.problem)}"


def ask_filtered(
    session: Session, query: str, k: int, wanted: SearchFilter, timeout: float | None = None
) -> QueryOutcome | None:
    """Ask for a part of the corpus and tell how it ended; None when the session has no such filter."""
    inner = session.inner if isinstance(session, _ThreadedSession) else session
    needed = {name for name in ("paths", "languages") if getattr(wanted, name)}
    if not isinstance(inner, FilteringSession) or not needed <= inner.filters:
        return None
    return _told(_bounded(session, lambda: read_reply(inner.search_filtered(query, k, wanted, timeout)), timeout))


def update_session(session: Session, corpus: Corpus, timeout: float | None = None) -> QueryOutcome | None:
    """Let a session take in that files changed and tell how it ended; None when it cannot."""
    inner = session.inner if isinstance(session, _ThreadedSession) else session
    if not isinstance(inner, UpdatingSession):
        return None

    def update() -> EngineReply:
        inner.update_within(corpus, timeout)
        return EngineReply(())

    return _told(_bounded(session, update, timeout))


def session_usage(session: Session) -> SessionUsage:
    """Ask what a session took; one that does not know, or fails at it, took nothing that could be measured."""
    inner = session.inner if isinstance(session, _ThreadedSession) else session
    if not isinstance(inner, MeasuredSession):
        return SessionUsage()
    return _bounded(session, inner.usage, CALL_LIMITS.close).value or SessionUsage()


def _bounded(session: Session, function: Callable[[], T], timeout: float | None) -> _Done[T]:
    done = session.call(function, timeout) if isinstance(session, _ThreadedSession) else _run(function)
    if isinstance(done.problem, KeyboardInterrupt):
        raise done.problem
    return done


def session_notes(session: Session) -> tuple[str, ...]:
    """Say what happened in a session that people must know, once it is closed."""
    if isinstance(session, _ThreadedSession):
        return (ABANDONED,) if session.abandoned else ()
    return session.remarks() if isinstance(session, SessionWithNotes) else ()


def summarize(problem: BaseException | None) -> str:
    """Say in one line what an exception says: with its next step where it is ours, with its kind where it is not."""
    if problem is None:
        return "it gave nothing back"
    if not isinstance(problem, AssayError):
        return _squeeze(f"{type(problem).__name__}: {problem}").removesuffix(":")
    return _squeeze(problem.message) + (f" → {_squeeze(problem.hint)}" if problem.hint else "")


def _squeeze(text: str) -> str:
    return " ".join(text.split())[: CALL_LIMITS.message]


def _answer(session: TimedSession, query: str, k: int, timeout: float | None) -> QueryOutcome:
    if isinstance(session, _ThreadedSession):
        done = session.ask(query, k, timeout)
    else:
        done = _run(lambda: read_reply(session.search_within(query, k, timeout)))
        if isinstance(done.problem, KeyboardInterrupt):
            raise done.problem
    return _told(done)


def _told(done: _Done[EngineReply]) -> QueryOutcome:
    if done.problem is not None or done.value is None:
        waited = done.problem.waited if isinstance(done.problem, EngineError) else 0.0
        return QueryOutcome(_status(done.problem), (), max(done.seconds - waited, 0.0), summarize(done.problem))
    reply = done.value
    return QueryOutcome(Status.OK, reply.hits, max(done.seconds - reply.waited, 0.0), None, reply.cost, reply.notes)


def _status(problem: BaseException | None) -> Status:
    if isinstance(problem, EngineTimeoutError):
        return Status.TIMEOUT
    return Status.CRASH if isinstance(problem, EngineCrash) else Status.ERROR


def _run(function: Callable[[], T]) -> _Done[T]:
    begin = time.perf_counter()
    try:
        value = function()
    except BaseException as problem:
        return _Done(None, problem, time.perf_counter() - begin)
    return _Done(value, None, time.perf_counter() - begin)


class _Call(Generic[T]):
    """A call to make, and where its outcome goes."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function
        self.outcome: queue.SimpleQueue[_Done[T]] = queue.SimpleQueue()

    def make(self) -> None:
        self.outcome.put(_run(self.function))


class _EngineThread:
    """One thread that makes the calls it is given, one after the other."""

    def __init__(self) -> None:
        self._start()

    def call(self, function: Callable[[], T], timeout: float | None) -> _Done[T]:
        call = _Call(function)
        self._calls.put(call)
        try:
            return call.outcome.get(timeout=timeout)
        except queue.Empty:
            self.end()
            self._start()
            late = EngineTimeoutError(f"no answer after {format_duration(timeout)}", hint="raise timeout")
            return _Done(None, late, timeout or 0.0, left=True)

    def end(self) -> None:
        self._calls.put(None)

    def _start(self) -> None:
        self._calls: queue.SimpleQueue[_Call[Any] | None] = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(self._calls,), name="assay-engine", daemon=True).start()


def _serve(calls: queue.SimpleQueue[_Call[Any] | None]) -> None:
    while (call := calls.get()) is not None:
        call.make()


class _ThreadedSession:
    """A session in a thread of its own."""

    abandoned = False  # whether a search was left running

    def __init__(self, session: Session, thread: _EngineThread) -> None:
        self.inner = session
        self._thread = thread

    def ask(self, query: str, k: int, timeout: float | None) -> _Done[EngineReply]:
        return self.call(lambda: read_reply(self.inner.search(query, k)), timeout)

    def call(self, function: Callable[[], T], timeout: float | None) -> _Done[T]:
        done = self._thread.call(function, timeout)
        self.abandoned = self.abandoned or done.left
        return done

    def search(self, query: str, k: int) -> Answered:
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        return _value(self.ask(query, k, seconds))

    def close(self) -> None:
        try:
            _value(self._thread.call(self.inner.close, CALL_LIMITS.close))
        finally:
            self._thread.end()


def _value(done: _Done[T]) -> T:
    if done.problem is not None:
        raise done.problem
    return cast(T, done.value)
