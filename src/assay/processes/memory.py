"""How much memory a program took at most, with all that it started.

The figure is the most that its processes held at one moment, where what they share counts once; it is never less than
the most that one of them held. It is sampled. The kernel's own figure (`ru_maxrss`) is no help for small programs: it
counts what the starting process held, so every program that a large process starts looks at least as large. Above
that floor it is exact for the largest process. What was not watched closely enough has no figure.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from assay.processes.proc import Held, every_pid, read_children, read_held, read_markers, read_share, session_of

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
        """Take what all hold now, and what each held at most."""
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

    def _add_up(self, held: Mapping[int, Held], begin: float) -> None:
        """Take what all hold together, without what they share; the kernel walks through every page for it."""
        shares = {pid: read_share(pid) for pid in held}
        together = sum(one.now if (share := shares[pid]) is None else share for pid, one in held.items())
        self._sampled = max(self._sampled, together)
        now = time.monotonic()
        self._next_sum = now + (now - begin) * SAMPLING.cost

    def _leave(self, now: float) -> None:
        """Note when nothing was left of it."""
        if self._gone is None:
            self._gone = now
            self._gap = max(self._gap, now - self._seen)

    def _is_watched(self) -> bool:
        """Tell whether nothing ended in a large part of its time that passed unseen; before the end, up to now."""
        return self._gap <= SAMPLING.blind * ((self._gone or self._seen) - self._born)


class _Family:
    """The processes of a program: those of its session, and those that left it but carry the program's marker."""

    def __init__(self, session: int, marker: str) -> None:
        self._session = session
        self._marker = marker
        self._members = {session}
        self._strangers: set[int] = set()
        self._next = time.monotonic() + SAMPLING.listing
        self.held: dict[int, Held] = {}  # at the last look, by those that have memory of their own

    def look(self, now: float) -> bool:
        """Look at all members; tell whether one ended since the last time, seen before or not."""
        if now >= self._next:
            self._list()
            self._next = now + SAMPLING.listing
        found: dict[int, Held] = {}
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
        """Look for members among all processes; whoever is older than the program is none."""
        pids = {pid for pid in every_pid() if pid >= self._session or session_of(pid) == self._session}
        self._members &= pids
        self._strangers &= pids
        new = pids - self._members - self._strangers
        found = {pid for pid in new if session_of(pid) == self._session or self._marker in read_markers(pid)}
        self._members |= found
        self._strangers |= new - found


def _is_twin(one: Held, parent: Held | None) -> bool:
    """Tell whether a process was forked this moment and has no page of its own, which is so until it runs a program."""
    return parent is not None and (one.size, one.most, one.now) == (parent.size, parent.most, parent.now)
