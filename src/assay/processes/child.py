"""A long-running program with pipes; every read and write has a deadline (`time.monotonic`).

Its stderr is always drained, so that it cannot block there. Its stdout is read only on request: a program that prints
unasked blocks in its pipe and uses no memory here.
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

#: Searches a buffer from an offset; returns the end of the message and the start of the next one.
_Find = Callable[[bytearray, int], "tuple[int, int] | None"]


class ChildError(Exception):
    """Base class of failures of a long-running program."""


class ChildExited(ChildError):
    """The program exited or closed the pipe."""


class ChildTimeout(ChildError):
    """The deadline passed."""


class OutputLimitExceeded(ChildError):
    """The program printed too much before the end of a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits(GroupLimits):
    """Limits of a long-running program."""

    line: int = ANSWER_BYTES
    marker: int = 4_096  # maximum length of a marker; so many bytes are searched again with each read
    leave: float = 0.2  # seconds to exit after its stdin was closed


CHILD_LIMITS = ChildLimits()


class _Alarm:
    """An event that can be polled together with pipes."""

    def __init__(self) -> None:
        self.handle, self._ringer = os.pipe()

    def ring(self) -> None:
        os.write(self._ringer, b"!")

    def close(self) -> None:
        os.close(self.handle)
        os.close(self._ringer)


class Child:
    """A running program. One thread at a time communicates with it; any thread may call `end`."""

    def __init__(self, task: ProgramSpec, limits: ChildLimits = CHILD_LIMITS) -> None:
        self._limits = limits
        self._group = ProcessGroup(task, listens=True)
        self._buffer = bytearray()
        self._said = b""  # the end of stderr
        self._silent = False  # stderr is at its end, or must not be read any more
        self._over = False  # stdout is at its end
        self._left: float | None = None  # time when its exit was noticed
        self._ended = False
        self._talking, self._hearing, self._ending = threading.Lock(), threading.Lock(), threading.Lock()
        self._hush = _Alarm()  # stops the stderr thread
        for stream in (self._input, self._group.stderr):
            os.set_blocking(stream.fileno(), False)
        self._listener = threading.Thread(target=self._listen, name="assay-stderr", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._group.pid

    @property
    def marker(self) -> str:
        """The marker in the environment of the program and its descendants."""
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
        """The last bytes of stderr up to now."""
        self._hear()  # the stderr thread may lag behind
        return self._said

    @property
    def last_words(self) -> str:
        """The last line of stderr."""
        return last_line(self.stderr)

    def describe_end(self) -> str:
        """Describe how the program ended, after one of its pipes closed."""
        code = self._group.wait(self._limits.drain)  # a pipe often closes before the program exits
        if code is None:
            return "closed its output"
        self._listener.join(self._limits.drain)  # the last output may be in the pipe
        return f"died by {signal_name(code)}" if code < 0 else f"ended with exit code {code}"

    def write(self, data: bytes, deadline: float | None) -> None:
        """Write all data; output that arrives meanwhile is buffered."""
        with self._talking:
            rest = memoryview(data)
            while rest:
                self._check(deadline)
                if self._left is not None:
                    raise ChildExited("it ended")
                if self._exchange(deadline, writing=True):
                    rest = rest[self._push(rest) :]

    def read_line(self, deadline: float | None) -> bytes:
        """Return one line without its newline; an unterminated last line is not returned."""
        return self._read(_find_newline, 1, deadline)

    def read_until(self, marker: re.Pattern[bytes], deadline: float | None) -> bytes:
        """Return the output before a marker and consume the marker."""

        def find(buffer: bytearray, start: int) -> tuple[int, int] | None:
            match = marker.search(buffer, start)
            return match.span() if match else None

        return self._read(find, self._limits.marker, deadline)

    def skip(self) -> bytes:
        """Return the unread output so far; raise OutputLimitExceeded when there is too much."""
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
        """Return the peak memory of the program and its descendants up to now; None if unknown."""
        if not self._ended:
            self._group.memory.sample(at_once=True)
        return self._group.memory.peak_bytes

    def end(self) -> None:
        """End the program and its descendants: close stdin, SIGTERM, SIGKILL. Later calls do nothing."""
        with self._ending:
            if self._ended:
                return
            self.peak_bytes()
            self._ended = True
            with self._talking:  # a communicating thread checks `_ended` every tick
                try:
                    self._input.close()
                    self._group.wait(self._limits.leave)
                finally:  # also on KeyboardInterrupt
                    self._group.end(self._limits.grace)
                    self._group.end_holders()
                    self._listener.join(self._limits.drain)
                    self._hush.ring()
                    self._listener.join()
                    self._group.close_pipes()
                    self._hush.close()

    @property
    def _input(self) -> IO[bytes]:
        assert self._group.stdin is not None
        return self._group.stdin

    def _read(self, find: _Find, overlap: int, deadline: float | None) -> bytes:
        seen = 0
        with self._talking:
            while (found := find(self._buffer, max(0, seen - overlap))) is None:
                seen = len(self._buffer)
                self._check(deadline)
                drained = self._left is not None and time.monotonic() - self._left > self._limits.drain
                if self._over or drained:
                    raise ChildExited("its output is at the end")
                self._exchange(deadline, writing=False)
            end, after = found
            answer = bytes(self._buffer[:end])
            del self._buffer[:after]
            return answer

    def _check(self, deadline: float | None) -> None:
        if self._ended:
            raise ChildExited("it was ended")
        if len(self._buffer) > self._limits.line:
            raise OutputLimitExceeded(f"more than {self._limits.line:,} bytes")
        if deadline is not None and time.monotonic() >= deadline:
            raise ChildTimeout("out of time")
        if self._left is None and not self.alive:
            self._left = time.monotonic()
            self._group.signal(signal.SIGKILL)  # its descendants no longer produce wanted output

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
            data = os.read(self._group.stdout.fileno(), self._limits.read)
            self._buffer += data
            self._over = not data
        return writing and self._input.fileno() in ready

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
            self._group.memory.sample()  # no other thread samples between two requests
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


def _find_newline(buffer: bytearray, start: int) -> tuple[int, int] | None:
    end = buffer.find(b"\n", start)
    return None if end < 0 else (end, end + 1)
