"""Run a program to its end.

How it ended is a record, because what a timeout or a crash means is for the caller to say; only a program that cannot
be started is an error here.
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
    carries,
    every_pid,
    kill_pipe_holders,
    marked,
    new_marker,
    own_marker,
    session_of,
)


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program to run, where, and with which environment; by default here, with our own."""

    argv: tuple[str, ...]
    cwd: Path | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    marker: str = ""  # of `new_marker`, where several programs are to share one; by default its own


#: Bytes of one answer of anybody's program; ten thousand results with their text are about 20 MB.
ANSWER_BYTES: Final = 32_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """What any program may cost."""

    stderr: int = 8_000  # bytes of its end that are kept: a traceback with its message
    read: int = 65_536  # bytes at a time: what a Linux pipe holds
    tick: float = 0.05  # seconds between looks at a program that says nothing
    drain: float = 0.5  # seconds that a child may hold the output open after the program itself has ended
    grace: float = 0.5  # seconds between SIGTERM and SIGKILL: enough to remove a lock file


@dataclass(frozen=True, slots=True)
class PollInterval:
    """Seconds between looks at a program that should end, doubled each time."""

    first: float = 0.0005  # most have ended by the second look
    longest: float = 0.05  # nobody notices it beside a program that takes its time


LOOKS = PollInterval()


def signal_name(code: int) -> str:
    """Name the signal that an exit code stands for; real-time ones have numbers only."""
    known = {member.value: member.name for member in signal.Signals}
    return known.get(-code, f"signal {-code}")


def last_line(stderr: bytes) -> str:
    """Give the last line that says something."""
    lines = stderr.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


#: Every program that was started and that somebody still holds.
_STARTED: weakref.WeakSet[ProcessGroup] = weakref.WeakSet()
_STARTING = threading.Lock()


def kill_groups() -> None:
    """Kill every program that is still running."""
    with _STARTING:
        for group in sorted(_STARTED, key=lambda group: group.pid):
            group.signal(signal.SIGKILL)


def running_sessions() -> frozenset[int]:
    """Give the sessions of the programs that somebody holds and has not ended."""
    with _STARTING:
        return frozenset(group.pid for group in _STARTED if not group.over)


class ProcessGroup:
    """A running program and what it started; every method may be called from any thread."""

    def __init__(self, task: ProgramSpec, *, listens: bool = False) -> None:
        self.marker = task.marker or new_marker()
        self.over = False  # nothing of it is left: its number may be somebody else's
        self._reaping = threading.Lock()
        with contextlib.ExitStack() as undo:
            with _deferred_signals():  # a program must not be lost between its start and its registration
                self._process = _start(task, self.marker, subprocess.PIPE if listens else subprocess.DEVNULL)
                self._abandoned = weakref.finalize(self, _kill, self._process)
                undo.callback(self._abandoned)
                self.memory = ProgramMemory(self.pid, self.marker)
                with _STARTING:
                    _STARTED.add(self)
            undo.pop_all()

    @property
    def pid(self) -> int:
        """The process, which is the group's number too."""
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        """Our end of its input."""
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Our end of its output."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def stderr(self) -> IO[bytes]:
        """Our end of its complaints."""
        assert self._process.stderr is not None
        return self._process.stderr

    def poll(self) -> int | None:
        """Give its exit code (minus the signal), None while it runs."""
        with self._reaping:
            if self._process.returncode is None:
                self._process.returncode = self._reap()
        return self._process.returncode

    def _reap(self) -> int | None:
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # whoever started us has SIGCHLD ignored: nobody can know how it ended
            return 0
        if not pid:
            return None
        self.memory.settle(usage.ru_maxrss)
        return os.waitstatus_to_exitcode(status)

    def wait(self, seconds: float | None) -> int | None:
        """Wait for its end; None when it still runs after that time."""
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
        """Send a signal to everything in the group that is still there."""
        if self.over:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says so of a group of zombies
            os.killpg(self.pid, number)

    def end(self, grace: float) -> None:
        """End the program and its children: ask first, then make sure."""
        if self.poll() is None:
            self.memory.sample(at_once=True)
            self.signal(signal.SIGTERM)
            self.wait(grace)
        self.signal(signal.SIGKILL)
        self.wait(None)
        self.over = True
        self._abandoned.detach()

    def end_holders(self) -> None:
        """End what left the group and still holds an output open."""
        kill_pipe_holders((self.stdout.fileno(), self.stderr.fileno()))

    def close_pipes(self) -> None:
        """Close our ends of the pipes."""
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # a program that is gone takes nothing any more
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
            env=marked(task.environment, marker),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as problem:
        raise _unstarted(task, problem) from problem


