"""A rate limit that threads share."""

from __future__ import annotations

import threading
import time


class Pacer:
    """Let requests go at even distances: a burst is what servers complain of."""

    def __init__(self, rate: float | None) -> None:
        self._distance = 0.0 if rate is None else 1 / rate
        self._next = 0.0
        self._lock = threading.Lock()

    def turn(self) -> float:
        """Wait for one's turn, and tell how many seconds that took."""
        begin = time.monotonic()
        with self._lock:
            at = max(begin, self._next)
            self._next = at + self._distance
        if at <= begin:
            return 0.0
        time.sleep(at - begin)
        return time.monotonic() - begin
