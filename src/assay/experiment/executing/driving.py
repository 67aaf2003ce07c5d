"""Send tasks to a fleet and hand out what comes back: a window of them at a time, each exactly once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Generic, TypeVar

from assay.errors import EngineError
from assay.experiment.executing.base import Fleet, WorkerLost

T = TypeVar("T")
R = TypeVar("R")

#: What says that the worker went, not that the task was wrong.
_GONE = (WorkerLost, BrokenExecutor, CancelledError)
_NAME = 200  # characters of a task in a message: a plan's key fits, a gold set does not drown the sentence


@dataclass(frozen=True, slots=True)
class _Flight(Generic[T]):
    """A task on its way."""

    task: T
    sent: int = 0


class TaskLost(EngineError):
    """A task lost its worker every time it was sent: it may be what kills them."""


def gather(
    fleet: Fleet,
    function: Callable[[T], R],
    tasks: Iterable[T],
    *,
    attempts: int = 3,
    instead: Callable[[T, TaskLost], R] | None = None,
) -> Generator[tuple[T, R], None, None]:
    """Give every task with its result, in the order in which they are done.

    At most `fleet.width` are in flight, so that neither this process nor a scheduler holds them all, and `tasks` is
    drawn from as they go. A task whose worker died is sent again where that is worth it, `attempts` times in all; then
    `instead` says what counts as its result, and without it that is an error. On an error, on an interrupt and when
    nobody wants more, what is in flight is cancelled; the fleet is the caller's to close.
    """
    new = iter(tasks)
    again: deque[_Flight[T]] = deque()
    flying: dict[Future[R], _Flight[T]] = {}
    done: SimpleQueue[Future[R]] = SimpleQueue()  # waiting on it costs the same however many are in flight
    try:
        while True:
            while len(flying) < max(1, fleet.width) and (flight := _next(again, new)) is not None:
                future = fleet.submit(function, flight.task)
                flying[future] = replace(flight, sent=flight.sent + 1)
                future.add_done_callback(done.put)
            if not flying:
                return
            future = done.get()
            flight = flying.pop(future)
            try:
                result = future.result()
            except (Exception, CancelledError) as problem:
                lost = _lost(flight, problem)
                if flight.sent < attempts and isinstance(problem, WorkerLost) and problem.again:
                    again.append(flight)
                    continue
                if instead is None:
                    raise lost from problem
                result = instead(flight.task, lost)
            yield flight.task, result
    finally:
        for future in flying:
            future.cancel()


def _next(again: deque[_Flight[T]], new: Iterator[T]) -> _Flight[T] | None:
    """Take what has to be sent again, then what is new; None when there is nothing."""
    if again:
        return again.popleft()
    for task in new:
        return _Flight(task)
    return None


def _lost(flight: _Flight[T], problem: BaseException) -> TaskLost:
    """Make the error for a task that lost its worker; raise whatever else is wrong with one."""
    if not isinstance(problem, _GONE):
        raise problem
    times = "once" if flight.sent == 1 else f"{flight.sent} times"
    said = problem.message if isinstance(problem, WorkerLost) else str(problem) or type(problem).__name__
    return TaskLost(
        f"{_name(flight.task)} was sent {times} and lost its worker each time: {said}",
        hint="does it need more memory than there is? run it alone with --only and --jobs 1",
    )


def _name(task: object) -> str:
    """Name a task by what it says of itself."""
    text = str(task)
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"
