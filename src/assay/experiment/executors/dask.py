"""Run tasks on a Dask cluster."""

from __future__ import annotations

import logging
import pickle
import platform
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from assay._version import __version__
from assay.digests import package_digest
from assay.errors import AssayError, ConfigError, CorpusError, GoldError, SetupError, install_hint
from assay.experiment.executors.base import lost_for_good

_SAME = "install the same Assay on the same Python (3.11 is not 3.12) on every worker, and start them again"
_THERE = "workers open corpora themselves: it must be at the same path on every worker, or be named by address"


@dataclass(frozen=True, slots=True)
class WorkerEnvironment:
    """What decides how a worker answers."""

    assay: str
    python: str  # without the patch: what `ast`, `re` and the standard library do changes with the minor version
    code: str  # digest of Assay's own code

    def lacks(self, wanted: WorkerEnvironment) -> str:
        """Say how it differs from what is wanted; empty when it does not."""
        if self.python != wanted.python:
            return f"has Python {self.python}, not {wanted.python}"
        if self.assay != wanted.assay:
            return f"has Assay {self.assay}, not {wanted.assay}"
        return "" if self.code == wanted.code else f"has other code of Assay {self.assay}"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker, as it tells of itself."""

    host: str
    kit: WorkerEnvironment


def kit() -> WorkerEnvironment:
    """Say what this process has."""
    python = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"
    return WorkerEnvironment(__version__, python, package_digest())


def seat() -> WorkerInfo:
    """Say where this is and what it has."""
    return WorkerInfo(socket.gethostname(), kit())


def mismatch_error(found: WorkerInfo, wanted: WorkerEnvironment, where: str = "") -> SetupError | None:
    """Make the error for a worker that would answer differently; None for one that would not."""
    lack = found.kit.lacks(wanted)
    place = f"{found.host} ({where})" if where else found.host
    return SetupError(f"the worker on {place} {lack}", hint=_SAME) if lack else None


class RemoteTask:
    """A task that is done where it is unpickled: `pickle.loads` is all that a scheduler needs to know of it.

    What it calls is a pickle of its own, so that a worker with other code says so before it stumbles over that.
    """

    def __init__(self, wanted: WorkerEnvironment, packed: bytes) -> None:
        self._wanted = wanted
        self._packed = packed

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[Any, ...]]:
        """Become a call of `run_remote`."""
        plain = (self._wanted.assay, self._wanted.python, self._wanted.code)
        return run_remote, (plain, self._packed)


def run_remote(wanted: tuple[str, str, str], packed: bytes) -> bytes:
    """Do a task on this worker; what is wrong with it is told with the worker's name."""
    problem = mismatch_error(seat(), WorkerEnvironment(*wanted))
    if problem is not None:
        raise problem
    function, args = unpacked(packed)
    try:
        return packed_small(function(*args))
    except AssayError as error:
        raise _located(error) from error


def packed_small(value: object) -> bytes:
    """Pickle for the wire; names and paths repeat, so that it shrinks to a fifth."""
    return zlib.compress(pickle.dumps(value, protocol=5), 1)


def unpacked(packed: bytes) -> Any:  # noqa: ANN401 (whatever was packed)
    """Read what `packed_small` wrote."""
    return pickle.loads(zlib.decompress(packed))  # noqa: S301 (a cluster runs what its clients send; it is trusted)


def _located(error: AssayError) -> AssayError:
    hint = error.hint
    if isinstance(error, CorpusError | GoldError):
        hint = f"{hint}; {_THERE}" if hint else _THERE
    message = f"on {socket.gethostname()}: {error.message}"
    return type(error)(message, file=error.file, line=error.line, hint=hint)


#: Whose loggers speak of connections. Those below them that have no level of their own take that of the first.
_ROOMS: Final = ("distributed", "tornado")


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Keep Dask's loggers still for a while; they are as they were afterwards."""
    known = [name for name in logging.Logger.manager.loggerDict if name.split(".")[0] in _ROOMS]
    loggers = [logging.getLogger(name) for name in sorted({*known, *_ROOMS})]
    before = [(logger, logger.level) for logger in loggers if logger.level or logger.name in _ROOMS]
    try:
        for logger, _ in before:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


T = TypeVar("T")
Client = Any  # of distributed, which has types for half of it, and need not be there
MB: Final = 1_000_000
_PAUSE: Final = 0.1  # seconds: a scheduler knows of a broken connection in less


