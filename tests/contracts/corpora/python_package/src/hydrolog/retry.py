"""Retry calls that fail for reasons that pass."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MAX_ATTEMPTS = 5
BASE_DELAY = 0.5


class RetriesExhausted(RuntimeError):
    """The last attempt failed too."""


def backoff_delay(attempt: int, base: float = BASE_DELAY) -> float:
    """Return the pause before an attempt: exponential, with full jitter, capped at one minute."""
    return random.uniform(0, min(60.0, base * 2**attempt))


def call_with_retry(call: Callable[[], T], attempts: int = MAX_ATTEMPTS) -> T:
    """Call until it succeeds; connection errors and timeouts are retried, everything else is raised."""
    for attempt in range(attempts):
        try:
            return call()
        except (ConnectionError, TimeoutError) as error:
            if attempt + 1 == attempts:
                raise RetriesExhausted(f"gave up after {attempts} attempts") from error
            time.sleep(backoff_delay(attempt))
    raise ValueError("attempts must be positive")
