"""What a fleet of workers is, whoever they are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from assay.errors import EngineError

T = TypeVar("T")


class WorkerLost(EngineError):
    """The worker that had a task is gone, and the task with it; nothing is known about the task itself."""


class Fleet(Protocol):
    """Workers that take tasks: functions and arguments that can be pickled, small enough to travel."""

    @property
    def width(self) -> int:
        """How many tasks are worth having in flight now; more workers may come."""
        ...

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task."""
        ...

    def mended(self, problem: BaseException) -> bool:
        """Whether a problem is the fleet's own and it can go on: the task is then sent again."""
        ...

    def close(self) -> None:
        """End what was started here; tasks that still run are given up. May be called twice."""
        ...
