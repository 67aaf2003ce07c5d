"""Run tasks in worker processes."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock
from typing import Final, NoReturn, TypeVar, cast

from assay.engines.resources import THREAD_VARIABLES, available_threads
from assay.errors import AssayError, ConfigError
from assay.experiment.executors.base import WorkerLost

_GRACE: Final = 5.0  # seconds to clear a workplace and end an engine's programs; a worker that needs more is killed
_SETTING = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Said:
    """What a worker answers."""

    value: object = None
    error: BaseException | None = None


class Worker:
    """A process that does one task at a time. Spawned, never forked: there are threads about."""

    def __init__(self) -> None:
        self._reaping = threading.Lock()  # whoever closes and whoever was waiting may see it off at the same time
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), name="assay-worker", daemon=False)
        with _one_thread():
            self._process.start()
        theirs.close()  # theirs alone now: when the worker dies, reading ends

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    def ask(self, packed: bytes) -> object:
        """Have a pickled function and its arguments done; WorkerLost when the worker dies over it."""
        try:
            self._ours.send_bytes(packed)
            said = pickle.loads(self._ours.recv_bytes())  # noqa: S301 (from our own child, over a pipe nobody else has)
        except (EOFError, OSError) as error:
            raise WorkerLost(f"the worker process {self.pid} {self._end()}") from error
        assert isinstance(said, _Said)
        if said.error is not None:
            raise said.error
        return said.value

    def terminate(self) -> None:
        """Ask it to stop what it does and tidy up; `join` waits for that."""
        self._process.terminate()

    def join(self, seconds: float = _GRACE) -> None:
        """See it off; one that does not go is killed."""
        with self._reaping:
            self._process.join(seconds)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()

    def _end(self) -> str:
        self.join()
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"ended with exit code {code}"
        name = signal.Signals(-code).name
        return f"was ended by {name}" + (" (out of memory, perhaps)" if name == "SIGKILL" else "")


def pack(function: Callable[..., object], args: tuple[object, ...]) -> bytes:
    """Pickle a task here, where it can still be said whose it is."""
    return pickle.dumps((function, args), protocol=5)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give a process that is started now one thread a library: workers are the parallelism.

    Libraries read it when they are loaded, which is before a line of ours runs there; so it has to be inherited.
    """
    with _SETTING:
        before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                os.environ.update({} if value is None else {name: value})


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent has it too, and tidies up
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, name="assay-parent", daemon=True).start()
    while True:
        try:
            packed = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        answer = _answer(packed)
        with suppress(OSError):  # nobody listens any more; the next read ends it
            pipe.send_bytes(answer)


def _answer(packed: bytes) -> bytes:
    try:
        function, args = pickle.loads(packed)  # noqa: S301 (from our own parent)
        return pickle.dumps(_Said(value=function(*args)), protocol=5)
    except Exception as error:
        if not isinstance(error, AssayError):
            error.add_note("".join(traceback.format_exception(error)))  # frames do not travel
        try:
            packed = pickle.dumps(_Said(error=error), protocol=5)
            pickle.loads(packed)  # noqa: S301 (our own; many exceptions pickle and do not come back)
        except Exception:
            packed = pickle.dumps(_Said(error=RuntimeError(f"{type(error).__name__}: {error}")), protocol=5)
        return packed


def _leave(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


T = TypeVar("T")


class ProcessExecutor:
    """Some worker processes, one task each at a time: when one dies it is known whose task it had.

    (A pool of the standard library breaks as a whole, and cannot tell which of its tasks did it.)
    """

    near = True

    def __init__(self, count: int = 0) -> None:
        if count < 0:
            raise ConfigError(f"{count} processes", hint="name one or more; 0 is as many as there are processors")
        self._count = count or available_threads()
        # One more than there are workers: the next task waits beside them while a result is put away here.
        self.width = self._count + 1
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="assay-fleet")
        self._idle: SimpleQueue[Worker | None] = SimpleQueue()
        for _ in range(self._count):
            self._idle.put(None)
        self._lock = Lock()
        self._alive: set[Worker] = set()
        self._closed = False
        atexit.register(self.close)  # who forgot to close it would wait for idle workers for ever

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes there are."""
        with self._lock:
            return tuple(sorted(worker.pid for worker in self._alive if worker.pid is not None))

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task."""
        packed = pack(function, args)
        return cast("Future[T]", self._threads.submit(self._do, packed))

    def close(self) -> None:
        """End every worker; one that is busy has a moment to tidy up."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
            alive, self._alive = sorted(self._alive, key=lambda worker: worker.pid or 0), set()
        for worker in alive:
            worker.terminate()
        for worker in alive:
            worker.join()
        self._threads.shutdown(cancel_futures=True)

    def _do(self, packed: bytes) -> object:
        worker = self._idle.get()
        try:
            if worker is None:
                worker = self._start()
            return worker.ask(packed)
        except WorkerLost as lost:
            if worker is not None:
                self._bury(worker)
            worker = None
            lost.again = not self._closed  # the next task gets another worker
            raise
        finally:
            self._idle.put(worker)

    def _start(self) -> Worker:
        with self._lock:
            if self._closed:
                raise WorkerLost("the workers were ended")
            worker = Worker()
            self._alive.add(worker)
            return worker

    def _bury(self, worker: Worker) -> None:
        with self._lock:
            self._alive.discard(worker)
        worker.join()
