"""Run programs to completion, and end programs with their descendants.

`run_process` returns timeouts and crashes as results, and raises SetupError if the program cannot start.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import stat
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

from assay.errors import SetupError
from assay.processes.descendants import (
    LINUX,
    ProgramMemory,
    add_marker,
    find_marked,
    get_session,
    has_marker,
    new_marker,
    own_marker,
)
from assay.records import dataclass

#: Maximum bytes of one output; ten thousand results with their text are about 20 MB.
ANSWER_BYTES: Final = 32_000_000

ProcessEnd = Literal["exit", "signal", "timeout", "flood"]


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program to run; working directory and environment default to those of this process."""

    argv: tuple[str, ...]
    cwd: Path | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    marker: str = ""  # from `new_marker`, to be shared by several programs; empty: a new marker


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits on a program; only `Child` uses `leave` and `marker`."""

    stdout: int = ANSWER_BYTES  # maximum bytes of stdout; in a `Child`, of unread stdout
    stderr: int = 8_000  # last bytes that are retained: enough for a traceback with its message
    read: int = 65_536  # bytes per read: the capacity of a Linux pipe
    tick: float = 0.05  # seconds between polls of a silent program
    drain: float = 0.5  # seconds that descendants may keep the output open after the program has exited
    grace: float = 0.5  # seconds between SIGTERM and SIGKILL: enough to remove a lock file
    leave: float = 0.2  # seconds that the program may run after its stdin was closed
    marker: int = 4_096  # maximum bytes of an output marker, which are searched again after each read


PROCESS_LIMITS = ProcessLimits()

#: Seconds between polls of a program that should exit, doubled each time: most have exited by the second poll.
_FIRST_POLL: Final = 0.0005
_LONGEST_POLL: Final = 0.05


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """The result of a program; after a signal, `code` is the negative signal number."""

    stdout: bytes
    stderr: bytes
    code: int
    end: ProcessEnd
    peak_bytes: int | None = None  # of memory; None if unknown

    @property
    def ok(self) -> bool:
        return self.end == "exit" and self.code == 0

    @property
    def last_error_line(self) -> str:
        return last_line(self.stderr)

    @property
    def signal_name(self) -> str:
        return signal_name(self.code)


def signal_name(code: int) -> str:
    known = {member.value: member.name for member in signal.Signals}
    return known.get(-code, f"signal {-code}")


def last_line(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def run_process(task: ProgramSpec, seconds: float | None, limits: ProcessLimits = PROCESS_LIMITS) -> CompletedProgram:
    """Run a program for at most `seconds` (None: unlimited), end its process group, and return the result."""
    deadline = None if seconds is None else time.monotonic() + seconds
    end: ProcessEnd = "timeout"
    stdout, stderr = bytearray(), bytearray()
    group = ProcessGroup(task)
    try:
        end = _read_output(group, stdout, stderr, deadline, limits)
    finally:  # also on KeyboardInterrupt
        try:
            group.terminate(limits.grace)
            if end != "exit":
                group.kill_pipe_holders()
        finally:
            group.close_pipes()
    code = group.poll() or 0
    if end == "exit" and code < 0:
        end = "signal"
    return CompletedProgram(bytes(stdout), bytes(stderr), code, end, group.memory.peak_bytes)


def _read_output(
    group: ProcessGroup, stdout: bytearray, stderr: bytearray, deadline: float | None, limits: ProcessLimits
) -> ProcessEnd:
    exited: float | None = None
    with selectors.DefaultSelector() as selector:
        for stream in (group.output, group.errors):
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() or group.poll() is None:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return "timeout"
            if len(stdout) > limits.stdout:
                return "flood"
            if group.poll() is not None:
                exited = exited or now
                if now - exited > limits.drain:
                    group.kill_pipe_holders()
                    return "exit"
            pause = group.memory.pause(limits.tick if deadline is None else min(limits.tick, deadline - now))
            if not selector.get_map():
                group.wait(pause)
                group.memory.sample()
                continue
            ready = selector.select(pause)
            group.memory.sample(at_once=bool(ready) and not stdout)  # the first output often marks the end of the work
            for key, _ in ready:
                data = os.read(key.fd, limits.read)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is group.output:
                    stdout += data
                else:
                    stderr += data
                    del stderr[: -limits.stderr]
    return "flood" if len(stdout) > limits.stdout else "exit"


#: Every started program that is still referenced.
_STARTED: weakref.WeakSet[ProcessGroup] = weakref.WeakSet()
_STARTING = threading.Lock()


class ProcessGroup:
    """A running program and its process group; methods may be called from any thread."""

    def __init__(self, task: ProgramSpec, *, stdin: int = subprocess.DEVNULL) -> None:
        import psutil  # noqa: F401 - the import takes 20 ms, which would delay the first memory sample

        self.marker = task.marker or new_marker()
        self.over = False  # whether the group has ended, after which its id may be reused
        self._reaping = threading.Lock()
        with contextlib.ExitStack() as undo:
            with _deferred_signals():  # no program may be lost between start and registration
                self._process = _start(task, self.marker, stdin)
                self._abandoned = weakref.finalize(self, _kill, self._process)
                undo.callback(self._abandoned)
                self.pid = self._process.pid  # also of the group and session
                self.memory = ProgramMemory(self.pid, self.marker)
                with _STARTING:
                    _STARTED.add(self)
            undo.pop_all()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.input, self.output, self.errors = self._process.stdin, self._process.stdout, self._process.stderr

    def poll(self) -> int | None:
        """Return the exit code (negative: a signal number), or None while the program is running."""
        with self._reaping:
            if self._process.returncode is None:
                try:
                    pid, status, usage = os.wait4(self.pid, os.WNOHANG)
                except ChildProcessError:  # the parent process ignores SIGCHLD: the exit code is unknown
                    self._process.returncode = 0
                else:
                    if pid:
                        self.memory.settle(usage.ru_maxrss)
                        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode

    def wait(self, seconds: float | None) -> int | None:
        end = None if seconds is None else time.monotonic() + seconds
        pause = _FIRST_POLL
        while (code := self.poll()) is None:
            left = pause if end is None else end - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_POLL)
        return code

    def signal(self, number: signal.Signals) -> None:
        if not self.over:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS raises PermissionError for zombies
                os.killpg(self.pid, number)

    def terminate(self, grace: float) -> None:
        """End the process group with SIGKILL; a running program first gets SIGTERM and `grace` seconds."""
        if self.poll() is None:
            self.memory.sample(at_once=True)
            self.signal(signal.SIGTERM)
            self.wait(grace)
        self.signal(signal.SIGKILL)
        self.wait(None)
        self.over = True
        self._abandoned.detach()

    def kill_pipe_holders(self) -> None:
        """On Linux, kill all processes except this one that can write to the output pipes of the program."""
        if not LINUX:
            return
        import psutil

        pipes = {f"pipe:[{os.fstat(stream.fileno()).st_ino}]" for stream in (self.output, self.errors)}
        for pid in sorted(set(psutil.pids()) - {os.getpid()}):
            with contextlib.suppress(OSError):  # the process ended, or belongs to another user
                if any(_is_writable(handle, pipes) for handle in Path(f"/proc/{pid}/fd").iterdir()):
                    os.kill(pid, signal.SIGKILL)

    def close_pipes(self) -> None:
        _close_pipes(self._process)


def _is_writable(handle: Path, pipes: set[str]) -> bool:
    try:  # proc(5): the permissions of the link are the open mode
        return bool(handle.lstat().st_mode & stat.S_IWUSR) and str(handle.readlink()) in pipes
    except OSError:
        return False


@contextlib.contextmanager
def _deferred_signals() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs handlers in the main thread only
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    deferred: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, _: deferred.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for received in deferred:
        signal.raise_signal(received)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):  # unwritten input of an exited program
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
    except (OSError, ValueError) as error:
        if task.cwd is not None and not task.cwd.is_dir():
            message = f"cannot start {task.argv[0]}: no directory {task.cwd}"
            raise SetupError(message, hint="create the directory") from error
        hint = "check the program file, and the length and characters of the arguments"
        if isinstance(error, FileNotFoundError):
            hint = "install the program or use its full path"
        elif isinstance(error, PermissionError):
            hint = "use an executable file; `chmod +x` makes a file executable"
        raise SetupError(f"cannot start {task.argv[0]}: {error}", hint=hint) from error


_ROUNDS = 5  # repeated, because a process can fork between the listing and the signal


def find_orphans(marker: str) -> list[int]:
    """Return the ids of processes with a marker, except those in the sessions of programs that have not ended."""
    with _STARTING:
        used = {group.pid for group in _STARTED if not group.over}
    return [pid for pid in find_marked(marker) if get_session(pid) not in used]


def kill_orphans(marker: str, grace: float = PROCESS_LIMITS.grace) -> int:
    """End all orphans with a marker (SIGTERM, then SIGKILL after `grace` seconds) and return their number."""
    left = find_orphans(marker)
    ended = set(left)
    _send(left, marker, signal.SIGTERM)
    end, pause = time.monotonic() + grace, _FIRST_POLL
    while left and time.monotonic() < end:
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_POLL)
        left = [pid for pid in left if has_marker(pid, marker)]
    for _ in range(_ROUNDS if ended else 0):
        left = find_orphans(marker)
        ended.update(left)
        _send(left, marker, signal.SIGKILL)
        if not left:
            break
    return len(ended)


def kill_all() -> None:
    """Kill all programs that this process started, and their descendants, without waiting for their exit."""
    with _STARTING:
        for group in sorted(_STARTED, key=lambda group: group.pid):
            group.signal(signal.SIGKILL)
    for _ in range(_ROUNDS):
        left = find_marked(own_marker())
        _send(left, own_marker(), signal.SIGKILL)
        if not left:
            break


def _send(pids: list[int], marker: str, number: signal.Signals) -> None:
    for pid in pids:
        if has_marker(pid, marker):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
