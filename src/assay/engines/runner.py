"""Calls of an engine that always return an outcome, whatever the engine does.

An engine in this process runs in one thread for its whole life (open, every search, close), because some libraries tie
what they open to a thread. A call that times out is abandoned: the thread is a daemon and cannot delay the end of the
process, and the next call gets a new one; `session_notes` reports it. An engine that can end what it started
(`TimedEngine`, `TimedSession`) is called directly.
"""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

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
from assay.engines.output import read_reply
from assay.errors import AssayError, EngineError, EngineTimeoutError
from assay.types import Corpus, Cost, Hit, Status

T = TypeVar("T")

_LATE = "raise index_timeout or choose a smaller corpus"
ABANDONED = "a query was abandoned and may still be running: later times are not trustworthy"


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits that affect no measurement."""

    close: float = 5.0  # seconds an engine has to close before it is abandoned
    message: int = 500  # characters of an error message that are kept


CALL_LIMITS = CallLimits()


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The outcome of one query."""

    status: Status
    hits: tuple[Hit, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    cost: Cost | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenEngine:
    """A session that is ready for queries, and the time it took to open."""

    session: TimedSession
    seconds: float


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """A returned value or an exception, and the time of the call without the hand-over between threads."""

    value: T | None
    problem: BaseException | None
    seconds: float
    left: bool = False  # whether it was left running


def open_session(engine: Engine, corpus: Corpus, timeout: float | None = None) -> OpenEngine:
    """Open an engine on a corpus; every failure is an EngineError or the AssayError that it raised."""
    if isinstance(engine, TimedEngine):  # in this thread: an interrupt must reach what it started
        timed = _run_here(lambda: engine.open_within(corpus, timeout))
        if timed.problem is not None or timed.value is None:
            raise _opening_error(timed) from timed.problem
        return OpenEngine(timed.value, timed.seconds)
    thread = _EngineThread()
    done = thread.call(lambda: engine.open(corpus), timeout)
    if done.problem is not None or done.value is None:
        thread.end()
        raise _opening_error(done) from done.problem
    if isinstance(done.value, TimedSession):
        thread.end()
        return OpenEngine(done.value, done.seconds)
    return OpenEngine(_ThreadedSession(done.value, thread), done.seconds)


def _opening_error(done: _Done[T]) -> AssayError:
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


def query_session(session: Session, query: str, k: int, timeout: float | None = None) -> QueryOutcome:
    """Search for k results and return the outcome; raise only KeyboardInterrupt."""
    if isinstance(session, _ThreadedSession):
        return _outcome(session.call(lambda: read_reply(session.inner.search(query, k)), timeout))
    if isinstance(session, TimedSession):
        return _outcome(_run_here(lambda: read_reply(session.search_within(query, k, timeout))))
    thread = _EngineThread()
    try:
        return _outcome(thread.call(lambda: read_reply(session.search(query, k)), timeout))
    finally:
        thread.end()


def query_filtered(
    session: Session, query: str, k: int, wanted: SearchFilter, timeout: float | None = None
) -> QueryOutcome | None:
    """Search a part of the corpus and return the outcome; None if the session does not support the filter."""
    inner = _inner(session)
    needed = {name for name in ("paths", "languages") if getattr(wanted, name)}
    if not isinstance(inner, FilteringSession) or not needed <= inner.filters:
        return None
    return _outcome(_call(session, lambda: read_reply(inner.search_filtered(query, k, wanted, timeout)), timeout))


def update_session(session: Session, corpus: Corpus, timeout: float | None = None) -> QueryOutcome | None:
    """Update a session to changed files and return the outcome; None if it cannot."""
    inner = _inner(session)
    if not isinstance(inner, UpdatingSession):
        return None

    def update() -> EngineReply:
        inner.update_within(corpus, timeout)
        return EngineReply(())

    return _outcome(_call(session, update, timeout))


def session_usage(session: Session) -> SessionUsage:
    """Return what a session used; empty if it does not measure that, or fails."""
    inner = _inner(session)
    if not isinstance(inner, MeasuredSession):
        return SessionUsage()
    return _call(session, inner.usage, CALL_LIMITS.close).value or SessionUsage()


def close_session(session: Session) -> str | None:
    """Close a session and return any error message."""
    done = _run_here(session.close)
    return None if done.problem is None else f"did not close: {summarize(done.problem)}"


def session_notes(session: Session) -> tuple[str, ...]:
    """Return the notes of a session, once it is closed."""
    if isinstance(session, _ThreadedSession):
        return (ABANDONED,) if session.abandoned else ()
    return session.remarks() if isinstance(session, SessionWithNotes) else ()


def summarize(problem: BaseException | None) -> str:
    """Return an exception in one line: an AssayError with its hint, another with its type."""
    if problem is None:
        return "it gave nothing back"
    if not isinstance(problem, AssayError):
        return _squeeze(f"{type(problem).__name__}: {problem}").removesuffix(":")
    return _squeeze(problem.message) + (f" → {_squeeze(problem.hint)}" if problem.hint else "")


def _squeeze(text: str) -> str:
    return " ".join(text.split())[: CALL_LIMITS.message]


def _inner(session: Session) -> Session:
    return session.inner if isinstance(session, _ThreadedSession) else session


def _call(session: Session, function: Callable[[], T], timeout: float | None) -> _Done[T]:
    if not isinstance(session, _ThreadedSession):
        return _run_here(function)
    done = session.call(function, timeout)
    if isinstance(done.problem, KeyboardInterrupt):
        raise done.problem
    return done


def _outcome(done: _Done[EngineReply]) -> QueryOutcome:
    if done.problem is not None or done.value is None:
        waited = done.problem.waited if isinstance(done.problem, EngineError) else 0.0
        return QueryOutcome(_status(done.problem), (), max(done.seconds - waited, 0.0), summarize(done.problem))
    reply = done.value
    return QueryOutcome(Status.OK, reply.hits, max(done.seconds - reply.waited, 0.0), None, reply.cost, reply.notes)


def _status(problem: BaseException | None) -> Status:
    if isinstance(problem, EngineTimeoutError):
        return Status.TIMEOUT
    return Status.CRASH if isinstance(problem, EngineCrash) else Status.ERROR


def _run_here(function: Callable[[], T]) -> _Done[T]:
    done = _run(function)
    if isinstance(done.problem, KeyboardInterrupt):
        raise done.problem
    return done


def _run(function: Callable[[], T]) -> _Done[T]:
    begin = time.perf_counter()
    try:
        value = function()
    except BaseException as problem:
        return _Done(None, problem, time.perf_counter() - begin)
    return _Done(value, None, time.perf_counter() - begin)


_Calls = queue.SimpleQueue[Callable[[], None] | None]


class _EngineThread:
    """A thread that makes calls one after the other."""

    def __init__(self) -> None:
        self._start()

    def call(self, function: Callable[[], T], timeout: float | None) -> _Done[T]:
        outcome: queue.SimpleQueue[_Done[T]] = queue.SimpleQueue()
        self._calls.put(lambda: outcome.put(_run(function)))
        try:
            return outcome.get(timeout=timeout)
        except queue.Empty:
            self.end()
            self._start()
            late = EngineTimeoutError(f"no answer after {format_duration(timeout)}", hint="raise timeout")
            return _Done(None, late, timeout or 0.0, left=True)

    def end(self) -> None:
        self._calls.put(None)

    def _start(self) -> None:
        self._calls: _Calls = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(self._calls,), name="assay-engine", daemon=True).start()


