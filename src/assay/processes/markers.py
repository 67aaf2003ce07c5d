"""Markers that identify the descendants of a program, stored in an environment variable that processes inherit."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Mapping
from typing import Final

#: The environment variable with the markers of all programs that a process descends from, outermost first.
VARIABLE: Final = "ASSAY_RUN"
SEPARATOR: Final = ":"

_HERE = secrets.token_hex(8)
_NUMBERS = itertools.count(1)


def own_marker() -> str:
    """Return the prefix of all markers that this process creates; a forked child has a different prefix."""
    return f"{_HERE}-{os.getpid()}"


def new_marker() -> str:
    return f"{own_marker()}-{next(_NUMBERS)}"


def add_marker(environment: Mapping[str, str] | None, marker: str) -> dict[str, str]:
    """Return a copy of an environment (None: that of this process) with a marker added to the existing markers."""
    base = os.environ if environment is None else environment
    outer = base.get(VARIABLE) or os.environ.get(VARIABLE)
    return {**base, VARIABLE: f"{outer}{SEPARATOR}{marker}" if outer else marker}


def read_markers(pid: int) -> list[str]:
    """Return the markers of a process, [""] if it has none, or [] if its environment is unreadable."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(VARIABLE, "").split(SEPARATOR)
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
