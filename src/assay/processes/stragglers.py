"""Processes that a program left behind: it ended, and they left its group and closed its pipes. Linux only.

They are known by the marker in their environment. Who cleared or overwrote that is not found, and nobody without it is
ever touched.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

from assay.processes.groups import LOOKS, GroupLimits, kill_groups, running_sessions
from assay.processes.markers import carries, own_marker
from assay.processes.proc import every_pid, session_of

_ROUNDS = 5  # of killing: between a look and the signal a process can start another


def stragglers(marker: str) -> list[int]:
    """List what is left of the programs with a marker, but nothing of a program that somebody still holds."""
    wanted = running_sessions()
    return [pid for pid in _carriers(marker) if session_of(pid) not in wanted]


def end_stragglers(marker: str, grace: float = GroupLimits().grace) -> int:
    """End what is left of the programs with a marker, ask first and then make sure; tell how many there were."""
    left = stragglers(marker)
    ended = set(left)
    _send(left, marker, signal.SIGTERM)
    end, pause = time.monotonic() + grace, LOOKS.first
    while left and time.monotonic() < end:
        time.sleep(pause)
        pause = min(pause * 2, LOOKS.longest)
        left = [pid for pid in left if carries(pid, marker)]
    for _ in range(_ROUNDS if ended else 0):
        left = stragglers(marker)
        ended.update(left)
        _send(left, marker, signal.SIGKILL)
        if not left:
            break
    return len(ended)


def kill_all() -> None:
    """Kill every program of ours that is still running, and all that they left; for who cannot wait for them."""
    kill_groups()
    for _ in range(_ROUNDS):
        left = _carriers(own_marker())
        _send(left, own_marker(), signal.SIGKILL)
        if not left:
            break


def _carriers(marker: str) -> list[int]:
    """List all processes that carry a marker."""
    return sorted(pid for pid in every_pid() if pid != os.getpid() and carries(pid, marker))


def _send(pids: list[int], marker: str, number: signal.Signals) -> None:
    """Send a signal to those that still carry the marker: a number may be somebody else's by now."""
    for pid in pids:
        if carries(pid, marker):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
