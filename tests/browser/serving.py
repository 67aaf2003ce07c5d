"""`assay serve` in a process of its own, as somebody starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import WATCHDOG


@dataclass
class Serving:
    """A server: the address that lets in, and how the command ended."""

    url: str
    said: dict[str, str]
    origin: str = field(init=False)
    ended: tuple[int, str, str] | None = None  # exit code, the rest of stdout, stderr

    def __post_init__(self) -> None:
        self.origin = self.url.partition("/?")[0]


@contextmanager
def serving_runs(folder: Path) -> Iterator[Serving]:
    """Serve the runs of a folder until the end of the block, then press Ctrl-C."""
    command = [sys.executable, "-m", "assay", "serve", str(folder), "--json"]
    own = os.environ | {"ASSAY_CACHE_DIR": str(folder.parent / "serve-cache")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        server = Serving(said["url"], said)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WATCHDOG)
    server.ended = (process.returncode, out, err)
