"""A program that stays: it is written to and read from, each time until a deadline (`time.monotonic`).

Its stderr is always drained, so that it cannot block there. Its stdout is read only while somebody waits for it: a
program that prints without being asked blocks in its own pipe and costs us nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from assay.processes.running import ANSWER_BYTES, GroupLimits, ProcessGroup, ProgramSpec, last_line, signal_name

_Find = Callable[[bytearray, int], "_Found | None"]


class ChildError(Exception):
    """What can happen to a program that stays; what it means is for the caller to say."""


class ChildExited(ChildError):
    """It ended, or closed the pipe that was wanted."""


class ChildTimeout(ChildError):
    """The deadline came first."""


class OutputLimitExceeded(ChildError):
    """It said more than anybody can want before it came to the end of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits(GroupLimits):
    """What a program that stays may cost."""

    line: int = ANSWER_BYTES
    marker: int = 4_096  # bytes that a marker may be long, looked at again with each piece that comes
    leave: float = 0.2  # seconds to end by itself once its stdin is closed


CHILD_LIMITS = ChildLimits()


@dataclass(frozen=True, slots=True)
class _Found:
    """Where in the buffer an answer ends, and where the next begins."""

    end: int
    after: int


class _Alarm:
    """Something that can be waited for together with pipes; once rung it stays so."""

    def __init__(self) -> None:
        self.handle, self._ringer = os.pipe()

    def ring(self) -> None:
        os.write(self._ringer, b"!")

    def close(self) -> None:
        os.close(self.handle)
        os.close(self._ringer)


