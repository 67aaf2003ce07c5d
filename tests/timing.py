"""Timing for `make soak`: bounds are ratios of two measurements from the same run."""

from __future__ import annotations

import time
from collections.abc import Callable


def fastest(call: Callable[[], object], times: int = 5) -> float:
    """Return the lowest CPU time of this thread over several calls, in seconds."""
    call()  # warm the caches
    taken = []
    for _ in range(times):
        begin = time.thread_time()
        call()
        taken.append(time.thread_time() - begin)
    return min(taken)
