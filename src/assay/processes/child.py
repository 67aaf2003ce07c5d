"""Long-running programs that communicate over pipes.

A thread reads stderr continuously, so that the program cannot block on stderr. stdout is read only during calls: a
program that prints too much blocks on a full pipe instead of filling the memory of Assay.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from assay.processes.running import PROCESS_LIMITS, ProcessGroup, ProcessLimits, ProgramSpec, last_line, signal_name

if TYPE_CHECKING:
    from assay.patterns import UserPattern

_NEWLINE = re.compile(rb"\n")


class ChildError(Exception):
    """Base class for failures of a long-running program."""


class ChildExited(ChildError):
    """A program that exited, was stopped, or closed a pipe."""


class ChildTimeout(ChildError):
    """A read or write that missed its deadline (`time.monotonic`)."""


class OutputLimitExceeded(ChildError):
    """A program that printed more output than the limit allows."""


class Child(ProcessGroup):
    """A running program that one thread at a time can read and write, and any thread can end."""

    def __init__(self, task: ProgramSpec, limits: ProcessLimits = PROCESS_LIMITS) -> None:
        super().__init__(task, stdin=subprocess.PIPE)
        assert self.input is not None
        self._stdin = self.input
        self._limits = limits
        self._buffer = bytearray()  # unread stdout
        self._stdout_closed = False
        self._stderr_tail = b""
        self._stderr_closed = False  # stderr is closed or must not be read further, which ends the stderr thread
        self._exited: float | None = None  # time when the exit was noticed
        self._ended = False
        self._io_lock, self._stderr_lock, self._end_lock = threading.Lock(), threading.Lock(), threading.Lock()
        for stream in (self._stdin, self.errors):
            os.set_blocking(stream.fileno(), False)
        self._listener = threading.Thread(target=self._listen, name="assay-stderr", daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        return self.poll() is None

    @property
    def stderr(self) -> bytes:
        self._read_stderr()  # the stderr thread may lag behind
        return self._stderr_tail

    @property
    def last_error_line(self) -> str:
        return last_line(self.stderr)

    def describe_end(self) -> str:
        code = self.wait(self._limits.drain)  # a pipe often closes before the program exits
        if code is None:
            return "closed its output"
        self._listener.join(self._limits.drain)  # the last output may be in the pipe
        return f"was killed by {signal_name(code)}" if code < 0 else f"ended with exit code {code}"

    def write(self, data: bytes, deadline: float | None) -> None:
        """Write all data to stdin; buffer stdout meanwhile, so that a full pipe cannot block the program."""
        with self._io_lock:
            rest = memoryview(data)
            while rest:
                self._check(deadline)
                if self._exited is not None:
                    raise ChildExited("the program exited")
                if self._poll(deadline, writing=True):
                    try:
                        rest = rest[os.write(self._stdin.fileno(), rest[: self._limits.read]) :]
                    except BlockingIOError:
                        continue
                    except OSError as error:
                        raise ChildExited("the program closed its input") from error

    def read_line(self, deadline: float | None) -> bytes:
        """Return the next line of stdout without its newline; raise ChildExited if stdout ends before a newline."""
        return self._read(_NEWLINE, 1, deadline)

    def read_until(self, marker: re.Pattern[bytes] | UserPattern, deadline: float | None) -> bytes:
        """Return the output before the next match of `marker`, and discard the match."""
        return self._read(marker, self._limits.marker, deadline)

    def skip(self) -> bytes:
        """Return the output that is available without waiting; raise OutputLimitExceeded if it exceeds the limit."""
        with self._io_lock:
            size = -1
            while len(self._buffer) > size and not self._stdout_closed and not self._ended:
                size = len(self._buffer)
                if size > self._limits.stdout:
                    raise OutputLimitExceeded(f"more than {self._limits.stdout:,} bytes")
                self._poll(time.monotonic(), writing=False)
            unread = bytes(self._buffer)
            self._buffer.clear()
            return unread

    def peak_bytes(self) -> int | None:
        if not self._ended:
            self.memory.sample(at_once=True)
        return self.memory.peak_bytes

    def end(self) -> None:
        """Close stdin, then end the program with SIGTERM and SIGKILL; later calls do nothing."""
        with self._end_lock:
            if self._ended:
                return
            self.peak_bytes()
            self._ended = True
            with self._io_lock:  # a communicating thread checks `_ended` every tick
                try:
                    self._stdin.close()
                    self.wait(self._limits.leave)
                finally:  # also on KeyboardInterrupt
                    self.terminate(self._limits.grace)
                    self.kill_pipe_holders()
                    self._listener.join(self._limits.drain)
                    with self._stderr_lock:
                        self._stderr_closed = True
                    self._listener.join()
                    self.close_pipes()

    def _read(self, marker: re.Pattern[bytes] | UserPattern, overlap: int, deadline: float | None) -> bytes:
        searched = 0
        with self._io_lock:
            while (match := marker.search(self._buffer, max(0, searched - overlap))) is None:
                searched = len(self._buffer)
                self._check(deadline)
                drained = self._exited is not None and time.monotonic() - self._exited > self._limits.drain
                if self._stdout_closed or drained:
                    raise ChildExited("the program closed its output")
                self._poll(deadline, writing=False)
            start, end = match.span()
            del match  # an open view prevents resizing the buffer
            answer = bytes(self._buffer[:start])
            del self._buffer[:end]
            return answer

    def _check(self, deadline: float | None) -> None:
        if self._ended:
            raise ChildExited("the program was stopped")
        if len(self._buffer) > self._limits.stdout:
            raise OutputLimitExceeded(f"more than {self._limits.stdout:,} bytes")
        if deadline is not None and time.monotonic() >= deadline:
            raise ChildTimeout("the deadline has passed")
        if self._exited is None and not self.alive:
            self._exited = time.monotonic()
            self.signal(signal.SIGKILL)  # do not wait for the output of descendants

    def _poll(self, deadline: float | None, *, writing: bool) -> bool:
        poll = select.poll()
        if not self._stdout_closed:
            poll.register(self.output, select.POLLIN)
        if writing:
            poll.register(self._stdin, select.POLLOUT)
        left = self._limits.tick if deadline is None else min(self._limits.tick, deadline - time.monotonic())
        ready = {handle for handle, _ in poll.poll(max(0.0, self.memory.pause(left)) * 1000)}
        self.memory.sample()
        if self.output.fileno() in ready:
            data = os.read(self.output.fileno(), self._limits.read)
            self._buffer += data
            self._stdout_closed = not data
        return writing and self._stdin.fileno() in ready

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self.errors, select.POLLIN)
        while not self._stderr_closed:
            if poll.poll(self.memory.pause(self._limits.tick) * 1000):
                self._read_stderr()
            self.memory.sample()  # no other thread samples between two requests

    def _read_stderr(self) -> None:
        with self._stderr_lock, contextlib.suppress(BlockingIOError):
            data = b"" if self._stderr_closed else os.read(self.errors.fileno(), self._limits.read)
            self._stderr_closed = not data
            self._stderr_tail = (self._stderr_tail + data)[-self._limits.stderr :]
