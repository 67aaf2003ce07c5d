"""Find the descendants of a program by an environment marker, and measure their peak memory.

Markers are in an environment variable that processes inherit.

psutil does not report peak memory (VmHWM), and lists children by reading every process, which is too slow for a sample
per millisecond; most samples therefore read only /proc.
"""

from __future__ import annotations

import itertools
import os
import re
import resource
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

from assay.records import dataclass

#: The environment variable with the markers of all programs that a process descends from, outermost first.
_VARIABLE: Final = "ASSAY_RUN"
_SEPARATOR: Final = ":"
_HERE = secrets.token_hex(8)
_NUMBERS = itertools.count(1)

LINUX = sys.platform == "linux"
_UNIT = 1024 if LINUX else 1  # bytes per unit of ru_maxrss
_STATUS = re.compile(rb"^(PPid|VmSize|VmHWM|VmRSS):\s+(\d+)", re.MULTILINE)
_REAPED_FAULTS = 8  # proc(5): cminflt, counted from the field after the name


def own_marker() -> str:
    """Return the prefix of all markers that this process creates; a forked child has a different prefix."""
    return f"{_HERE}-{os.getpid()}"


def new_marker() -> str:
    return f"{own_marker()}-{next(_NUMBERS)}"


def add_marker(environment: Mapping[str, str] | None, marker: str) -> dict[str, str]:
    """Return a copy of an environment (None: that of this process) with a marker added to the existing markers."""
    base = os.environ if environment is None else environment
    outer = base.get(_VARIABLE) or os.environ.get(_VARIABLE)
    return {**base, _VARIABLE: f"{outer}{_SEPARATOR}{marker}" if outer else marker}


