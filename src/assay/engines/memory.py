"""How much memory an engine adds that runs inside this process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): resets the peak resident set size


class AddedMemory:
    """Watch what one engine adds, call by call: what others take in between counts for nothing. Linux only."""

    def __init__(self) -> None:
        self.peak: int | None = None  # bytes; None: not known
        self._held = 0  # what earlier calls did not give back

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch a call of the engine."""
        before = _forget_peak()
        try:
            yield
        finally:
            highest, now = _field("VmHWM"), _field("VmRSS")
            if before is not None and highest is not None and now is not None:
                self.peak = max(self.peak or 0, self._held + highest - before)
                self._held = max(0, self._held + now - before)


def _forget_peak() -> int | None:
    """Let the peak begin at what is in use now, and give that."""
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return None
    return _field("VmRSS")


def _field(name: str) -> int | None:
    """Read a size from the process's status, in bytes."""
    try:
        match = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None
