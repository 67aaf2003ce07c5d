"""What tests of programs share."""

from __future__ import annotations

import os
import time
from pathlib import Path


def wait_until_gone(pid: int, seconds: float = 5.0) -> bool:
    """Tell whether a process is gone, or a zombie that nobody has buried yet, within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = (
                Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if Path("/proc").exists() else "?"
            )
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
