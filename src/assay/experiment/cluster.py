from __future__ import annotations

import logging
import pickle
import platform
import socket
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Future, InvalidStateError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass
from typing import Any, Final, TypeVar

from assay._version import __version__
from assay.digests import package_digest
from assay.errors import AssayError, ConfigError, CorpusError, GoldError, SetupError, install_hint

T = TypeVar("T")
Client = Any  # distributed is optional, and only half of it is typed
_RETRY: Final = 0.1  # seconds; a scheduler notices a broken connection sooner
_LOGGERS: Final = ("distributed", "tornado")


@dataclass(frozen=True, slots=True)
class DaskTimeouts:
    connect: float = 10.0  # seconds; a running scheduler answers in less than one
    workers: float = 60.0  # seconds without any worker; a job queue may need that long for the first
    look: float = 1.0  # seconds between counts of the workers


class DaskExecutor:
    """Executor on the workers of a Dask scheduler, which repeats the tasks of a worker that dies."""

    shares_disk = False

    def __init__(self, address: str, timeouts: DaskTimeouts | None = None) -> None:
        self.address = address
        self._timeouts = timeouts or DaskTimeouts()
        self._environment = worker_environment()
        self._thread_count = 0
        self._next_count = 0.0
        self._workers_seen = time.monotonic()
        with ExitStack() as stack:
            self._client = _connect(address, self._timeouts, stack)
            try:
                _check_workers(self._client, address, self._timeouts, self._environment)
                self._count_threads()
            except (OSError, CancelledError) as error:
                raise _scheduler_lost(address) from error
            self._stack = stack.pop_all()
        self._executor = self._client.get_executor(pure=False)

    @property
    def width(self) -> int:
        """Number of tasks in flight: a quarter more than worker threads, so that no worker waits for its next task.

        It is not larger, because Dask counts a failure for every task that is queued on a worker that dies.
        """
        from distributed.client import ClosedClientError

        if time.monotonic() >= self._next_count:
            with suppress(OSError, ClosedClientError, CancelledError):  # without a scheduler, Dask cancels the futures
                self._count_threads()
        return self._thread_count + -(-self._thread_count // 4)

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        from distributed.client import ClosedClientError

        message = pickle.dumps(RemoteCall(self._environment, pack((function, args))), protocol=5)
        try:
            remote: Future[bytes] = self._executor.submit(pickle.loads, message)
        except ClosedClientError as error:
            raise _scheduler_lost(self.address) from error
        result: Future[T] = Future()
        result.add_done_callback(lambda done: remote.cancel() if done.cancelled() else None)
        remote.add_done_callback(lambda done: self._settle(done, result))
        return result

    def close(self) -> None:
        """Cancel running tasks and disconnect; the cluster keeps running."""
        from distributed.client import ClosedClientError

        with self._stack, suppress(ClosedClientError):  # the scheduler ended first
            self._executor.shutdown(wait=False)

    def _count_threads(self) -> None:
        now = time.monotonic()
        self._next_count = now + self._timeouts.look
        threads = sum(self._client.nthreads().values())
        if threads:
            self._thread_count, self._workers_seen = threads, now
        elif now - self._workers_seen >= self._timeouts.workers:
            raise _no_workers(self.address, self._timeouts.workers)

    def _settle(self, remote: Future[bytes], result: Future[T]) -> None:
        with suppress(InvalidStateError):  # cancelled meanwhile
            try:
                value = unpack(remote.result())
            except (Exception, CancelledError) as error:
                result.set_exception(self._explain(error))
            else:
                result.set_result(value)

    def _explain(self, error: BaseException) -> BaseException:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            times = error.allowed_failures + 1
            return BrokenExecutor(f"Dask gave up after {times} lost workers (allowed-failures)")
        if isinstance(error, CancelledError):
            return _scheduler_lost(self.address)
        if isinstance(error, ImportError | AttributeError) and not isinstance(error, AssayError):
            hint = "install Assay and the packages of your engines on every worker"
            return SetupError(f"a worker of {self.address} cannot load the task: {error}", hint=hint)
        return error


@dataclass(frozen=True, slots=True)
class WorkerEnvironment:
    host: str
    assay: str
    python: str  # without the patch version; `ast`, `re` and the standard library change with minor versions
    code: str  # digest of Assay's code

    def difference(self, wanted: WorkerEnvironment) -> str:
        """Return how the installation differs from the wanted one, or an empty text."""
        if self.python != wanted.python:
            return f"has Python {self.python}, not {wanted.python}"
        if self.assay != wanted.assay:
            return f"has Assay {self.assay}, not {wanted.assay}"
        return "" if self.code == wanted.code else f"has Assay {self.assay} with different code"


def worker_environment() -> WorkerEnvironment:
    python = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"
    return WorkerEnvironment(socket.gethostname(), __version__, python, package_digest())


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """Task that runs when it is unpickled, so that a scheduler without Assay can handle it as `pickle.loads(bytes)`.

    Function and arguments are pickled separately, so that a worker with other code fails with a clear message before
    loading them.
    """

    wanted: WorkerEnvironment
    packed: bytes

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[Any, ...]]:
        return run_remote, (*astuple(self.wanted), self.packed)


