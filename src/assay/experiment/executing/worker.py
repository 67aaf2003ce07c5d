"""One worker process: asked over a pipe, ended with us whatever happens, its death told from its task's failure."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Final, NoReturn

from assay.engines.resources import THREAD_VARIABLES
from assay.errors import AssayError
from assay.experiment.executing.base import WorkerLost

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
        """Say how it ended."""
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
    """Do tasks until the pipe ends: the whole life of a worker."""
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
    """Do one task and pickle what came of it."""
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
    """Leave at once, through every `finally` on the way; a second signal ends it."""
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _end_with_parent() -> None:
    """End when the parent does, even killed: nobody would hear the answer."""
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
