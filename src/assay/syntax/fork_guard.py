"""Do something in a child process that may crash or never end, as parsers written in C do on sources that are none."""

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
    """Tell whether a child can be forked: not beside other threads, whose locks it would inherit."""
    return sys.platform.startswith("linux") and threading.active_count() == 1


def run_guarded(work: Callable[[], T], seconds: int) -> T | None:
    """Give what work gives; None when the child died over it or used up its seconds of the processor."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _deliver(work, writer, seconds)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    try:
        found: T = pickle.loads(answer)  # noqa: S301 (written by our own child, over a pipe nobody else has)
    except (EOFError, pickle.UnpicklingError):
        return None
    return found


def end_with(parent: int) -> None:
    """Ask the kernel to end this forked process when its parent is killed; it would go on for nobody."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before we asked
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
