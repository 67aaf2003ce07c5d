"""A deadline that is looked at before everything that may block, and the day."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime


class Deadline:
    """Time that is left; None is as much as it takes."""

    def __init__(self, *seconds: float | None) -> None:
        self.limit = min_timeout(*seconds)  # as the user knows it
        self.deadline = None if self.limit is None else time.monotonic() + self.limit

    def left(self) -> float | None:
        """Give the seconds that are left; raise TimeoutError when there are none."""
        left = self.rest()
        if left is not None and left <= 0:
            raise TimeoutError
        return left

    def rest(self) -> float | None:
        """Give the seconds that are left, which may be none at all, to who complains himself."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def allows(self, seconds: float) -> bool:
        """Tell whether there is time to wait and to go on after it."""
        return self.deadline is None or time.monotonic() + seconds < self.deadline

    def within(self, seconds: float | None) -> Deadline:
        """Start a clock that ends with this one at the latest."""
        if seconds is None or not self.allows(seconds):
            clock = Deadline(self.limit)
            clock.deadline = self.deadline
            return clock
        return Deadline(seconds)

    def extend(self, seconds: float) -> None:
        """Give back time that somebody else took."""
        self.deadline = None if self.deadline is None else self.deadline + seconds


def min_timeout(*limits: float | None) -> float | None:
    """Give the shortest of some time limits, where None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def format_duration(seconds: float | None) -> str:
    """Say a number of seconds as people would: what a part of the work has taken off a limit is no part of it."""
    return f"{round(seconds or 0.0, 2):g} s"


def today() -> str:
    """Name the day, in UTC; SOURCE_DATE_EPOCH (reproducible-builds.org) says another."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    return now.date().isoformat()
