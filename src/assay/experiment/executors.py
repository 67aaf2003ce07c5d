"""Executors that run tasks in this process, in worker processes or on a caller's executor, and thread limits."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NoReturn, Protocol, TypeVar, cast

from assay.errors import ConfigError, EngineError

T = TypeVar("T")
R = TypeVar("R")

_POLL: Final = 1.0  # seconds between looks at the width of an executor while tasks run
_GRACE: Final = 5.0  # seconds for a worker to end its engines and delete its files before it is killed
#: Variables that set the thread count of numeric libraries and tools.
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


class Executor(Protocol):
    """Executor of picklable functions with small picklable arguments."""

    @property
    def width(self) -> int:
        """Number of tasks to keep in flight now; raise SetupError if no worker is left."""
        ...

    @property
    def shares_disk(self) -> bool:
        """Whether workers see the same files as this process."""
        ...

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Start a task; its future raises WorkerLost if the worker died and the task may be retried."""
        ...

    def close(self) -> None:
        """Stop the workers that this executor started; may be called twice."""
        ...


class WorkerLost(EngineError):
    """Error of a task whose worker died; the task may be retried."""


class TaskLost(EngineError):
    """Error of a task whose worker died and that is not retried."""


def iter_results(
    executor: Executor,
    function: Callable[[T], R],
    tasks: Iterable[T],
    *,
    attempts: int = 3,
    on_lost: Callable[[T], R] | None = None,
) -> Generator[tuple[T, R], None, None]:
    """Yield every task with its result, in order of completion.

    At most `executor.width` tasks are in flight; `tasks` is read as slots become free. A task whose worker died runs
    again, up to `attempts` times in all; then `on_lost` returns its result or, if None, TaskLost is raised. On an
    error, an interrupt or an early close, running tasks are cancelled; the caller closes the executor.
    """
    waiting = ((task, 0) for task in tasks)
    retries: deque[tuple[T, int]] = deque()
    running: dict[Future[R], tuple[T, int]] = {}
    done: SimpleQueue[Future[R]] = SimpleQueue()
    try:
        while True:
            while len(running) < max(1, executor.width):
                entry = retries.popleft() if retries else next(waiting, None)
                if entry is None:
                    break
                task, sent = entry
                future = executor.submit(function, task)
                running[future] = (task, sent + 1)
                future.add_done_callback(done.put)
            if not running:
                return
            try:
                future = done.get(timeout=_POLL)
            except Empty:
                continue
            task, sent = running.pop(future)
            try:
                result = future.result()
            except (WorkerLost, BrokenExecutor, CancelledError) as error:
                if isinstance(error, WorkerLost) and sent < attempts:
                    retries.append((task, sent))
                    continue
                if on_lost is None:
                    times = "once" if sent == 1 else f"{sent} times"
                    reason = error.message if isinstance(error, WorkerLost) else str(error) or type(error).__name__
                    hint = "run the engine alone, so that it has more memory: --only ENGINE --jobs 1"
                    raise TaskLost(f"{task} was lost {times} because its worker died: {reason}", hint=hint) from error
                result = on_lost(task)
            yield task, result
    finally:
        for future in running:
            future.cancel()


class SerialExecutor:
    """Executor that runs a task in this process when it is submitted."""

    width = 1
    shares_disk = True

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function(*args))
        except Exception as error:  # an interrupt is raised here
            future.set_exception(error)
        return future

    def close(self) -> None:
        pass


class FuturesExecutor(Protocol):
    """Executor of the caller, whose futures have `result`, `cancel` and `add_done_callback`."""

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]: ...


class FuturesAdapter:
    shares_disk = False  # unknown

    def __init__(self, executor: FuturesExecutor) -> None:
        self._executor = executor
        # One more task than workers, so that no worker waits while this process stores a result.
        self.width = cast(int, getattr(executor, "_max_workers", None) or available_threads()) + 1

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        return self._executor.submit(function, *args)

    def close(self) -> None:
        pass


class ProcessExecutor:
    """Executor on worker processes, each in a separate pool, so that a worker that dies loses only one task."""

    shares_disk = True

    def __init__(self, count: int = 0) -> None:
        if count < 0:
            raise ConfigError(f"expected 0 or more processes, got {count}", hint="0 uses every processor")
        count = count or available_threads()
        self.width = count + 1  # no worker waits while this process stores a result
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="assay-executor")
        self._own = threading.local()  # the worker of each thread
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        with self._lock:
            return tuple(sorted(worker.pid for worker in self._workers))

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        return self._threads.submit(self._run, function, args)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, set()
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.end()
        self._threads.shutdown(cancel_futures=True)

    def _run(self, function: Callable[..., T], args: tuple[object, ...]) -> T:
        worker: _Worker | None = getattr(self._own, "worker", None)
        try:
            if worker is None:
                worker = self._own.worker = self._start()
            return worker.pool.submit(_call, function, *args).result()
        except BrokenExecutor as error:
            self._own.worker = None
            message = "cannot start a worker process"
            if worker is not None:
                with self._lock:
                    self._workers.discard(worker)
                message = worker.end()
            raise (BrokenExecutor(message) if self._closed else WorkerLost(message)) from error

    def _start(self) -> _Worker:
        worker = _Worker()
        with self._lock:
            if not self._closed:
                self._workers.add(worker)
                return worker
        worker.process.terminate()
        worker.end()
        raise BrokenExecutor("the workers were stopped")


class _Worker:
    """One worker process, spawned because forking a process with threads is unsafe."""

    def __init__(self) -> None:
        self._ending = threading.Lock()  # `close` and the thread of a lost task may end it at the same time
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_initialize)
        with _STARTING, _thread_variables(1):  # libraries read the variables when they are loaded
            first = self.pool.submit(os.getpid)
        self.pid = first.result()
        self.process = next(process for process in active_children() if process.pid == self.pid)

    def end(self) -> str:
        """Wait for the end of the process, kill it after a grace period, and return how it ended."""
        with self._ending:
            if not wait([self.process.sentinel], _GRACE):
                self.process.kill()
            self.pool.shutdown()
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"the worker process {self.pid} ended with exit code {code}"
        name = signal.Signals(-code).name
        cause = " (out of memory?)" if name == "SIGKILL" else ""
        return f"the worker process {self.pid} was killed by {name}{cause}"


_STARTING = threading.Lock()


def _initialize() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends its workers
    signal.signal(signal.SIGTERM, _exit)
    threading.Thread(target=_end_with_parent, name="assay-parent", daemon=True).start()


def _exit(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
    os._exit(1)


def _call(function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except SystemExit as error:  # a pool would send it to the parent and go on
        os._exit(error.code if isinstance(error.code, int) else 1)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
        except Exception:  # an error that the parent cannot unpickle would break the pool
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise


def available_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pinned(threads: int) -> Iterator[int]:
    """Limit threads by processor affinity (Linux) and by variables of numeric libraries; yield the number granted."""
    granted = min(threads, available_threads())
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with _thread_variables(granted):
        _set_affinity(allowed[:granted])
        try:
            yield granted
        finally:
            _set_affinity(allowed)


@contextmanager
def _thread_variables(threads: int) -> Iterator[None]:
    before = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name in THREAD_VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)


def _set_affinity(processors: Iterable[int]) -> None:
    tasks = Path("/proc/self/task")
    if not processors or not tasks.is_dir():
        return
    for task in sorted(tasks.iterdir()):
        with suppress(OSError):  # the thread has already ended
            os.sched_setaffinity(int(task.name), processors)
