"""Markers in the environment of programs, which identify their descendants."""

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
    """Return the common prefix of all markers that this process creates; a fork has a different prefix."""
    return f"{_HERE}-{os.getpid()}"


def new_marker() -> str:
    """Return a new marker, for one program or for several that are ended together."""
    return f"{own_marker()}-{next(_NUMBERS)}"


def add_marker(environment: Mapping[str, str] | None, marker: str) -> dict[str, str]:
    """Return a copy of an environment, by default that of this process, with an additional marker."""
    base = os.environ if environment is None else environment
    outer = base.get(VARIABLE) or os.environ.get(VARIABLE)
    return {**base, VARIABLE: f"{outer}{SEPARATOR}{marker}" if outer else marker}


def read_markers(pid: int) -> list[str]:
    """Return the markers in the environment of a process; an empty list for processes of other users."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(VARIABLE, "").split(SEPARATOR)
    except (psutil.Error, OSError):
        return []


def has_marker(pid: int, marker: str) -> bool:
    """Return whether a process descends from a program with this marker or marker prefix."""
    return any(own == marker or own.startswith(f"{marker}-") for own in read_markers(pid))


def find_marked(marker: str) -> list[int]:
    """Return the ids of all processes, except this one, with a marker or marker prefix."""
    import psutil

    return sorted(pid for pid in psutil.pids() if pid != os.getpid() and has_marker(pid, marker))


def get_session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None
