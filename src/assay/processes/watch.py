"""Marks in the environment of programs: they tell what descends from one, even when it left its group."""

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

_PROC = Path("/proc")


def kill_pipe_holders(ends: Iterable[int]) -> None:
    """Kill every process that can write into pipes whose reading ends are ours; Linux only."""
    pipes = {_pipe_name(end) for end in ends}
    for pid in _others() if sys.platform == "linux" else ():
        if any(_pipe_of(handle) in pipes for handle in _writing(pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _others() -> list[int]:
    return sorted({int(path.name) for path in _PROC.iterdir() if path.name.isdigit()} - {os.getpid()})


def _writing(pid: int) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for handle in (_PROC / str(pid) / "fd").iterdir():
            if handle.lstat().st_mode & stat.S_IWUSR:  # proc(5): the link's permissions say how it is open
                yield handle


def _pipe_of(handle: Path) -> str | None:
    """Name what an open file is; None when it was closed meanwhile."""
    try:
        return str(handle.readlink())
    except OSError:
        return None


def _pipe_name(end: int) -> str:
    return f"pipe:[{os.fstat(end).st_ino}]"


#: Holds the markers of the programs that a process descends from, the outermost first.
VARIABLE: Final = "ASSAY_RUN"
APART: Final = ":"

_HELD = re.compile(rb"^(PPid|VmSize|VmHWM|VmRSS):\s+(\d+)", re.MULTILINE)
_SHARED = re.compile(rb"^Pss:\s+(\d+) kB$", re.MULTILINE)
_MARKED = re.compile(rb"(?:^|\0)" + VARIABLE.encode() + rb"=([^\0]*)")
_BURIED = 8  # proc(5): cminflt, counted from behind the name
_PIECE = 1 << 20  # more than anything read here is long


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """What a process holds of memory now, and held at most; in kB, as the system counts."""

    parent: int
    size: int
    most: int
    now: int
    buried: int  # memory accesses of children that it waited for, as a sign that there were some


def every_pid() -> list[int]:
    """List all processes."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def read_held(pid: int) -> ProcessMemory | None:
    """Read what a process holds; None once it has let go of its memory."""
    fields = {name: int(value) for name, value in _HELD.findall(_read(f"/proc/{pid}/status"))}
    if len(fields) < 4:  # a zombie has no sizes
        return None
    rest = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    buried = int(rest[_BURIED]) if rest else 0
    return ProcessMemory(fields[b"PPid"], fields[b"VmSize"], fields[b"VmHWM"], fields[b"VmRSS"], buried)


def read_share(pid: int) -> int | None:
    """Read what a process holds, in kB, each page divided among those who share it."""
    match = _SHARED.search(_read(f"/proc/{pid}/smaps_rollup"))
    return int(match[1]) if match else None


def read_children(pid: int) -> list[int]:
    """List what the first thread of a process started and is still there; nothing where the kernel does not say."""
    return [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]


def read_markers(pid: int) -> tuple[str, ...]:
    """Give the markers that a process was started with; of other people's processes none."""
    match = _MARKED.search(_read(f"/proc/{pid}/environ"))
    return tuple(os.fsdecode(match[1]).split(APART)) if match else ()


def session_of(pid: int) -> int | None:
    """Give the session of a process."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _read(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return _read_all(handle)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _read_all(handle: int) -> bytes:
    data = os.read(handle, _PIECE)
    piece = data
    while piece:
        piece = os.read(handle, _PIECE)
        data += piece
    return data


_HERE = secrets.token_hex(8)
_NUMBERS = itertools.count(1)


def own_marker() -> str:
    """Give what every marker of this process begins with; a fork of it has another."""
    return f"{_HERE}-{os.getpid()}"


def new_marker() -> str:
    """Give a marker that no program carries yet; several programs may carry it, such as those of one session."""
    return f"{own_marker()}-{next(_NUMBERS)}"


def marked(environment: Mapping[str, str] | None, marker: str) -> dict[str, str]:
    """Add a marker to an environment, by default to ours; one of an Assay that runs us stays."""
    base = os.environ if environment is None else environment
    outer = base.get(VARIABLE) or os.environ.get(VARIABLE)
    return {**base, VARIABLE: f"{outer}{APART}{marker}" if outer else marker}


def carries(pid: int, marker: str) -> bool:
    """Tell whether a process descends from a program with that marker, or with one that begins with it."""
    return any(own == marker or own.startswith(f"{marker}-") for own in read_markers(pid))


_LINUX = sys.platform == "linux"
_UNIT = 1024 if _LINUX else 1  # of ru_maxrss: kB there, bytes on macOS


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a program's memory is looked at."""

    first: float = 0.001  # seconds between the first looks: one takes some 0.1 ms, and a tool of 5 ms must be seen
    longest: float = 0.05
    of_age: float = 0.1  # of a program's age between looks: what it does between two is a small part of what it did
    cost: float = 8.0  # times what a look takes are the least between two, so that many processes do not slow us
    listing: float = 0.02  # seconds between looks at all processes, which find those whose parent is gone
    blind: float = 0.25  # of a program's time that may pass between two looks: more, and what was seen says nothing
    slack: int = 32_768  # kB by which the kernel's counters may differ between two looks: some pages for each processor


SAMPLING = Sampling()


class ProgramMemory:
    """The most that a program and what it started took; may be asked and told from any thread."""

    def __init__(self, session: int, marker: str) -> None:
        """Keep in mind what we held ourselves when the program was started, which must have been just now."""
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._floor = ours + SAMPLING.slack if _LINUX else 0
        self._family = _Family(session, marker)
        self._looking = threading.Lock()
        self._born = self._seen = time.monotonic()
        self._next = self._next_sum = self._born + SAMPLING.first
        self._gap = 0.0  # the longest time between two looks in which something ended
        self._gone: float | None = None
        self._sampled = 0  # kB
        self._final: int | None = None

    def pause(self, patience: float) -> float:
        """Give the time until the next look, or that patience if it is shorter."""
        if self._gone is not None or not _LINUX:
            return patience
        return min(patience, max(SAMPLING.first, self._next - time.monotonic()))  # somebody else may be at it

    def sample(self, *, at_once: bool = False) -> None:
        """Look at the program when it is time to; at once at moments that tell much."""
        begin = time.monotonic()
        if (not at_once and begin < self._next) or self._gone is not None or not _LINUX:
            return
        if self._looking.acquire(blocking=False):  # else somebody is at it
            try:
                self._look(begin, at_once=at_once)
            finally:
                self._looking.release()

    def settle(self, maxrss: int) -> None:
        """Take the kernel's figure at the program's end; it counts when we could not have caused it."""
        if maxrss > self._floor:
            self._final = maxrss * _UNIT
        with self._looking:
            self._leave(time.monotonic())

    @property
    def peak_bytes(self) -> int | None:
        """The most that is known; None when the program was too short and too small to be seen."""
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
    """The processes of a program: those of its session, and those that left it but carry the program's marker."""

    def __init__(self, session: int, marker: str) -> None:
        self._session = session
        self._marker = marker
        self._members = {session}
        self._strangers: set[int] = set()
        self._next = time.monotonic() + SAMPLING.listing
        self.held: dict[int, ProcessMemory] = {}  # at the last look, by those that have memory of their own

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
