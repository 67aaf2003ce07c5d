"""Helpers for tests that start programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import pytest

from tests.waiting import wait_until

T = TypeVar("T")

#: Seconds that a program hangs in these tests: longer than every watchdog, so that none ends by itself in time.
HANG: Final = 1000


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended; a zombie has, whoever is to wait for it."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text() if Path("/proc").exists() else ""
    except (ProcessLookupError, FileNotFoundError):
        return True
    return stat.rpartition(")")[2].split()[:1] == ["Z"]


def wait_until_gone(pid: int) -> bool:
    """Return True once a process has ended; fail the test after the watchdog."""
    wait_until(lambda: is_gone(pid), f"the end of process {pid}")
    return True


def time_out(attempt: Callable[[float], T], reached: Callable[[T], object]) -> T:
    """Call `attempt` with a time limit that a program exceeds, but only once it has reached its hanging state.

    A short limit is enough on a quiet machine. On a busy one it may end a program that has hardly started, so the limit
    grows until `reached(outcome)` is true.
    """
    for seconds in (0.2, 2.0, 20.0, 200.0):
        outcome = attempt(seconds)
        if reached(outcome):
            return outcome
    pytest.fail("the program never reached the state in which it hangs")


def pids_in(path: Path, count: int) -> list[int]:
    """Read process ids that a program wrote; an empty list unless all of them are there."""
    text = path.read_text() if path.exists() else ""
    pids = [int(pid) for pid in text.split()]
    return pids if len(pids) == count and text.endswith("\n") else []
