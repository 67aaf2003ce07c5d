"""Run each task in a forked process, so that a crash of a parser ends only its task.

The child writes its files itself and returns a small record. Where forking is not safe, the tasks run in this process.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.errors import SetupError
from assay.syntax.fork_guard import end_with

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkerTask(Generic[T]):
    """A named function to run."""

    name: str
    work: Callable[[], T]


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[T]):
    """The value or the error of a task."""

    name: str
    value: T | None
    error: Exception | None

    def result(self) -> T:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # None is a valid result


def run_tasks(tasks: Sequence[WorkerTask[T]], workers: int) -> Iterator[TaskResult[T]]:
    """Run tasks in order, `workers` at a time; yield each when it ends."""
    if workers < 2 or not sys.platform.startswith("linux") or threading.active_count() > 1:
        yield from (TaskResult(task.name, *_attempt(task)) for task in tasks)
        return
    running: dict[int, _Child[T]] = {}
    waiting = list(reversed(tasks))
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    child = _fork(waiting.pop(), list(running))
                    running[child.pipe] = child
                    selector.register(child.pipe, selectors.EVENT_READ)
                for key, _ in selector.select():
                    if running[key.fd].read():
                        selector.unregister(key.fd)
                        yield running.pop(key.fd).done()
        finally:
            for child in running.values():
                child.end()


class _Child(Generic[T]):
    """A process that sends its result over a pipe."""

    def __init__(self, name: str, pid: int, pipe: int) -> None:
        self.name = name
        self.pipe = pipe
        self._pid = pid
        self._answer = bytearray()

    def read(self) -> bool:
        piece = os.read(self.pipe, 1 << 16)
        self._answer += piece
        return not piece

    def done(self) -> TaskResult[T]:
        self.end()
        try:
            value, error = pickle.loads(self._answer)  # noqa: S301 (written by our own child over a private pipe)
        except (EOFError, pickle.UnpicklingError):
            return TaskResult(self.name, None, SetupError(f"the process that read {self.name} ended early"))
        return TaskResult(self.name, value, error)

    def end(self) -> None:
        os.close(self.pipe)
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _fork(task: WorkerTask[T], others: Sequence[int]) -> _Child[T]:
    reader, writer = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writer)
        return _Child(task.name, pid, reader)
    try:
        for pipe in (reader, *others):
            os.close(pipe)
        end_with(parent)
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(_attempt(task), stream, protocol=5)
    finally:
        os._exit(0)


def _attempt(task: WorkerTask[T]) -> tuple[T | None, Exception | None]:
    try:
        return task.work(), None
    except Exception as error:
        return None, error
