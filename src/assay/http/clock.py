"""A deadline that is looked at before everything that may block."""

from __future__ import annotations

import time


class Clock:
    """Time that is left; None is as much as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self.limit = seconds  # as the user knows it
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Give the seconds that are left; raise TimeoutError when there are none."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def allows(self, seconds: float) -> bool:
        """Tell whether there is time to wait and to go on after it."""
        return self._end is None or time.monotonic() + seconds < self._end

    def within(self, seconds: float | None) -> Clock:
        """Start a clock that ends with this one at the latest."""
        if seconds is None or not self.allows(seconds):
            clock = Clock(self.limit)
            clock._end = self._end
            return clock
        return Clock(seconds)

    def extend(self, seconds: float) -> None:
        """Give back time that somebody else took."""
        self._end = None if self._end is None else self._end + seconds
