"""Run somebody's program: never through a shell, in bounded time and memory, and with nothing left behind.

How it ended is a record, because what a timeout or a crash means is for the caller to say; only a program that cannot
be started is an error here.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assay.errors import EnvironmentFailure

End = Literal["exit", "signal", "timeout", "flood"]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What one run of a program may cost."""

    stdout: int = 32_000_000  # bytes; ten thousand results with their text are about 20 MB
    stderr: int = 8_000  # bytes of its end that are kept: a traceback with its message
    read: int = 65_536  # bytes at a time: what a Linux pipe holds
    tick: float = 0.05  # seconds between looks at a program that says nothing
    drain: float = 0.5  # seconds that a child may hold the output open after the program itself has ended
    grace: float = 0.5  # seconds between SIGTERM and SIGKILL: enough to remove a lock file


PROCESS_LIMITS = ProcessLimits()


@dataclass(frozen=True, slots=True)
class Task:
    """A program to run, where, and with which environment; by default here, with our own."""

    argv: tuple[str, ...]
    cwd: Path | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program left: its output, the end of its stderr, its exit code (minus the signal), and how it ended."""

    stdout: bytes
    stderr: bytes
    code: int
    end: End

    @property
    def ok(self) -> bool:
        """Whether it ended by itself and was content."""
        return self.end == "exit" and self.code == 0

    @property
    def last_words(self) -> str:
        """The last line it said on stderr."""
        lines = self.stderr.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    @property
    def signal_name(self) -> str:
        """The signal it died by; real-time ones have numbers only."""
        known = {member.value: member.name for member in signal.Signals}
        return known.get(-self.code, f"signal {-self.code}")


def run_process(task: Task, seconds: float | None, limits: ProcessLimits = PROCESS_LIMITS) -> Finished:
    """Run a program to its end; when its time is over or it prints too much, its whole process group is ended."""
    deadline = None if seconds is None else time.monotonic() + seconds
    end: End = "timeout"
    process = _start(task)
    try:
        reader = _Reader(process, limits)
        end = reader.read_until(deadline)
    finally:  # whatever happens here, an interrupt too
        if end != "exit" or process.poll() is None:
            _end_group(process, limits)
        _close_pipes(process)
    if end == "exit" and process.returncode < 0:
        end = "signal"
    return Finished(bytes(reader.stdout), bytes(reader.stderr), process.returncode, end)


def _start(task: Task) -> subprocess.Popen[bytes]:
    """Start a program at the head of a process group of its own."""
    try:
        return subprocess.Popen(
            task.argv,
            cwd=task.cwd,
            env=None if task.environment is None else dict(task.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as problem:
        raise _unstarted(task, problem) from problem


def _unstarted(task: Task, problem: OSError | ValueError) -> EnvironmentFailure:
    """Say why a program did not start, and what to do about it."""
    if task.cwd is not None and not task.cwd.is_dir():
        return EnvironmentFailure(f"cannot start {task.argv[0]}: no folder {task.cwd}", hint="make the folder")
    if isinstance(problem, FileNotFoundError):
        hint = "install it, or give its full path"
    elif isinstance(problem, PermissionError):
        hint = "make it executable: chmod +x"
    else:  # an argument list too long, a NUL byte, a lone surrogate
        hint = "an argument cannot be passed to a program; shorten or clean it"
    return EnvironmentFailure(f"cannot start {task.argv[0]}: {problem}", hint=hint)


class _Reader:
    """Read both outputs of a process as they come."""

    def __init__(self, process: subprocess.Popen[bytes], limits: ProcessLimits) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._process = process
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ)

    def read_until(self, deadline: float | None) -> End:
        """Read until the process has ended and said all, or the time is over, or it has said too much."""
        with self._selector:
            return self._read_until(deadline)

    def _read_until(self, deadline: float | None) -> End:
        """Look at the time, the amount and the process in turn."""
        ended: float | None = None
        while self._selector.get_map() or self._process.poll() is None:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return "timeout"
            if len(self.stdout) > self._limits.stdout:
                return "flood"
            if self._process.poll() is not None:
                ended = ended or now
                if now - ended > self._limits.drain:
                    _signal_group(self._process, signal.SIGKILL)
                    return "exit"
            self._wait(deadline, now)
        return "flood" if len(self.stdout) > self._limits.stdout else "exit"

    def _wait(self, deadline: float | None, now: float) -> None:
        """Take in what is there, or wait a moment for something to happen."""
        patience = self._limits.tick if deadline is None else min(self._limits.tick, deadline - now)
        if not self._selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
            return
        for key, _ in self._selector.select(patience):
            stream = key.fileobj
            data = os.read(key.fd, self._limits.read)
            if not data:
                self._selector.unregister(stream)
            elif stream is self._process.stdout:
                self.stdout += data
            else:
                self.stderr = (self.stderr + data)[-self._limits.stderr :]


def _end_group(process: subprocess.Popen[bytes], limits: ProcessLimits) -> None:
    """End a process and its children: ask first, then make sure."""
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(limits.grace)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close our ends of the pipes."""
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to everything in the group that is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says so of a group of zombies
        os.killpg(process.pid, number)
