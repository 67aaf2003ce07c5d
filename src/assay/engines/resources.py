"""Memory of engines in this process, and the processors that engines may use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class AddedMemory:
    """The memory that one engine adds to this process, measured during calls to the engine; Linux only."""

    def __init__(self) -> None:
        self.peak: int | None = None  # bytes; None: unknown
        self._held = 0  # bytes that earlier calls did not release

    @contextmanager
    def measure(self) -> Iterator[None]:
        before = None
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the peak resident set size
            before = _memory("VmRSS")
        try:
            yield
        finally:
            highest, now = _memory("VmHWM"), _memory("VmRSS")
            if before is not None and highest is not None and now is not None:
                self.peak = max(self.peak or 0, self._held + highest - before)
                self._held = max(0, self._held + now - before)


def _memory(field: str) -> int | None:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


#: Variables that set the thread count of numeric libraries and tools.
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
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pinned(threads: int) -> Iterator[int]:
    """Limit threads by processor affinity (Linux) and by variables of numeric libraries; yield the number granted."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    granted = min(threads, available_threads())
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(granted)))
    _set_affinity(allowed[:granted])
    try:
        yield granted
    finally:
        _set_affinity(allowed)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _set_affinity(processors: Iterable[int]) -> None:
    tasks = Path("/proc/self/task")
    if not processors or not tasks.is_dir():
        return
    for task in sorted(tasks.iterdir()):
        with suppress(OSError):  # the thread has already ended
            os.sched_setaffinity(int(task.name), processors)
