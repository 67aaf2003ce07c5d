from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar, cast

T = TypeVar("T")


class Deadline:
    """The time by which an operation must end, set by the shortest of several limits in seconds; None is no limit."""

    def __init__(self, *seconds: float | None) -> None:
        self.limit = min_timeout(*seconds)  # as configured, for messages
        self.at = None if self.limit is None else time.monotonic() + self.limit

    def remaining_or_raise(self) -> float | None:
        """Return the remaining seconds, or None without a limit; raise TimeoutError after the deadline."""
        seconds = self.remaining()
        if seconds is not None and seconds <= 0:
            raise TimeoutError
        return seconds

    def remaining(self) -> float | None:
        return None if self.at is None else max(0.0, self.at - time.monotonic())

    def allows(self, seconds: float) -> bool:
        return self.at is None or time.monotonic() + seconds < self.at

    def within(self, seconds: float | None) -> Deadline:
        """Return the earlier of this deadline and one in `seconds` seconds; None is no limit."""
        if seconds is None or not self.allows(seconds):
            same = Deadline(self.limit)
            same.at = self.at
            return same
        return Deadline(seconds)

    def extend(self, seconds: float) -> None:
        self.at = None if self.at is None else self.at + seconds


def min_timeout(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def format_duration(seconds: float | None) -> str:
    return f"{round(seconds or 0.0, 2):g} s"


def now() -> datetime:
    """Return the UTC time of SOURCE_DATE_EPOCH (reproducible-builds.org) if that is a number, else the current time."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)


def today() -> str:
    return now().date().isoformat()


def timestamp() -> str:
    """Return the current UTC time in ISO 8601 with milliseconds, since a reviewer may vote twice within a second."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def call_within(seconds: float | None, function: Callable[[], T], *, name: str = "assay-call") -> T:
    """Return the result of a call in a daemon thread; after the timeout, raise TimeoutError and abandon the thread."""
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            done.put((function(), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=work, name=name, daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return cast(T, result)
