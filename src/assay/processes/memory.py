"""How much memory programs took at most.

The kernel's own figure (`ru_maxrss`) counts what the starting process held when it forked: every program that a large
process starts looks at least as large. Below that floor only samples of the program's own high-water mark count.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_UNIT = 1024 if sys.platform == "linux" else 1  # of ru_maxrss: kB there, bytes on macOS


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a program's memory is looked at."""

    apart: float = 0.01  # seconds between samples: one takes some 30 µs
    slack: int = 32_768  # kB by which the kernel's counters may differ between two looks: some pages for each processor


SAMPLING = Sampling()


class ProgramMemory:
    """The most that one program took: itself or the largest of the children it waited for."""

    def __init__(self) -> None:
        """Keep in mind what we held ourselves when the program was started, which must have been just now."""
        ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._floor = ours + SAMPLING.slack if sys.platform == "linux" else 0
        self._sampled: int | None = None
        self._next = 0.0
        self._final: int | None = None

    def sample(self, pid: int) -> None:
        """Look at the program's own mark, at most every few milliseconds."""
        now = time.monotonic()
        if now < self._next or sys.platform != "linux":
            return
        self._next = now + SAMPLING.apart
        mark = read_peak(pid)
        if mark is not None:
            self._sampled = max(mark, self._sampled or 0)

    def settle(self, maxrss: int) -> None:
        """Take the kernel's figure at the program's end; it counts when we could not have caused it."""
        if maxrss > self._floor:
            self._final = maxrss * _UNIT

    @property
    def peak_bytes(self) -> int | None:
        """The most that is known; None when the program was too short and too small to be seen."""
        return max((value for value in (self._final, self._sampled) if value is not None), default=None)


def read_peak(pid: int) -> int | None:
    """Read the high-water mark of a process, in bytes; Linux only."""
    try:
        match = _PEAK.search((_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def group_members(group: int) -> tuple[int, ...]:
    """List the processes of a group; none where the system does not tell."""
    found = []
    for folder in _PROC.iterdir() if sys.platform == "linux" else ():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            if int(fields[2]) == group:
                found.append(int(folder.name))
    return tuple(sorted(found))
