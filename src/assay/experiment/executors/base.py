"""The executor interface and the serial executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar, cast

from assay.engines.resources import available_threads
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


def as_completed(
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
    if not isinstance(problem, _GONE):
        raise problem
    times = "once" if flight.sent == 1 else f"{flight.sent} times"
    said = problem.message if isinstance(problem, WorkerLost) else str(problem) or type(problem).__name__
    return TaskLost(
        f"{_name(flight.task)} was sent {times} and lost its worker each time: {said}",
        hint="does it need more memory than there is? run it alone with --only and --jobs 1",
    )


def _name(task: object) -> str:
    text = str(task)
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


class SerialExecutor:
    """A fleet of none: a task is done when it is sent."""

    width = 1
    near = True

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Do a task; an interrupt goes through to whoever sent it."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Nothing was started."""


class FuturesExecutor(Protocol):
    """What is needed of it: `submit` gives a future with `result`, `cancel` and `add_done_callback`."""

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task."""
        ...


class FuturesAdapter:
    """A fleet made of an executor. Its workers are its own: what breaks there is not mended here, nor closed."""

    near = False  # nobody knows where they are

    def __init__(self, executor: FuturesExecutor, *, width: int | None = None) -> None:
        self._executor = executor
        # One more than there are workers: the next task waits there, not here, while a result is put away.
        self.width = width or cast(int, getattr(executor, "_max_workers", None) or available_threads()) + 1

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task."""
        return self._executor.submit(function, *args)

    def close(self) -> None:
        """Leave the executor to whoever made it."""
