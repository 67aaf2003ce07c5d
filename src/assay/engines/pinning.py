"""The same processors for every engine: counts that libraries read from the environment, and what the kernel grants."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: What numeric libraries, and the tools built on them, read to decide how many threads they start.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
    "TOKIO_WORKER_THREADS",
)


def available_threads() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pinned(threads: int) -> Iterator[int]:
    """Run with this many processors at most, programs that are started included; gives how many there really are."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    granted = min(threads, available_threads())
    allowed = _allowed()
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(granted)))
    _confine(sorted(allowed)[:granted])
    try:
        yield granted
    finally:
        _confine(sorted(allowed))
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _allowed() -> set[int]:
    """List the processors that this process may use, where the system tells."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _confine(processors: list[int]) -> None:
    """Keep every thread of this process to some processors; each has a mask of its own, and new ones inherit it."""
    if not processors or not hasattr(os, "sched_setaffinity"):
        return
    tasks = Path("/proc/self/task")
    for thread in sorted(int(task.name) for task in tasks.iterdir()) if tasks.is_dir() else [0]:
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(thread, processors)
