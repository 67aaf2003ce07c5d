"""Run work that may crash or never end, such as a parser in C, in a forked child."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
_PR_SET_PDEATHSIG: Final = 1  # of Linux, the only system on which we fork


def can_guard() -> bool:
    """Return whether forking is safe: on Linux, without other threads, whose locks a child would inherit."""
    return sys.platform.startswith("linux") and threading.active_count() == 1


def run_guarded(work: Callable[[], T], seconds: int) -> T | None:
    """Return the result of work; None when the child died or used up its CPU seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _deliver(work, writer, seconds)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    try:
        found: T = pickle.loads(data)  # noqa: S301 (written by our own child)
    except (EOFError, pickle.UnpicklingError):
        return None
    return found


def end_with(parent: int) -> None:
    """End this forked process when its parent is killed."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # killed before the call
        os._exit(1)


def _deliver(work: Callable[[], T], writer: int, seconds: int) -> None:
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(work(), stream, protocol=5)
    finally:
        os._exit(0)