class Child:
    """One running program. One thread at a time talks to it; `end` may be called from any."""

    def __init__(self, task: ProgramSpec, limits: ChildLimits = CHILD_LIMITS) -> None:
        self._limits = limits
        self._group = ProcessGroup(task, listens=True)
        self._buffer = bytearray()
        self._said = b""  # the end of stderr
        self._silent = False  # its stderr is at the end, or nobody may read it any more
        self._over = False  # its stdout is at the end
        self._left: float | None = None  # when it was seen to have ended
        self._ended = False
        self._talking, self._hearing, self._ending = threading.Lock(), threading.Lock(), threading.Lock()
        self._hush = _Alarm()  # for who listens to its stderr
        for stream in (self._input, self._group.stderr):
            os.set_blocking(stream.fileno(), False)
        self._listener = threading.Thread(target=self._listen, name="assay-stderr", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._group.pid

    @property
    def marker(self) -> str:
        """What it and all it starts carry in their environment."""
        return self._group.marker

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.code is None

    @property
    def code(self) -> int | None:
        """Its exit code (minus the signal); None while it runs."""
        return self._group.poll()

    @property
    def stderr(self) -> bytes:
        """The end of what it said on stderr, up to now."""
        self._hear()  # who listens may not have had its turn yet
        return self._said

    @property
    def last_words(self) -> str:
        """The last line it said on stderr."""
        return last_line(self.stderr)

    def describe_end(self) -> str:
        """Say in words how it ended, once a pipe of it did."""
        code = self._group.wait(self._limits.drain)  # a closed pipe is often seen before the end of the program
        if code is None:
            return "closed its output"
        self._listener.join(self._limits.drain)  # its last words may be under way
        return f"died by {signal_name(code)}" if code < 0 else f"ended with exit code {code}"

    def write(self, data: bytes, deadline: float | None) -> None:
        """Give it all of the data; what it says meanwhile is kept for the next read."""
        with self._talking:
            rest = memoryview(data)
            while rest:
                self._check(deadline)
                if self._left is not None:
                    raise ChildExited("it ended")
                if self._exchange(deadline, writing=True):
                    rest = rest[self._push(rest) :]

    def read_line(self, deadline: float | None) -> bytes:
        """Give one line without its newline; what stands after the last newline at the end is no line."""
        return self._read(_find_newline, 1, deadline)

    def read_until(self, marker: re.Pattern[bytes], deadline: float | None) -> bytes:
        """Give what comes before a marker; the marker is taken too."""

        def find(buffer: bytearray, start: int) -> _Found | None:
            match = marker.search(buffer, start)
            return _Found(*match.span()) if match else None

        return self._read(find, self._limits.marker, deadline)

    def skip(self) -> bytes:
        """Take what it has said by now and nobody has read; ChildFlood when there is no end to it."""
        with self._talking:
            size = -1
            while len(self._buffer) > size and not self._over and not self._ended:
                size = len(self._buffer)
                if size > self._limits.line:
                    raise OutputLimitExceeded(f"more than {self._limits.line:,} bytes")
                self._exchange(time.monotonic(), writing=False)
            unread = bytes(self._buffer)
            self._buffer.clear()
            return unread

    def peak_bytes(self) -> int | None:
        """Give the most memory that it and what it started held together up to now; None where nobody could see."""
        if not self._ended:
            self._group.memory.sample(at_once=True)
        return self._group.memory.peak_bytes

    def end(self) -> None:
        """End the program and all it started: close its stdin, ask, make sure. The second time does nothing."""
        with self._ending:
            if self._ended:
                return
            self.peak_bytes()
            self._ended = True
            with self._talking:  # whoever talks to it looks up every tick
                self._finish()

    @property
    def _input(self) -> IO[bytes]:
        assert self._group.stdin is not None
        return self._group.stdin

    def _finish(self) -> None:
        try:
            self._input.close()
            self._group.wait(self._limits.leave)
        finally:  # an interrupt must leave nothing either
            self._group.end(self._limits.grace)
            self._group.end_holders()
            self._listener.join(self._limits.drain)
            self._hush.ring()
            self._listener.join()
            self._group.close_pipes()
            self._hush.close()

    def _read(self, find: _Find, overlap: int, deadline: float | None) -> bytes:
        seen = 0
        with self._talking:
            while (found := find(self._buffer, max(0, seen - overlap))) is None:
                seen = len(self._buffer)
                self._check(deadline)
                if self._over or self._is_drained():
                    raise ChildExited("its output is at the end")
                self._exchange(deadline, writing=False)
            answer = bytes(self._buffer[: found.end])
            del self._buffer[: found.after]
            return answer

    def _check(self, deadline: float | None) -> None:
        """Raise what speaks against going on."""
        if self._ended:
            raise ChildExited("it was ended")
        if len(self._buffer) > self._limits.line:
            raise OutputLimitExceeded(f"more than {self._limits.line:,} bytes")
        if deadline is not None and time.monotonic() >= deadline:
            raise ChildTimeout("out of time")
        if self._left is None and not self.alive:
            self._left = time.monotonic()
            self._group.signal(signal.SIGKILL)  # what a dead program left behind says nothing that is wanted

    def _is_drained(self) -> bool:
        return self._left is not None and time.monotonic() - self._left > self._limits.drain

    def _exchange(self, deadline: float | None, *, writing: bool) -> bool:
        waiting = select.poll()
        if not self._over:
            waiting.register(self._group.stdout, select.POLLIN)
        if writing:
            waiting.register(self._input, select.POLLOUT)
        left = self._limits.tick if deadline is None else min(self._limits.tick, deadline - time.monotonic())
        ready = {handle for handle, _ in waiting.poll(max(0.0, self._group.memory.pause(left)) * 1000)}
        self._group.memory.sample()
        if self._group.stdout.fileno() in ready:
            self._take()
        return writing and self._input.fileno() in ready

    def _take(self) -> None:
        data = os.read(self._group.stdout.fileno(), self._limits.read)
        self._buffer += data
        self._over = not data

    def _push(self, data: memoryview) -> int:
        try:
            return os.write(self._input.fileno(), data[: self._limits.read])
        except BlockingIOError:
            return 0
        except OSError as problem:
            raise ChildExited("it closed its input") from problem

    def _listen(self) -> None:
        handle, waiting = self._group.stderr.fileno(), select.poll()
        waiting.register(handle, select.POLLIN)
        waiting.register(self._hush.handle, select.POLLIN)
        while not self._silent:
            ready = {one for one, _ in waiting.poll(self._group.memory.pause(self._limits.tick) * 1000)}
            self._group.memory.sample()  # nobody else looks between two questions
            if handle in ready:
                self._hear()
            elif self._hush.handle in ready:
                with self._hearing:
                    self._silent = True

    def _hear(self) -> None:
        with self._hearing, contextlib.suppress(BlockingIOError):
            data = b"" if self._silent else os.read(self._group.stderr.fileno(), self._limits.read)
            self._silent = not data
            self._said = (self._said + data)[-self._limits.stderr :]


def _find_newline(buffer: bytearray, start: int) -> _Found | None:
    end = buffer.find(b"\n", start)
    return None if end < 0 else _Found(end, end + 1)
