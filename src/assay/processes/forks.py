"""Forked child processes that return a result and are killed when their parent dies."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar, cast

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
_PR_SET_PDEATHSIG: Final = 1
#: Bytes of this process up to which `forked` uses a child: it copies the pages of all objects that it reads.
_MAX_SHARED: Final = 1_000_000_000


class ForkError(Exception):
    """A child process that ended without a result."""


class ForkTimeout(ForkError):
    """The child process reached its limit on processor time."""


_waiting: Final[set[int]] = set()


@contextmanager
def waiting() -> Iterator[None]:
    """Mark this thread as one that waits for another thread and holds no lock."""
    identity = threading.get_ident()
    _waiting.add(identity)
    try:
        yield
    finally:
        _waiting.discard(identity)


def can_fork() -> bool:
    """Return whether forking is safe: only on Linux, and if no other thread may hold a lock that a child inherits."""
    others = [thread for thread in threading.enumerate() if thread.ident not in _waiting]
    return sys.platform.startswith("linux") and others == [threading.current_thread()]


class AddedMemory:
    """The memory that calls add to this process and use in its forked children; Linux only."""

    children: ClassVar[int] = 0  # bytes that all children added so far

    def __init__(self) -> None:
        self.peak: int | None = None  # bytes; None: unknown
        self._held = 0  # bytes that earlier calls did not release

    @contextmanager
    def measure(self) -> Iterator[None]:
        before, children = None, AddedMemory.children
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak resident set size
            before = _memory("VmRSS")
        try:
            yield
        finally:
            highest, now = _memory("VmHWM"), _memory("VmRSS")
            if before is not None and highest is not None and now is not None:
                self.peak = max(self.peak or 0, self._held + highest - before + AddedMemory.children - children)
                self._held = max(0, self._held + now - before)


def _memory(field: str) -> int | None:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


class Fork(Generic[T]):
    """A forked child process that calls `work`; `cpu_seconds` limits the processor time of the child."""

    def __init__(self, work: Callable[[], T], cpu_seconds: int | None = None) -> None:
        self.pipe, writer = os.pipe()  # `pipe` becomes readable when the child has a result or died
        self._open = True
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid:
            os.close(writer)
            return
        try:
            import ctypes
            import resource

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # the parent died before the call
                os._exit(1)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if cpu_seconds is not None:
                hard = resource.getrlimit(resource.RLIMIT_CPU)[1]  # of `ulimit -t`; it cannot be raised
                most = cpu_seconds + 1 if hard == resource.RLIM_INFINITY else min(hard, cpu_seconds + 1)
                resource.setrlimit(resource.RLIMIT_CPU, (min(cpu_seconds, most), most))  # SIGXCPU, then SIGKILL
            outcome: tuple[T | None, Exception | None]
            memory = AddedMemory()
            try:
                with memory.measure():
                    outcome = work(), None
            except Exception as error:
                outcome = None, error
            with os.fdopen(writer, "wb") as stream:
                pickle.dump((*outcome, memory.peak or 0), stream, protocol=5)  # arrays are written without a copy
        finally:
            os._exit(0)

    def result(self) -> T:
        """Wait for the child and return its result; raise the child's exception, or ForkError if there is no result."""
        try:
            with os.fdopen(os.dup(self.pipe), "rb") as stream:
                value, error, memory = pickle.load(stream)  # noqa: S301 (written by our own child)
        except (EOFError, pickle.UnpicklingError):
            self.end()
            timed_out = os.WTERMSIG(self._status) == signal.SIGXCPU
            raise (ForkTimeout if timed_out else ForkError)("the child process ended without a result") from None
        self.end()
        AddedMemory.children += memory
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def end(self) -> None:
        if self._open:
            self._open = False
            os.close(self.pipe)
            os.kill(self._pid, signal.SIGKILL)
            self._status = os.waitpid(self._pid, 0)[1]


@contextmanager
def forked(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Start `work` on a second processor; the value is a function that waits for the result.

    Without a second processor, in a large process, where forking is unsafe, and after a crash of the child, that
    function does the work.
    """
    if not can_fork() or len(os.sched_getaffinity(0)) < 2 or (_memory("VmRSS") or 0) > _MAX_SHARED:
        yield work
        return
    fork = Fork(work)

    def result() -> T:
        try:
            return fork.result()
        except ForkError:
            return work()

    try:
        yield result
    finally:
        fork.end()


def run_forked(tasks: Mapping[str, Callable[[], T]], workers: int) -> Iterator[tuple[str, Future[T]]]:
    """Run named tasks in child processes, at most `workers` at a time; yield names and outcomes as tasks end.

    A crash of a child process fails only its task. Tasks run in this process if forking is unsafe or `workers` < 2.
    """
    if workers < 2 or not can_fork():
        yield from ((name, _outcome(work)) for name, work in tasks.items())
        return
    from multiprocessing.connection import wait

    running: dict[int, tuple[str, Fork[T]]] = {}  # by pipe
    waiting = list(tasks.items())[::-1]
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                name, work = waiting.pop()
                fork = Fork(work)
                running[fork.pipe] = name, fork
            for pipe in wait(list(running)):
                name, fork = running.pop(cast(int, pipe))
                yield name, _outcome(fork.result)
    finally:
        for _, fork in running.values():
            fork.end()


def _outcome(work: Callable[[], T]) -> Future[T]:
    from concurrent.futures import Future

    future: Future[T] = Future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future
