"""A scheduler and workers as processes of their own, on loopback; what was started is ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def our_path() -> str:
    """Where a process that we start finds what we find: tests and benchmarks too."""
    return os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])


@dataclass
class Loopback:
    """A cluster whose processes can be killed."""

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, workers: int, environment: Mapping[str, str] | None = None) -> None:
        """Start the scheduler, and workers when it is there."""
        note = self.folder / "scheduler.json"
        self.scheduler = self._run(
            "dask_scheduler", "--port", "0", "--scheduler-file", str(note), environment=environment
        )
        while not note.exists() or not note.read_text().strip():
            assert self.scheduler.poll() is None, (self.folder / "dask.log").read_text()
            time.sleep(0.02)
        self.address = json.loads(note.read_text())["address"]
        for _ in range(workers):
            self.add(environment)

    def add(self, environment: Mapping[str, str] | None = None, *more: str) -> subprocess.Popen[bytes]:
        """Start a worker."""
        local = ("--local-directory", str(self.folder))
        flags = ("--nthreads", "1", "--no-nanny", *local, *more)
        self.workers.append(self._run("dask_worker", self.address, *flags, environment=environment))
        return self.workers[-1]

    def settle(self) -> None:
        """Wait until the workers that run have joined, and those that do not are forgotten."""
        import distributed

        connect: Any = distributed.Client
        with connect(self.address, set_as_default=False) as client:
            while set(client.run(os.getpid, on_error="ignore").values()) != self._running():
                time.sleep(0.05)

    def staff(self, count: int, environment: Mapping[str, str] | None = None) -> None:
        """See that so many workers are there; those that were killed are replaced."""
        for _ in range(count - len(self._running())):
            self.add(environment)
        self.settle()

    def _running(self) -> set[int]:
        """List the workers that nobody killed."""
        return {worker.pid for worker in self.workers if worker.poll() is None}

    def end(self) -> None:
        """End every process."""
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()

    def _run(self, module: str, *args: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start one of Dask's programs."""
        command = [sys.executable, "-m", f"distributed.cli.{module}", *args, "--host", "127.0.0.1", "--no-dashboard"]
        with open(self.folder / "dask.log", "ab") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **(environment or {}), "PYTHONPATH": our_path()},
            )


@contextmanager
def loopback(folder: Path, workers: int, environment: Mapping[str, str] | None = None) -> Iterator[Loopback]:
    """Have a cluster for a while."""
    cluster = Loopback(folder)
    try:
        cluster.start(workers, environment)
        yield cluster
    finally:
        cluster.end()
