"""Memory of engines in this process, and processor affinity."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): resets the peak resident set size


class AddedMemory:
    """Memory that one engine adds, measured during its calls only. Linux only."""

    def __init__(self) -> None:
        self.peak: int | None = None  # bytes; None: unknown
        self._held = 0  # bytes that earlier calls did not release

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure a call of the engine."""
        before = _reset_peak()
        try:
            yield
        finally:
            highest, now = _field("VmHWM"), _field("VmRSS")
            if before is not None and highest is not None and now is not None:
                self.peak = max(self.peak or 0, self._held + highest - before)
                self._held = max(0, self._held + now - before)


def _reset_peak() -> int | None:
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return None
    return _field("VmRSS")


def _field(name: str) -> int | None:
    try:
        match = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


#: Variables that set the number of threads of numeric libraries and tools.
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
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pinned(threads: int) -> Iterator[int]:
    """Limit this process and programs it starts to some processors; yield the number granted."""
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
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _confine(processors: list[int]) -> None:
    if not processors or not hasattr(os, "sched_setaffinity"):
        return
    tasks = Path("/proc/self/task")
    for thread in sorted(int(task.name) for task in tasks.iterdir()) if tasks.is_dir() else [0]:
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(thread, processors)
