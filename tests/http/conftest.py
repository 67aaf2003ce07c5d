from __future__ import annotations

import time

import pytest


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let `time.sleep` return at once and all clocks go on by what was asked for; list all that was slept."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for clock in (time.monotonic, time.perf_counter):
        monkeypatch.setattr(time, clock.__name__, lambda clock=clock: clock() + sum(slept))
    return slept
