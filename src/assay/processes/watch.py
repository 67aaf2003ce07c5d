"""Process inspection: pipe holders, descendants by a marker in their environment, and peak memory."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import resource
import secrets
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final


def kill_pipe_holders(ends: Iterable[int]) -> None:
    """Kill every process that can write into pipes of which we hold the reading ends; Linux only."""
    pipes = {f"pipe:[{os.fstat(end).st_ino}]" for end in ends}
    for pid in sorted(set(every_pid()) - {os.getpid()}) if sys.platform == "linux" else ():
        if any(_link_target(handle) in pipes for handle in _writable_handles(pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _writable_handles(pid: int) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            if handle.lstat().st_mode & stat.S_IWUSR:  # proc(5): the permissions of the link are the open mode
                yield handle


def _link_target(handle: Path) -> str | None:
    try:
        return str(handle.readlink())
    except OSError:
        return None


#: The environment variable with the markers of all programs that a process descends from, outermost first.
VARIABLE: Final = "ASSAY_RUN"
APART: Final = ":"

_HELD = re.compile(rb"^(PPid|VmSize|VmHWM|VmRSS):\s+(\d+)", re.MULTILINE)
_SHARED = re.compile(rb"^Pss:\s+(\d+) kB$", re.MULTILINE)
_MARKED = re.compile(rb"(?:^|\0)" + VARIABLE.encode() + rb"=([^\0]*)")
_BURIED = 8  # proc(5): cminflt, counted from the field after the name
_PIECE = 1 << 20  # longer than any file read here


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Memory of a process in kB."""

    parent: int
    size: int  # virtual
    most: int  # peak
    now: int  # resident
    buried: int  # page faults of reaped children, a sign that there were some


def every_pid() -> list[int]:
    """Return all process ids."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def read_held(pid: int) -> ProcessMemory | None:
    """Return the memory of a process; None for a zombie or a missing process."""
    fields = {name: int(value) for name, value in _HELD.findall(_read(f"/proc/{pid}/status"))}
    if len(fields) < 4:  # a zombie has no sizes
        return None
    rest = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    buried = int(rest[_BURIED]) if rest else 0
    return ProcessMemory(fields[b"PPid"], fields[b"VmSize"], fields[b"VmHWM"], fields[b"VmRSS"], buried)


def read_share(pid: int) -> int | None:
    """Return the proportional set size of a process in kB."""
    match = _SHARED.search(_read(f"/proc/{pid}/smaps_rollup"))
    return int(match[1]) if match else None


def read_children(pid: int) -> list[int]:
    """Return the children of the main thread of a process; empty if the kernel does not list them."""
    return [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]


def read_markers(pid: int) -> tuple[str, ...]:
    """Return the markers that a process was started with; none for processes of other users."""
    match = _MARKED.search(_read(f"/proc/{pid}/environ"))
    return tuple(os.fsdecode(match[1]).split(APART)) if match else ()


def session_of(pid: int) -> int | None:
    """Return the session of a process."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _read(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    data = b""
    try:
        while piece := os.read(handle, _PIECE):
            data += piece
    except OSError:
        return b""
    finally:
        os.close(handle)
    return data


_HERE = secrets.token_hex(8)
_NUMBERS = itertools.count(1)


def own_marker() -> str:
    """Return the common prefix of all markers of this process; forks have another."""
    return f"{_HERE}-{os.getpid()}"


def new_marker() -> str:
    """Return a new marker for one or several programs, such as those of one session."""
    return f"{own_marker()}-{next(_NUMBERS)}"


def add_marker(environment: Mapping[str, str] | None, marker: str) -> dict[str, str]:
    """Return an environment, by default ours, with an additional marker."""
    base = os.environ if environment is None else environment
    outer = base.get(VARIABLE) or os.environ.get(VARIABLE)
    return {**base, VARIABLE: f"{outer}{APART}{marker}" if outer else marker}


def carries(pid: int, marker: str) -> bool:
    """Return whether a process descends from a program with this marker or marker prefix."""
    return any(own == marker or own.startswith(f"{marker}-") for own in read_markers(pid))


_LINUX = sys.platform == "linux"
_UNIT = 1024 if _LINUX else 1  # of ru_maxrss: kB on Linux, bytes on macOS


@dataclass(frozen=True, slots=True)
class Sampling:
    """Intervals of memory sampling."""

    first: float = 0.001  # seconds between the first samples: one takes some 0.1 ms, and a 5 ms tool must be seen
    longest: float = 0.05
    of_age: float = 0.1  # of a program's age between samples
    cost: float = 8.0  # minimum interval as a multiple of the duration of a sample, with many processes
    listing: float = 0.02  # seconds between listings of all processes, which find those without a parent
    blind: float = 0.25  # maximum unobserved share of a program's time; above it the samples are not used
    slack: int = 32_768  # kB by which the kernel's counters may be off: some pages per processor


