"""An executor that somebody hands in: threads, processes, a cluster of theirs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar, cast

from assay.engines.resources import available_threads

T = TypeVar("T")


class Executor(Protocol):
    """What is needed of it: `submit` gives a future with `result`, `cancel` and `add_done_callback`."""

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task."""
        ...


class Given:
    """A fleet made of an executor. Its workers are its own: what breaks there is not mended here, nor closed."""

    near = False  # nobody knows where they are

    def __init__(self, executor: Executor, *, width: int | None = None) -> None:
        """Take an executor; without a width its own count of workers is asked, then the processors of this machine."""
        self._executor = executor
        # One more than there are workers: the next task waits there, not here, while a result is put away.
        self.width = width or cast(int, getattr(executor, "_max_workers", None) or available_threads()) + 1

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task."""
        return self._executor.submit(function, *args)

    def close(self) -> None:
        """Leave the executor to whoever made it."""
