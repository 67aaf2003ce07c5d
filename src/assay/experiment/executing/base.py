"""What a fleet of workers is, whoever they are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from assay.errors import EngineError

T = TypeVar("T")


class WorkerLost(EngineError):
    """The worker that had a task is gone, and the task with it; nothing is known about the task itself."""

    again: bool = True  # whether it is worth sending again: there are other workers, and nobody tried them yet


def lost_for_good(message: str) -> WorkerLost:
    """Make the error for a task that nobody is left to do, or that others have tried already."""
    lost = WorkerLost(message)
    lost.again = False
    return lost


class Fleet(Protocol):
    """Workers that take tasks: functions and arguments that can be pickled, small enough to travel."""

    @property
    def width(self) -> int:
        """How many tasks are worth having in flight now; more workers may come."""
        ...

    @property
    def near(self) -> bool:
        """Whether its workers have the same folders as whoever sends the tasks."""
        ...

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task; when its worker dies over it, its future has a WorkerLost."""
        ...

    def close(self) -> None:
        """End what was started here; tasks that still run are given up. May be called twice."""
        ...
