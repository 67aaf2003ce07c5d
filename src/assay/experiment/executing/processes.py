"""Processes on this machine."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock
from typing import TypeVar, cast

from assay.engines.resources import available_threads
from assay.errors import ConfigError
from assay.experiment.executing.base import WorkerLost
from assay.experiment.executing.worker import Worker, pack

T = TypeVar("T")


class Processes:
    """Some worker processes, one task each at a time: when one dies it is known whose task it had.

    (A pool of the standard library breaks as a whole, and cannot tell which of its tasks did it.)
    """

    near = True

    def __init__(self, count: int = 0) -> None:
        """Take as many workers as there are processors, or `count`; each is started when it is first needed."""
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
        """Have a worker do a task; runs in a thread, of which there are as many as workers."""
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
        """Start a worker, unless everything is being closed."""
        with self._lock:
            if self._closed:
                raise WorkerLost("the workers were ended")
            worker = Worker()
            self._alive.add(worker)
            return worker

    def _bury(self, worker: Worker) -> None:
        """Clear away a worker that died."""
        with self._lock:
            self._alive.discard(worker)
        worker.join()