SAMPLING = Sampling()


class ProgramMemory:
    """The peak memory of a program and its descendants; thread-safe."""

    def __init__(self, session: int, marker: str) -> None:
        # ru_maxrss of a child includes our own memory at the fork, which was just now
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._floor = ours + SAMPLING.slack if _LINUX else 0
        self._family = _Family(session, marker)
        self._looking = threading.Lock()
        self._born = self._seen = time.monotonic()
        self._next = self._next_sum = self._born + SAMPLING.first
        self._gap = 0.0  # the longest interval between samples in which a process ended
        self._gone: float | None = None
        self._sampled = 0  # kB
        self._final: int | None = None

    def pause(self, patience: float) -> float:
        """Return the time until the next sample, at most `patience`."""
        if self._gone is not None or not _LINUX:
            return patience
        return min(patience, max(SAMPLING.first, self._next - time.monotonic()))  # another thread may be sampling

    def sample(self, *, at_once: bool = False) -> None:
        """Sample the memory if it is due, or at once."""
        begin = time.monotonic()
        if (not at_once and begin < self._next) or self._gone is not None or not _LINUX:
            return
        if self._looking.acquire(blocking=False):  # else another thread is sampling
            try:
                self._look(begin, at_once=at_once)
            finally:
                self._looking.release()

    def settle(self, maxrss: int) -> None:
        """Record the kernel's maximum at the exit of the program, unless it may be our own."""
        if maxrss > self._floor:
            self._final = maxrss * _UNIT
        with self._looking:
            self._leave(time.monotonic())

    @property
    def peak_bytes(self) -> int | None:
        """The peak memory; None if the program was too short and too small to be sampled."""
        seen = self._sampled * 1024 if self._sampled and self._is_watched() else None
        return max((value for value in (self._final, seen) if value is not None), default=None)

    def _look(self, begin: float, *, at_once: bool) -> None:
        lost = self._family.look(begin)
        held = self._family.held
        if not held:
            self._leave(begin)
            return
        self._gap, self._seen = max(self._gap, begin - self._seen if lost else 0.0), begin
        most = max(one.most for one in held.values())
        self._sampled = max(self._sampled, most)
        now = time.monotonic()
        pause = max(SAMPLING.first, (now - self._born) * SAMPLING.of_age)
        self._next = now + max(min(pause, SAMPLING.longest), (now - begin) * SAMPLING.cost)
        if (at_once or now >= self._next_sum) and sum(one.now for one in held.values()) > self._sampled:
            self._add_up(held, now)

    def _add_up(self, held: Mapping[int, ProcessMemory], begin: float) -> None:
        shares = {pid: read_share(pid) for pid in held}
        together = sum(one.now if (share := shares[pid]) is None else share for pid, one in held.items())
        self._sampled = max(self._sampled, together)
        now = time.monotonic()
        self._next_sum = now + (now - begin) * SAMPLING.cost

    def _leave(self, now: float) -> None:
        if self._gone is None:
            self._gone = now
            self._gap = max(self._gap, now - self._seen)

    def _is_watched(self) -> bool:
        return self._gap <= SAMPLING.blind * ((self._gone or self._seen) - self._born)


class _Family:
    """The processes of a program: those in its session or with its marker."""

    def __init__(self, session: int, marker: str) -> None:
        self._session = session
        self._marker = marker
        self._members = {session}
        self._strangers: set[int] = set()
        self._next = time.monotonic() + SAMPLING.listing
        self.held: dict[int, ProcessMemory] = {}  # at the last sample, without forks that share all memory

    def look(self, now: float) -> bool:
        if now >= self._next:
            self._list()
            self._next = now + SAMPLING.listing
        found: dict[int, ProcessMemory] = {}
        left = sorted(self._members)
        while left:
            pid = left.pop()
            held = read_held(pid)
            if held is not None:
                found[pid] = held
                left += [child for child in read_children(pid) if child not in self._members]
                self._members.update(left)
        before, self.held = self.held, {p: one for p, one in found.items() if not _is_twin(one, found.get(one.parent))}
        return any(pid not in found or found[pid].buried > one.buried for pid, one in before.items())

    def _list(self) -> None:
        pids = {pid for pid in every_pid() if pid >= self._session or session_of(pid) == self._session}
        self._members &= pids
        self._strangers &= pids
        new = pids - self._members - self._strangers
        found = {pid for pid in new if session_of(pid) == self._session or self._marker in read_markers(pid)}
        self._members |= found
        self._strangers |= new - found


def _is_twin(one: ProcessMemory, parent: ProcessMemory | None) -> bool:
    return parent is not None and (one.size, one.most, one.now) == (parent.size, parent.most, parent.now)