def read_markers(pid: int) -> list[str]:
    """Return the markers of a process, [""] if it has none, or [] if its environment is unreadable."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(_VARIABLE, "").split(_SEPARATOR)
    except (psutil.Error, OSError):
        return []


def has_marker(pid: int, marker: str) -> bool:
    return any(own == marker or own.startswith(f"{marker}-") for own in read_markers(pid))


def find_marked(marker: str) -> list[int]:
    import psutil

    return sorted(pid for pid in psutil.pids() if pid != os.getpid() and has_marker(pid, marker))


def get_session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class SamplingLimits:
    first: float = (
        0.001  # seconds between the first samples; a sample takes 0.1 ms, and some programs only run for 5 ms
    )
    longest: float = 0.05
    of_age: float = 0.1  # interval between samples, relative to the age of the program
    cost: float = 8.0  # minimum interval as a multiple of the duration of a sample, with many processes
    listing: float = 0.02  # seconds between listings of all processes, which find those without a parent
    blind: float = 0.25  # maximum unobserved share of a program's time; above this share, samples are not used
    slack: int = 32_768  # kB by which the kernel's counters may be off: some pages per processor


SAMPLING = SamplingLimits()


class _Memory(NamedTuple):
    parent: int
    virtual: int
    peak: int
    resident: int
    reaped_faults: int  # page faults of reaped children; an increase means that a child ended


def _read_memory(pid: int) -> _Memory | None:
    fields = {name: int(value) for name, value in _STATUS.findall(_read_proc(f"{pid}/status"))}
    if len(fields) < 4:  # a zombie has no sizes
        return None
    rest = _read_proc(f"{pid}/stat").rpartition(b")")[2].split()
    faults = int(rest[_REAPED_FAULTS]) if rest else 0
    return _Memory(fields[b"PPid"], fields[b"VmSize"], fields[b"VmHWM"], fields[b"VmRSS"], faults)


def _read_proc(name: str) -> bytes:
    try:
        with open(f"/proc/{name}", "rb", buffering=0) as file:
            return file.readall()
    except OSError:
        return b""


class ProgramMemory:
    def __init__(self, session: int, marker: str) -> None:
        # ru_maxrss of a child includes the memory of this process at the fork
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._floor = ours + SAMPLING.slack if LINUX else 0
        self._session, self._marker = session, marker
        self._known, self._unrelated = {session}, set[int]()
        self._members: dict[int, _Memory] = {}  # processes at the last sample, without forks that share all memory
        self._lock = threading.Lock()
        self._started = self._last = time.monotonic()
        self._next = self._next_sum = self._started + SAMPLING.first
        self._next_listing = self._started + SAMPLING.listing
        self._gap = 0.0  # the longest interval between samples in which a process ended
        self._ended: float | None = None
        self._sampled = 0  # kB
        self._final: int | None = None

    def pause(self, longest: float) -> float:
        if self._ended is not None or not LINUX:
            return longest
        return min(longest, max(SAMPLING.first, self._next - time.monotonic()))  # another thread may be sampling

    def sample(self, *, at_once: bool = False) -> None:
        """Sample the memory if a sample is due or `at_once` is set; do nothing after the exit and outside Linux."""
        begin = time.monotonic()
        if (not at_once and begin < self._next) or self._ended is not None or not LINUX:
            return
        if self._lock.acquire(blocking=False):  # else another thread is sampling
            try:
                self._sample(begin, at_once=at_once)
            finally:
                self._lock.release()

    def settle(self, maxrss: int) -> None:
        """Record the exit, and the `ru_maxrss` of the program unless it may be Assay's memory at the fork."""
        if maxrss > self._floor:
            self._final = maxrss * _UNIT
        with self._lock:
            self._end(time.monotonic())

    @property
    def peak_bytes(self) -> int | None:
        """The peak memory; None if unknown, such as for a short program that uses less memory than Assay."""
        observed = self._gap <= SAMPLING.blind * ((self._ended or self._last) - self._started)
        sampled = self._sampled * 1024 if observed else 0
        return max(self._final or 0, sampled) or None

    def _sample(self, begin: float, *, at_once: bool) -> None:
        lost = self._update(begin)
        members = self._members
        if not members:
            self._end(time.monotonic())
            return
        self._gap, self._last = max(self._gap, begin - self._last if lost else 0.0), begin
        self._sampled = max(self._sampled, *(memory.peak for memory in members.values()))
        now = time.monotonic()
        pause = max(SAMPLING.first, (now - self._started) * SAMPLING.of_age)
        self._next = now + max(min(pause, SAMPLING.longest), (now - begin) * SAMPLING.cost)
        resident = sum(memory.resident for memory in members.values())
        if (at_once or now >= self._next_sum) and resident > self._sampled:
            self._sampled = max(self._sampled, sum(_proportional(pid, memory) for pid, memory in members.items()))
            end = time.monotonic()
            self._next_sum = end + (end - now) * SAMPLING.cost

    def _update(self, now: float) -> bool:
        if now >= self._next_listing:
            self._list_processes()
            self._next_listing = now + SAMPLING.listing
        current: dict[int, _Memory] = {}
        pending = sorted(self._known)
        while pending:
            pid = pending.pop()
            memory = _read_memory(pid)
            if memory is not None:
                current[pid] = memory
                children = map(int, _read_proc(f"{pid}/task/{pid}/children").split())
                pending += [child for child in children if child not in self._known]
                self._known.update(pending)
        before, self._members = self._members, {}
        for pid, memory in current.items():
            parent = current.get(memory.parent)
            if parent is None or memory[1:4] != parent[1:4]:  # a fork with equal sizes shares all memory
                self._members[pid] = memory
        return any(pid not in current or current[pid].reaped_faults > old.reaped_faults for pid, old in before.items())

    def _list_processes(self) -> None:
        import psutil

        pids = {pid for pid in psutil.pids() if pid >= self._session or get_session(pid) == self._session}
        self._known &= pids
        self._unrelated &= pids
        new = pids - self._known - self._unrelated
        related = {pid for pid in new if get_session(pid) == self._session or self._marker in read_markers(pid)}
        self._known |= related
        self._unrelated |= new - related

    def _end(self, now: float) -> None:
        if self._ended is None:
            self._ended = now
            self._gap = max(self._gap, now - self._last)


def _proportional(pid: int, memory: _Memory) -> int:
    """Return the proportional set size in kB, which divides shared memory among its users; if unknown, the RSS."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_full_info().pss // 1024)
    except (psutil.Error, OSError):
        return memory.resident
