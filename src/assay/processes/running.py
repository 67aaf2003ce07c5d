"""Run a program to its end.

Timeouts and crashes are part of the result; only a program that cannot be started raises an error.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Literal

from assay.errors import SetupError
from assay.processes.watch import (
    ProgramMemory,
    add_marker,
    carries,
    every_pid,
    kill_pipe_holders,
    new_marker,
    own_marker,
    session_of,
)


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program with working directory and environment; by default those of this process."""

    argv: tuple[str, ...]
    cwd: Path | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    marker: str = ""  # from `new_marker`, if several programs share one; by default a new one


#: Maximum bytes of one output; ten thousand results with their text are about 20 MB.
ANSWER_BYTES: Final = 32_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """Limits of any program."""

    stderr: int = 8_000  # last bytes that are retained: a traceback with its message
    read: int = 65_536  # bytes per read: the capacity of a Linux pipe
    tick: float = 0.05  # seconds between polls of a silent program
    drain: float = 0.5  # seconds that descendants may keep the output open after the program has exited
    grace: float = 0.5  # seconds between SIGTERM and SIGKILL: enough to remove a lock file


@dataclass(frozen=True, slots=True)
class PollInterval:
    """Seconds between polls of a program that should exit, doubled each time."""

    first: float = 0.0005  # most have exited by the second poll
    longest: float = 0.05  # not noticeable with a slow program


LOOKS = PollInterval()


def signal_name(code: int) -> str:
    """Return the name of the signal in an exit code; real-time signals have numbers only."""
    known = {member.value: member.name for member in signal.Signals}
    return known.get(-code, f"signal {-code}")


def last_line(stderr: bytes) -> str:
    """Return the last nonempty line."""
    lines = stderr.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


#: Every started program that is still referenced.
_STARTED: weakref.WeakSet[ProcessGroup] = weakref.WeakSet()
_STARTING = threading.Lock()


def kill_groups() -> None:
    """Kill every running program."""
    with _STARTING:
        for group in sorted(_STARTED, key=lambda group: group.pid):
            group.signal(signal.SIGKILL)


def running_sessions() -> frozenset[int]:
    """Return the sessions of referenced programs that were not ended."""
    with _STARTING:
        return frozenset(group.pid for group in _STARTED if not group.over)