def run_remote(host: str, assay: str, python: str, code: str, packed: bytes) -> bytes:
    """Run a packed task on this worker; messages of AssayError name the worker's host."""
    _check_environment(worker_environment(), WorkerEnvironment(host, assay, python, code))
    function, args = unpack(packed)
    try:
        return pack(function(*args))
    except AssayError as error:
        hint = error.hint
        if isinstance(error, CorpusError | GoldError):
            advice = "workers open corpora themselves: use a path that exists on every worker, or a URL"
            hint = f"{hint}; {advice}" if hint else advice
        message = f"on {socket.gethostname()}: {error.message}"
        raise type(error)(message, file=error.file, line=error.line, hint=hint) from error


def pack(value: object) -> bytes:
    """Pickle and compress a value; tasks shrink to a fifth, because names and paths repeat."""
    return zlib.compress(pickle.dumps(value, protocol=5), 1)


def unpack(packed: bytes) -> Any:  # noqa: ANN401 (any value)
    return pickle.loads(zlib.decompress(packed))  # noqa: S301 (a cluster runs the code of its clients; it is trusted)


def _check_environment(actual: WorkerEnvironment, wanted: WorkerEnvironment, address: str = "") -> None:
    difference = actual.difference(wanted)
    if difference:
        worker = f"{actual.host} ({address})" if address else actual.host
        raise SetupError(
            f"the worker on {worker} {difference}",
            hint="install the same Assay and Python minor version on every worker, and restart them",
        )


def _connect(address: str, timeouts: DaskTimeouts, stack: ExitStack) -> Client:
    try:
        import distributed
    except ImportError as error:
        raise SetupError("cannot use --cluster: Dask is not installed", hint=install_hint("cluster")) from error
    stack.enter_context(_silenced_loggers())
    try:
        connect: Any = distributed.Client
        client = connect(address, timeout=timeouts.connect, set_as_default=False, name="assay")
        stack.callback(client.close)
        return client
    except (OSError, TimeoutError) as error:
        raise SetupError(
            f"cannot connect to a scheduler at {address}: {error}",
            hint="start one with `dask scheduler` and pass its address",
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(f"invalid cluster address {address!r}: {error}", hint="use tcp://HOST:8786") from error


@contextmanager
def _silenced_loggers() -> Iterator[None]:
    """Silence Dask and Tornado; child loggers without a level of their own inherit it."""
    names = {name for name in logging.Logger.manager.loggerDict if name.split(".")[0] in _LOGGERS} | {*_LOGGERS}
    levels = {name: logging.getLogger(name).level for name in names}
    changed = {name: level for name, level in levels.items() if level or name in _LOGGERS}
    try:
        for name in changed:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in changed.items():
            logging.getLogger(name).setLevel(level)


def _check_workers(client: Client, address: str, timeouts: DaskTimeouts, wanted: WorkerEnvironment) -> None:
    """Wait for a worker; raise SetupError if a worker has another installation or does not answer in time."""
    end = time.monotonic() + timeouts.connect
    while True:
        try:
            client.wait_for_workers(1, timeout=timeouts.workers)
        except TimeoutError as error:
            raise _no_workers(address, timeouts.workers) from error
        answers: Mapping[str, object] = client.run(worker_environment, on_error="return")
        silent = {where: answer for where, answer in answers.items() if isinstance(answer, OSError)}
        for where, answer in sorted(answers.items()):
            if isinstance(answer, WorkerEnvironment):
                _check_environment(answer, wanted, where)
            elif where not in silent:
                hint = "install the same Assay on every worker and restart them"
                raise SetupError(f"the worker at {where} cannot load Assay: {answer}", hint=hint)
        if answers and not silent:
            return
        if silent and time.monotonic() > end:
            where, problem = min(silent.items())
            hint = "restart the worker, or stop it"
            raise SetupError(f"the worker at {where} does not answer: {problem}", hint=hint)
        time.sleep(_RETRY)


def _no_workers(address: str, seconds: float) -> SetupError:
    hint = f"start some with `dask worker {address} --nthreads 1`; finished cells are reused"
    return SetupError(f"the scheduler at {address} had no workers for {seconds:.0f} s", hint=hint)


def _scheduler_lost(address: str) -> SetupError:
    hint = "restart the scheduler and repeat the run; finished cells are reused"
    return SetupError(f"the scheduler at {address} stopped or cancelled a task", hint=hint)
