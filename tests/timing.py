"""Time for `make soak`: bounds are ratios between two measurements of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable


def fastest(call: Callable[[], object], times: int = 5) -> float:
    """Return the least CPU time of this thread over several calls, in seconds."""
    call()  # caches are warm
    taken = []
    for _ in range(times):
        begin = time.thread_time()
        call()
        taken.append(time.thread_time() - begin)
    return min(taken)