class ProcessGroup:
    """A running program and its descendants; methods may be called from any thread."""

    def __init__(self, task: ProgramSpec, *, listens: bool = False) -> None:
        self.marker = task.marker or new_marker()
        self.over = False  # it was ended: its process id may be reused
        self._reaping = threading.Lock()
        with contextlib.ExitStack() as undo:
            with _deferred_signals():  # no program may be lost between start and registration
                self._process = _start(task, self.marker, subprocess.PIPE if listens else subprocess.DEVNULL)
                self._abandoned = weakref.finalize(self, _kill, self._process)
                undo.callback(self._abandoned)
                self.memory = ProgramMemory(self.pid, self.marker)
                with _STARTING:
                    _STARTED.add(self)
            undo.pop_all()

    @property
    def pid(self) -> int:
        """The process id, which is also that of the group and session."""
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        """Our end of its stdin."""
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Our end of its stdout."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def stderr(self) -> IO[bytes]:
        """Our end of its stderr."""
        assert self._process.stderr is not None
        return self._process.stderr

    def poll(self) -> int | None:
        """Return its exit code (minus the signal); None while it runs."""
        with self._reaping:
            if self._process.returncode is None:
                try:
                    pid, status, usage = os.wait4(self.pid, os.WNOHANG)
                except ChildProcessError:  # our parent ignores SIGCHLD: the exit code is unknown
                    self._process.returncode = 0
                else:
                    if pid:
                        self.memory.settle(usage.ru_maxrss)
                        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode

    def wait(self, seconds: float | None) -> int | None:
        """Wait for its exit; None if it still runs after that time."""
        end = None if seconds is None else time.monotonic() + seconds
        pause = LOOKS.first
        while (code := self.poll()) is None:
            left = pause if end is None else end - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(pause * 2, LOOKS.longest)
        return code

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process group."""
        if self.over:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # raised by macOS for a group of zombies
            os.killpg(self.pid, number)

    def end(self, grace: float) -> None:
        """End the process group: SIGTERM, then SIGKILL."""
        if self.poll() is None:
            self.memory.sample(at_once=True)
            self.signal(signal.SIGTERM)
            self.wait(grace)
        self.signal(signal.SIGKILL)
        self.wait(None)
        self.over = True
        self._abandoned.detach()

    def end_holders(self) -> None:
        """Kill processes that left the group and keep an output open."""
        kill_pipe_holders((self.stdout.fileno(), self.stderr.fileno()))

    def close_pipes(self) -> None:
        """Close our ends of the pipes."""
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # unwritten input of an exited program
                    stream.close()


@contextlib.contextmanager
def _deferred_signals() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs handlers in the main thread only
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    deferred: list[int] = []
    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, lambda number, _: deferred.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
    for received in deferred:
        signal.raise_signal(received)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _start(task: ProgramSpec, marker: str, stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            task.argv,
            cwd=task.cwd,
            env=add_marker(task.environment, marker),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as problem:
        raise _start_error(task, problem) from problem


def _start_error(task: ProgramSpec, problem: OSError | ValueError) -> SetupError:
    if task.cwd is not None and not task.cwd.is_dir():
        return SetupError(f"cannot start {task.argv[0]}: no folder {task.cwd}", hint="make the folder")
    if isinstance(problem, FileNotFoundError):
        hint = "install it, or give its full path"
    elif isinstance(problem, PermissionError):
        hint = "make it executable: chmod +x"
    else:  # argument list too long, NUL byte, lone surrogate
        hint = "an argument cannot be passed to a program; shorten or clean it"
    return SetupError(f"cannot start {task.argv[0]}: {problem}", hint=hint)


End = Literal["exit", "signal", "timeout", "flood"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits(GroupLimits):
    """Limits of one run of a program."""

    stdout: int = ANSWER_BYTES


PROCESS_LIMITS = ProcessLimits()


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """Output, last stderr, exit code (minus the signal) and end of a program."""

    stdout: bytes
    stderr: bytes
    code: int
    end: End
    peak_bytes: int | None = None  # of memory; None if unknown

    @property
    def ok(self) -> bool:
        """Whether it exited with code 0."""
        return self.end == "exit" and self.code == 0

    @property
    def last_words(self) -> str:
        """The last line of stderr."""
        return last_line(self.stderr)

    @property
    def signal_name(self) -> str:
        """The signal that ended it."""
        return signal_name(self.code)


def run_process(task: ProgramSpec, seconds: float | None, limits: ProcessLimits = PROCESS_LIMITS) -> CompletedProgram:
    """Run a program; after a timeout or too much output its process group is killed."""
    deadline = None if seconds is None else time.monotonic() + seconds
    end: End = "timeout"
    group = ProcessGroup(task)
    try:
        reader = _Reader(group, limits)
        end = reader.read_until(deadline)
    finally:  # also on KeyboardInterrupt
        try:
            group.end(limits.grace)
            if end != "exit":
                group.end_holders()
        finally:
            group.close_pipes()
    code = group.poll() or 0
    if end == "exit" and code < 0:
        end = "signal"
    return CompletedProgram(bytes(reader.stdout), bytes(reader.stderr), code, end, group.memory.peak_bytes)


class _Reader:
    """Reads stdout and stderr of a program."""

    def __init__(self, group: ProcessGroup, limits: ProcessLimits) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._group = group
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for stream in (group.stdout, group.stderr):
            self._selector.register(stream, selectors.EVENT_READ)

    def read_until(self, deadline: float | None) -> End:
        with self._selector:
            return self._read_until(deadline)

    def _read_until(self, deadline: float | None) -> End:
        ended: float | None = None
        while self._selector.get_map() or self._group.poll() is None:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return "timeout"
            if len(self.stdout) > self._limits.stdout:
                return "flood"
            if self._group.poll() is not None:
                ended = ended or now
                if now - ended > self._limits.drain:
                    self._group.end_holders()
                    return "exit"
            self._wait(deadline, now)
        return "flood" if len(self.stdout) > self._limits.stdout else "exit"

    def _wait(self, deadline: float | None, now: float) -> None:
        patience = self._limits.tick if deadline is None else min(self._limits.tick, deadline - now)
        patience = self._group.memory.pause(patience)
        if not self._selector.get_map():
            self._group.wait(patience)
            self._group.memory.sample()
            return
        ready = self._selector.select(patience)
        self._group.memory.sample(at_once=bool(ready) and not self.stdout)  # often the end of its work
        for key, _ in ready:
            stream = key.fileobj
            data = os.read(key.fd, self._limits.read)
            if not data:
                self._selector.unregister(stream)
            elif stream is self._group.stdout:
                self.stdout += data
            else:
                self.stderr = (self.stderr + data)[-self._limits.stderr :]


_ROUNDS = 5  # of killing: a process can fork between listing and signal


def stragglers(marker: str) -> list[int]:
    """Return the processes with a marker, except those of programs still in use."""
    wanted = running_sessions()
    return [pid for pid in _carriers(marker) if session_of(pid) not in wanted]


def kill_orphans(marker: str, grace: float = GroupLimits().grace) -> int:
    """End the orphans of programs with a marker (SIGTERM, then SIGKILL) and return their number."""
    left = stragglers(marker)
    ended = set(left)
    _send(left, marker, signal.SIGTERM)
    end, pause = time.monotonic() + grace, LOOKS.first
    while left and time.monotonic() < end:
        time.sleep(pause)
        pause = min(pause * 2, LOOKS.longest)
        left = [pid for pid in left if carries(pid, marker)]
    for _ in range(_ROUNDS if ended else 0):
        left = stragglers(marker)
        ended.update(left)
        _send(left, marker, signal.SIGKILL)
        if not left:
            break
    return len(ended)


def kill_all() -> None:
    """Kill every running program of this process and all orphans, without waiting."""
    kill_groups()
    for _ in range(_ROUNDS):
        left = _carriers(own_marker())
        _send(left, own_marker(), signal.SIGKILL)
        if not left:
            break


def _carriers(marker: str) -> list[int]:
    return sorted(pid for pid in every_pid() if pid != os.getpid() and carries(pid, marker))


def _send(pids: list[int], marker: str, number: signal.Signals) -> None:
    for pid in pids:
        if carries(pid, marker):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
