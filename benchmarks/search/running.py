"""Jobs in fresh processes, what they saw, and how much memory they took."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PROJECT = Path(__file__).resolve().parent.parent.parent
#: semble in an environment of its own, as `make nightly` installs it.
_PEER = _PROJECT / ".venv" / "peers" / "semble" / "bin" / "python"
_SAMPLE = 0.05  # seconds between two looks at the memory: a look takes 1 ms


def peer_python() -> str | None:
    """Return the interpreter of semble's environment, else this one."""
    if _PEER.exists():
        return str(_PEER)
    return sys.executable if find_spec("semble") else None


@dataclass(frozen=True, slots=True)
class Job:
    """What one process does."""

    engine: str
    task: str
    roots: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Runner:
    """Where jobs run."""

    folder: Path  # for caches
    model: Path

    def run(self, job: Job, *, watch: bool = False) -> dict[str, Any]:
        """Do a job in a fresh process; `watch` adds its peak memory, its children's among it."""
        text = json.dumps({"model": str(self.model), "engine": job.engine, "task": job.task,
                           "roots": job.roots, "queries": job.queries})  # fmt: skip
        path = self.folder / "job.json"
        path.write_text(text, encoding="utf-8")
        python = peer_python() if job.engine.startswith("semble") else sys.executable
        command = [str(python), "-m", "benchmarks.search.worker", str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_PROJECT, env=self._environment(job))
        peak = _watched(process) if watch else 0.0
        answer, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{job.engine} failed to {job.task}")
        return {**json.loads(answer), "peak": peak}

    def _environment(self, job: Job) -> dict[str, str]:
        """Give each engine a cache of its own, and semble two workers; jobs that build find theirs empty."""
        caches = self.folder / f"cache-{job.engine.removesuffix('-span')}"
        own = {
            "ASSAY_INDEX_DIR": str(caches),
            "SEMBLE_CACHE_LOCATION": str(caches if job.task != "index" else self.folder / "empty"),
            "SEMBLE_INDEX_WORKERS": "2",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        return {**os.environ, **own}


def _watched(process: subprocess.Popen[str]) -> float:
    """Give the greatest proportional memory of a process and its children, MB; pages they share count once."""
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, sum(map(_megabytes, _family(process.pid))))
        time.sleep(_SAMPLE)
    return peak


def _family(pid: int) -> list[int]:
    """List a process and what it started."""
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        return [pid, *(one for child in children for one in _family(int(child)))]
    return [pid]


def _megabytes(pid: int) -> float:
    """Read the memory of a process, what it shares divided by those who share it."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of ours against a peer's, repetition by repetition."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one of the ratios of runs that followed each other."""
        return statistics.median(self.each)

    @property
    def each(self) -> list[float]:
        """The ratios."""
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    def text(self) -> str:
        """Write it with its spread."""
        return f"{self.median:.2f} ({min(self.each):.2f} to {max(self.each):.2f})"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Write a median with the least and the greatest."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
