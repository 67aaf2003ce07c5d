"""Run each task in a forked process, so that a crash of a parser ends only its task.

The child writes its files itself and returns a small record. Where forking is not safe, the tasks run in this process.
"""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.errors import SetupError
from assay.processes.forks import Fork, ForkError, can_fork

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
    if workers < 2 or not can_fork():
        yield from (_attempt(task.name, task.work) for task in tasks)
        return
    running: dict[int, tuple[str, Fork[T]]] = {}
    waiting = list(reversed(tasks))
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    task = waiting.pop()
                    fork = Fork(task.work)
                    running[fork.pipe] = task.name, fork
                    selector.register(fork.pipe, selectors.EVENT_READ)
                for key, _ in selector.select():
                    selector.unregister(key.fd)
                    name, fork = running.pop(key.fd)
                    yield _attempt(name, fork.result)
        finally:
            for _, fork in running.values():
                fork.end()


def _attempt(name: str, work: Callable[[], T]) -> TaskResult[T]:
    try:
        return TaskResult(name, work(), None)
    except ForkError:
        return TaskResult(name, None, SetupError(f"the process that read {name} ended early"))
    except Exception as error:
        return TaskResult(name, None, error)