def _serve(calls: _Calls) -> None:
    while (call := calls.get()) is not None:
        call()


class _ThreadedSession:
    """A session in a thread of its own."""

    abandoned = False  # whether a call was left running

    def __init__(self, session: Session, thread: _EngineThread) -> None:
        self.inner = session
        self._thread = thread

    def call(self, function: Callable[[], T], timeout: float | None) -> _Done[T]:
        done = self._thread.call(function, timeout)
        self.abandoned = self.abandoned or done.left
        return done

    def search(self, query: str, k: int) -> Answered:
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        return _value(self.call(lambda: read_reply(self.inner.search(query, k)), seconds))

    def close(self) -> None:
        try:
            _value(self._thread.call(self.inner.close, CALL_LIMITS.close))
        finally:
            self._thread.end()


def _value(done: _Done[T]) -> T:
    if done.problem is not None:
        raise done.problem
    return cast(T, done.value)


_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): resets the peak resident set size


class AddedMemory:
    """Memory that one engine adds, measured during its calls only. Linux only."""

    def __init__(self) -> None:
        self.peak: int | None = None  # bytes; None: unknown
        self._held = 0  # bytes that earlier calls did not release

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure a call of the engine."""
        before = _reset_peak()
        try:
            yield
        finally:
            highest, now = _field("VmHWM"), _field("VmRSS")
            if before is not None and highest is not None and now is not None:
                self.peak = max(self.peak or 0, self._held + highest - before)
                self._held = max(0, self._held + now - before)


def _reset_peak() -> int | None:
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return None
    return _field("VmRSS")


def _field(name: str) -> int | None:
    try:
        match = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


#: Variables that set the number of threads of numeric libraries and tools.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
    "TOKIO_WORKER_THREADS",
)


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pinned(threads: int) -> Iterator[int]:
    """Limit this process and programs it starts to some processors; yield the number granted."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    granted = min(threads, available_threads())
    allowed = _allowed()
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(granted)))
    _confine(sorted(allowed)[:granted])
    try:
        yield granted
    finally:
        _confine(sorted(allowed))
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _allowed() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _confine(processors: list[int]) -> None:
    if not processors or not hasattr(os, "sched_setaffinity"):
        return
    tasks = Path("/proc/self/task")
    for thread in sorted(int(task.name) for task in tasks.iterdir()) if tasks.is_dir() else [0]:
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(thread, processors)
