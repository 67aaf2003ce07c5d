"""Run somebody's program: never through a shell, in bounded time and memory, and with nothing left behind."""

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

from assay.engines.base import EngineCrash
from assay.errors import CorpusError, EngineError, EngineTimeout, EnvironmentFailure


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
    """A program to run."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = field(repr=False)  # may hold secrets


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program left: its output, the end of its stderr, its exit code."""

    stdout: bytes
    stderr: bytes
    code: int


def run_process(task: Task, seconds: float | None, limits: ProcessLimits = PROCESS_LIMITS) -> Finished:
    """Run a program to its end; on EngineTimeout and every other error its whole process group is ended."""
    deadline = None if seconds is None else time.monotonic() + seconds
    process = _start(task)
    reader = _Reader(process, limits)
    done = False
    try:
        done = reader.read_until(deadline)
        if not done:
            raise EngineTimeout(f"no answer after {seconds:g} s{_tail(reader.stderr)}")
    finally:
        if not done or process.poll() is None:
            _end_group(process, limits)
        reader.close()
    if process.returncode < 0:
        raise EngineCrash(f"{task.argv[0]} died by {_signal_name(-process.returncode)}{_tail(reader.stderr)}")
    return Finished(bytes(reader.stdout), bytes(reader.stderr), process.returncode)


def describe_failure(task: Task, finished: Finished) -> str:
    """Say that a program failed, with the last thing it said."""
    return f"{task.argv[0]} ended with exit code {finished.code}{_tail(finished.stderr)}"


def _signal_name(number: int) -> str:
    """Name a signal; real-time ones have numbers only."""
    known = {member.value: member.name for member in signal.Signals}
    return known.get(number, f"signal {number}")


def _tail(stderr: bytes | bytearray) -> str:
    """Give the last line of what a program said."""
    lines = stderr.decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1]}" if said else ""


def _start(task: Task) -> subprocess.Popen[bytes]:
    """Start a program at the head of a process group of its own."""
    try:
        return subprocess.Popen(
            task.argv,
            cwd=task.cwd,
            env=dict(task.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except FileNotFoundError as problem:
        if not task.cwd.is_dir():
            raise CorpusError(f"the corpus folder is gone: {task.cwd}", hint="do not move it during a run") from problem
        raise EnvironmentFailure(
            f"cannot start {task.argv[0]}: {problem.strerror}: {problem.filename}",
            hint="install it, or give its full path",
        ) from problem
    except (OSError, ValueError) as problem:  # not executable; a query too long or with a NUL byte
        raise EngineError(f"cannot start {task.argv[0]}: {problem}") from problem


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

    def read_until(self, deadline: float | None) -> bool:
        """Read until the process has ended and said all; False when the time is over first."""
        ended: float | None = None
        while self._selector.get_map() or self._process.poll() is None:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return False
            if self._process.poll() is not None:
                ended = ended or now
                if now - ended > self._limits.drain:
                    _signal_group(self._process, signal.SIGKILL)
                    return True
            self._wait(deadline, now)
        return True

    def close(self) -> None:
        """Close our ends of the pipes."""
        self._selector.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

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
                self._take(data)
            else:
                self.stderr = (self.stderr + data)[-self._limits.stderr :]

    def _take(self, data: bytes) -> None:
        """Keep output up to the limit."""
        if len(self.stdout) + len(data) > self._limits.stdout:
            raise EngineError(f"printed more than {self._limits.stdout:,} bytes")
        self.stdout += data


def _end_group(process: subprocess.Popen[bytes], limits: ProcessLimits) -> None:
    """End a process and its children: ask first, then make sure."""
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(limits.grace)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to everything in the group that is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says so of a group of zombies
        os.killpg(process.pid, number)
