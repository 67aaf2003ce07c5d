"""What Linux tells of processes under /proc; on other systems, and of processes that are gone, nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

#: Holds the markers of the programs that a process descends from, the outermost first.
VARIABLE: Final = "ASSAY_RUN"
APART: Final = ":"

_HELD = re.compile(rb"^(PPid|VmSize|VmHWM|VmRSS):\s+(\d+)", re.MULTILINE)
_SHARED = re.compile(rb"^Pss:\s+(\d+) kB$", re.MULTILINE)
_MARKED = re.compile(rb"(?:^|\0)" + VARIABLE.encode() + rb"=([^\0]*)")
_BURIED = 8  # proc(5): cminflt, counted from behind the name
_PIECE = 1 << 20  # more than anything read here is long


@dataclass(frozen=True, slots=True)
class Held:
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


def read_held(pid: int) -> Held | None:
    """Read what a process holds; None once it has let go of its memory."""
    fields = {name: int(value) for name, value in _HELD.findall(_read(f"/proc/{pid}/status"))}
    if len(fields) < 4:  # a zombie has no sizes
        return None
    rest = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    buried = int(rest[_BURIED]) if rest else 0
    return Held(fields[b"PPid"], fields[b"VmSize"], fields[b"VmHWM"], fields[b"VmRSS"], buried)


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
    """Read a file of /proc; empty when its process is gone or not ours to look at."""
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
    """Read to the end; /proc gives some files a page at a time."""
    data = os.read(handle, _PIECE)
    piece = data
    while piece:
        piece = os.read(handle, _PIECE)
        data += piece
    return data
