"""Wait for events instead of a fixed time; a watchdog of minutes fails a test that hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import pytest

WATCHDOG: Final = 300.0  # seconds; reached only by a program that hangs, however busy the machine is
_POLL: Final = 0.01


def wait_until(condition: Callable[[], object], what: str, watchdog: float = WATCHDOG) -> None:
    """Return once `condition()` is true; fail the test when the watchdog expires."""
    end = time.monotonic() + watchdog
    while not condition():
        if time.monotonic() > end:
            pytest.fail(f"waited {watchdog:.0f} s for {what}")
        time.sleep(_POLL)
