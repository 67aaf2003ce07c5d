"""How much memory an engine adds that runs inside this process."""

from __future__ import annotations

import re
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): resets the peak resident set size


class PeakMemory:
    """Watch the peak of this process from now on; what was there before counts for nothing. Linux only."""

    def __init__(self) -> None:
        self._base = self._start()

    def added(self) -> int | None:
        """Give the bytes by which the peak since the start lies above what there was; None where it is not known."""
        peak = _field("VmHWM")
        return None if self._base is None or peak is None else max(0, peak - self._base)

    def _start(self) -> int | None:
        """Forget the old peak, and keep what is in use now."""
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