def _unstarted(task: ProgramSpec, problem: OSError | ValueError) -> SetupError:
    if task.cwd is not None and not task.cwd.is_dir():
        return SetupError(f"cannot start {task.argv[0]}: no folder {task.cwd}", hint="make the folder")
    if isinstance(problem, FileNotFoundError):
        hint = "install it, or give its full path"
    elif isinstance(problem, PermissionError):
        hint = "make it executable: chmod +x"
    else:  # an argument list too long, a NUL byte, a lone surrogate
        hint = "an argument cannot be passed to a program; shorten or clean it"
    return SetupError(f"cannot start {task.argv[0]}: {problem}", hint=hint)


End = Literal["exit", "signal", "timeout", "flood"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits(GroupLimits):
    """What one run of a program may cost."""

    stdout: int = ANSWER_BYTES


PROCESS_LIMITS = ProcessLimits()


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """What a program left: its output, the end of its stderr, its exit code (minus the signal), and how it ended."""

    stdout: bytes
    stderr: bytes
    code: int
    end: End
    peak_bytes: int | None = None  # of memory; None where it could not be seen

    @property
    def ok(self) -> bool:
        """Whether it ended by itself and was content."""
        return self.end == "exit" and self.code == 0

    @property
    def last_words(self) -> str:
        """The last line it said on stderr."""
        return last_line(self.stderr)

    @property
    def signal_name(self) -> str:
        """The signal it died by."""
        return signal_name(self.code)


def run_process(task: ProgramSpec, seconds: float | None, limits: ProcessLimits = PROCESS_LIMITS) -> CompletedProgram:
    """Run a program to its end; when its time is over or it prints too much, its whole process group is ended."""
    deadline = None if seconds is None else time.monotonic() + seconds
    end: End = "timeout"
    group = ProcessGroup(task)
    try:
        reader = _Reader(group, limits)
        end = reader.read_until(deadline)
    finally:  # whatever happens here, an interrupt too
        _finish(group, limits, orderly=end == "exit")
    code = group.poll() or 0
    if end == "exit" and code < 0:
        end = "signal"
    return CompletedProgram(bytes(reader.stdout), bytes(reader.stderr), code, end, group.memory.peak_bytes)


def _finish(group: ProcessGroup, limits: ProcessLimits, *, orderly: bool) -> None:
    try:
        group.end(limits.grace)
        if not orderly:
            group.end_holders()
    finally:
        group.close_pipes()


class _Reader:
    """Read both outputs of a program as they come."""

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
        self._group.memory.sample(at_once=bool(ready) and not self.stdout)  # the first word often ends the work
        for key, _ in ready:
            stream = key.fileobj
            data = os.read(key.fd, self._limits.read)
            if not data:
                self._selector.unregister(stream)
            elif stream is self._group.stdout:
                self.stdout += data
            else:
                self.stderr = (self.stderr + data)[-self._limits.stderr :]


_ROUNDS = 5  # of killing: between a look and the signal a process can start another


def stragglers(marker: str) -> list[int]:
    """List what is left of the programs with a marker, but nothing of a program that somebody still holds."""
    wanted = running_sessions()
    return [pid for pid in _carriers(marker) if session_of(pid) not in wanted]


def kill_orphans(marker: str, grace: float = GroupLimits().grace) -> int:
    """End what is left of the programs with a marker, ask first and then make sure; tell how many there were."""
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
    """Kill every program of ours that is still running, and all that they left; for who cannot wait for them."""
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
