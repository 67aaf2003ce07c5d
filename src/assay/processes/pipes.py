"""Who still holds a pipe that we read from: a program can leave its process group, but not hide what it has open."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_PROC = Path("/proc")


def end_holders(ends: Iterable[int]) -> None:
    """Kill every process that can write into pipes whose reading ends are ours; Linux only."""
    pipes = {_pipe_name(end) for end in ends}
    for pid in _others() if sys.platform == "linux" else ():
        if any(_pipe_of(handle) in pipes for handle in _writing(pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _others() -> list[int]:
    """List all processes but ours."""
    return sorted({int(path.name) for path in _PROC.iterdir() if path.name.isdigit()} - {os.getpid()})


def _writing(pid: int) -> Iterator[Path]:
    """Give the open files of a process that it may write to; of other people's processes none."""
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
    """Name a pipe as the system does."""
    return f"pipe:[{os.fstat(end).st_ino}]"
