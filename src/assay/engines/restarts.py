"""Restarts of external programs, and their resource usage across restarts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assay.errors import ConfigError, EngineError
from assay.processes.markers import new_marker
from assay.processes.running import CompletedProgram, kill_orphans

RESTARTS = 5  # default; tolerates a temporary problem, but not a program that dies at every query
STARTUP_SECONDS = 60.0  # default; a Python program that imports a neural library takes 10 s
RESTART_FACTOR = 3.0  # multiple of the first start's time, because the lost program may still load the machine
RESTART_SECONDS = 60.0  # minimum seconds, because the first start may have had a warm cache


def check_restart_settings(where: str, startup_timeout: float, restarts: int) -> None:
    if not startup_timeout > 0:
        raise ConfigError(f"{where}: startup_timeout: expected more than 0 seconds, got {startup_timeout:g}")
    if restarts < 0:
        raise ConfigError(f"{where}: restarts: expected at least 0, got {restarts}")


@dataclass(frozen=True, slots=True)
class RestartCost:
    """Time and notes of a restart; zero and empty without a restart."""

    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @contextmanager
    def excluded(self) -> Iterator[None]:
        """Exclude the restart from the time of a failed query."""
        try:
            yield
        except EngineError as error:
            error.waited += self.seconds
            raise


class Restarts:
    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self.losses = 0  # consecutive, since the last answer
        self.first_start: float | None = None  # seconds

    def restart(self, start: Callable[[float], None]) -> RestartCost:
        """Call `start` with its time limit; raise EngineError after too many consecutive losses."""
        if self.losses > self._limit:
            raise EngineError(
                f"{self._name} failed {self.losses} times in a row and is not restarted",
                hint="fix the program, or raise `restarts`",
            )
        begin = time.monotonic()
        try:
            start(max(RESTART_SECONDS, RESTART_FACTOR * (self.first_start or 0.0)))
        except EngineError as error:
            error.waited = time.monotonic() - begin
            raise
        seconds = time.monotonic() - begin
        return RestartCost(seconds, (f"{self._name} was restarted before this query ({seconds:.1f} s, not counted)",))


class UsageTracker:
    """Peak memory and last stderr of a session's programs, and their leftover processes."""

    def __init__(self) -> None:
        self.marker = new_marker()  # environment marker that identifies the processes
        self._killed = 0
        self.peak_bytes: int | None = None
        self._index = self._failure = self._latest = ""

    def record_index_run(self, finished: CompletedProgram) -> None:
        self._index = _decode(finished.stderr)
        self.record_peak(finished.peak_bytes)

    def record_query_run(self, finished: CompletedProgram) -> None:
        self.record_peak(finished.peak_bytes)
        if finished.end == "exit":
            self.record_stderr(finished.stderr)
        else:
            self.record_failure(finished.stderr)

    def record_peak(self, peak: int | None) -> None:
        self.peak_bytes = max((value for value in (peak, self.peak_bytes) if value is not None), default=None)

    def record_stderr(self, stderr: bytes) -> None:
        self._latest = _decode(stderr) or self._latest

    def record_failure(self, stderr: bytes) -> None:
        """Record the stderr of a failed program, even if `record_stderr` recorded the same text before."""
        self._failure = _decode(stderr)
        self._latest = "" if self._latest == self._failure else self._latest

    def stderr(self) -> str:
        named = (("index", self._index), ("last failure", self._failure), ("program", self._latest))
        return "\n".join(f"[{name}]\n{text}" for name, text in named if text)

    def kill_orphans(self) -> None:
        """Kill leftover processes; call after every program of the session has ended."""
        self._killed += kill_orphans(self.marker)

    def session_notes(self) -> tuple[str, ...]:
        if not self._killed:
            return ()
        return (f"killed {self._killed} leftover {'process' if self._killed == 1 else 'processes'}",)


def _decode(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip()
