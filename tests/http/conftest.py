from __future__ import annotations

import time

import pytest


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let `time.sleep` return at once and the clock go on by what was asked for; list all that was slept."""
    slept: list[float] = []
    monotonic = time.monotonic
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + sum(slept))
    return slept
