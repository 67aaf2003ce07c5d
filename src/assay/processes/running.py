"""Run a program to its end.

How it ended is a record, because what a timeout or a crash means is for the caller to say; only a program that cannot
be started is an error here.
"""

from __future__ import annotations

import os
import selectors
import time
from dataclasses import dataclass
from typing import Literal

from assay.processes.groups import ANSWER_BYTES, Group, GroupLimits, Task, last_line, signal_name

End = Literal["exit", "signal", "timeout", "flood"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits(GroupLimits):
    """What one run of a program may cost."""

    stdout: int = ANSWER_BYTES


PROCESS_LIMITS = ProcessLimits()


@dataclass(frozen=True, slots=True)
class Finished:
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


def run_process(task: Task, seconds: float | None, limits: ProcessLimits = PROCESS_LIMITS) -> Finished:
    """Run a program to its end; when its time is over or it prints too much, its whole process group is ended."""
    deadline = None if seconds is None else time.monotonic() + seconds
    end: End = "timeout"
    group = Group(task)
    try:
        reader = _Reader(group, limits)
        end = reader.read_until(deadline)
    finally:  # whatever happens here, an interrupt too
        _finish(group, limits, orderly=end == "exit")
    code = group.poll() or 0
    if end == "exit" and code < 0:
        end = "signal"
    return Finished(bytes(reader.stdout), bytes(reader.stderr), code, end, group.memory.peak_bytes)


def _finish(group: Group, limits: ProcessLimits, *, orderly: bool) -> None:
    """Leave nothing of a program behind, whether it ended by itself or not."""
    try:
        group.end(limits.grace)
        if not orderly:
            group.end_holders()
    finally:
        group.close_pipes()


class _Reader:
    """Read both outputs of a program as they come."""

    def __init__(self, group: Group, limits: ProcessLimits) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._group = group
        self._limits = limits
        self._selector = selectors.DefaultSelector()
        for stream in (group.stdout, group.stderr):
            self._selector.register(stream, selectors.EVENT_READ)

    def read_until(self, deadline: float | None) -> End:
        """Read until the program has ended and said all, or the time is over, or it has said too much."""
        with self._selector:
            return self._read_until(deadline)

    def _read_until(self, deadline: float | None) -> End:
        """Look at the time, the amount and the program in turn."""
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
        """Take in what is there, or wait a moment for something to happen."""
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