@dataclass(frozen=True, slots=True)
class DaskTimeouts:
    """How long a cluster is waited for, and how much is sent through it."""

    connect: float = 10.0  # seconds; a scheduler that is there answers in less than one
    workers: float = 60.0  # seconds without any worker: a job queue may need that long for the first
    look: float = 1.0  # seconds between looks at who is there
    large: int = MB  # bytes of a task that are worth a word: the scheduler keeps it until it is done
    refused: int = 20 * MB  # bytes of a task that are not sent: ten thousand of them are no scheduler's work


@dataclass(slots=True)
class SchedulerTraffic:
    """What went through the scheduler."""

    tasks: int = 0
    sent: int = 0  # bytes
    results: int = 0
    received: int = 0  # bytes


@dataclass(slots=True)
class _State:
    """What is in flight, and since when nobody was there to do it."""

    open: set[Future[object]] = field(default_factory=set)
    threads: int = 0
    alone_since: float | None = None


class DaskExecutor:
    """The workers of a Dask scheduler. When one dies, Dask gives its tasks to others; that is not done here as well."""

    near = False

    def __init__(self, address: str, patience: DaskTimeouts | None = None) -> None:
        self.address = address
        self.traffic = SchedulerTraffic()
        self.troubles: list[str] = []  # what people should know, each once
        self._patience = patience or DaskTimeouts()
        self._lock = threading.Lock()
        self._state = _State()
        self._closing = threading.Event()
        with ExitStack() as leaving:
            self._client = _connect(address, self._patience, leaving)
            try:
                _check_workers(self._client, address, self._patience)
                self._look()
            except (OSError, CancelledError) as error:
                raise _went_away(address) from error
            self._leaving = leaving.pop_all()
        self._executor = self._client.get_executor(pure=False)
        self._watch = threading.Thread(target=self._keep_looking, name="assay-cluster", daemon=True)
        self._watch.start()

    @property
    def width(self) -> int:
        """A quarter more than there are threads: who is done finds the next task waiting.

        Not more: what waits on a worker that dies is suspected together with what ran there.
        """
        threads = self._state.threads
        return threads + -(-threads // 4)

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Send a task, with what a worker must have to do it."""
        message = pickle.dumps(RemoteTask(kit(), packed_small((function, args))), protocol=5)
        self._weigh(len(message), args)
        ours: Future[T] = Future()
        with self._lock:
            self._state.open.add(ours)  # type: ignore[arg-type]  # a future of anything
        self.traffic.tasks += 1
        self.traffic.sent += len(message)
        theirs = self._send(message)
        ours.add_done_callback(lambda done: theirs.cancel() if done.cancelled() else None)
        theirs.add_done_callback(lambda done: self._settle(done, ours))
        return ours

    def _send(self, message: bytes) -> Future[bytes]:
        from distributed.client import ClosedClientError

        try:
            theirs: Future[bytes] = self._executor.submit(pickle.loads, message)
        except ClosedClientError as error:
            raise _went_away(self.address) from error
        return theirs

    def close(self) -> None:
        """Cancel what is in flight and leave; the cluster goes on for others."""
        if not self._closing.is_set():
            self._closing.set()
            self._watch.join()
            from distributed.client import ClosedClientError

            with self._leaving, suppress(ClosedClientError):  # the scheduler left first
                self._executor.shutdown(wait=False)

    def _settle(self, theirs: Future[bytes], ours: Future[T]) -> None:
        with self._lock:
            self._state.open.discard(ours)
        try:
            packed = theirs.result()
            self.traffic.results += 1
            self.traffic.received += len(packed)
            value = unpacked(packed)
        except (Exception, CancelledError) as error:
            self._fail(ours, self._explained(error))
            return
        with suppress(InvalidStateError):  # nobody wants it any more
            ours.set_result(value)

    def _explained(self, error: BaseException) -> BaseException:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            times = error.allowed_failures + 1
            return lost_for_good(f"Dask gave it to {times} workers, and each of them died (allowed-failures)")
        if isinstance(error, CancelledError):
            return _went_away(self.address)
        if isinstance(error, ImportError | AttributeError) and not isinstance(error, AssayError):
            failure = SetupError(
                f"a worker of {self.address} cannot load the task: {error}",
                hint="is Assay, and whatever engines of your own need, installed on every worker?",
            )
            failure.__cause__ = error
            return failure
        return error

    @staticmethod
    def _fail(ours: Future[T], problem: BaseException) -> None:
        with suppress(InvalidStateError):
            ours.set_exception(problem)

    def _weigh(self, size: int, args: tuple[object, ...]) -> None:
        if size > self._patience.refused:
            raise SetupError(
                f"{_name(args)} takes {size / MB:.0f} MB to send; {self._patience.refused / MB:.0f} MB is the most",
                hint="divide the gold set, or use --shard, where nothing is sent",
            )
        if size > self._patience.large and not self.troubles:
            self.troubles.append(
                f"{_name(args)} takes {size / MB:.1f} MB to send; the scheduler keeps every task that is in flight"
            )

    def _keep_looking(self) -> None:
        while not self._closing.wait(self._patience.look):
            with suppress(OSError):  # the scheduler went away: Dask cancels what is in flight
                self._look()

    def _look(self) -> None:
        threads = sum(self._client.nthreads().values())
        state = self._state
        state.threads = threads or state.threads
        if threads:
            state.alone_since = None
            return
        now = time.monotonic()
        state.alone_since = now if state.alone_since is None else state.alone_since
        if now - state.alone_since >= self._patience.workers:
            with self._lock:
                waiting, state.open = list(state.open), set()
            for future in waiting:
                self._fail(future, _nobody(self.address, self._patience.workers))


def _connect(address: str, patience: DaskTimeouts, leaving: ExitStack) -> Client:
    try:
        import distributed
    except ImportError as error:
        raise SetupError("--cluster needs Dask", hint=install_hint("cluster")) from error
    leaving.enter_context(quiet_dask())
    try:
        connect: Any = distributed.Client
        client = connect(address, timeout=patience.connect, set_as_default=False, name="assay")
        leaving.callback(client.close)
        return client
    except (OSError, TimeoutError) as error:
        raise SetupError(
            f"no scheduler answers at {address}: {error}", hint="start one with `dask scheduler`, and name its address"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{address!r} is no address of a cluster: {error}", hint="tcp://HOST:8786") from error


def _wait_for_workers(client: Client, address: str, patience: DaskTimeouts) -> None:
    try:
        client.wait_for_workers(1, timeout=patience.workers)
    except TimeoutError as error:
        raise _nobody(address, patience.workers) from error


def _nobody(address: str, seconds: float) -> SetupError:
    hint = f"start some with `dask worker {address} --nthreads 1`; what is done is kept"
    return SetupError(f"{address} had no worker for {seconds:.0f} s", hint=hint)


def _went_away(address: str) -> SetupError:
    hint = "start it again and run again; what is done is kept"
    return SetupError(f"the scheduler at {address} went away, or cancelled a task", hint=hint)


def _check_workers(client: Client, address: str, patience: DaskTimeouts) -> None:
    """Refuse a cluster of which one worker would answer differently, before anything runs.

    One that dies while it is asked is no reason to stop: who is there then is asked again.
    """
    wanted = kit()
    end = time.monotonic() + patience.connect
    while True:
        _wait_for_workers(client, address, patience)
        answers: Mapping[str, object] = client.run(seat, on_error="return")
        silent = {where: answer for where, answer in answers.items() if isinstance(answer, OSError)}
        for where, answer in sorted(answers.items()):
            problem = None if where in silent else _refused(answer, wanted, where)
            if problem is not None:
                raise problem
        if answers and not silent:
            return
        if silent and time.monotonic() > end:
            where, lost = min(silent.items())
            hint = "end it, or start it again; the scheduler still counts on it"
            raise SetupError(f"the worker at {where} does not answer: {lost}", hint=hint)
        time.sleep(_PAUSE)


def _refused(answer: object, wanted: WorkerEnvironment, where: str) -> SetupError | None:
    """Make the error for a worker that must not be given anything; None for one that may."""
    if isinstance(answer, WorkerInfo):
        return mismatch_error(answer, wanted, where)
    hint = "install the same Assay on every worker, and start them again"
    return SetupError(f"the worker at {where} cannot load Assay: {answer}", hint=hint)


def _name(args: tuple[object, ...]) -> str:
    return str(args[0])[:200] if args else "a task"
