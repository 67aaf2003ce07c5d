"""Starting a program that stays, and starting it again when it died or hung.

It happens inside the call of the next query, but it is no part of it: the query has its whole time limit after it, the
seconds are not those of its answer, and a note tells them. A restart has limits of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assay.errors import ConfigError, EngineError


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """How long a restart may take, on top of what the settings say of a start."""

    patience: float = 3.0  # times what the first start took: the machine may be busy with what was lost
    least: float = 60.0  # seconds that it always has: the first may have found everything in a warm cache


RESTART_LIMITS = RestartLimits()
RESTARTS = 5  # where the settings do not say; enough for a bad moment, and one that dies at every query is told of


STARTUP_SECONDS = 60.0  # where the settings do not say; a Python program that imports a neural library takes ten


def check_startup(where: str, seconds: float) -> None:
    """Refuse a time to start in which nothing can."""
    if not seconds > 0:
        raise ConfigError(f"{where}: startup_timeout = {seconds:g}", hint="it must be more than 0 seconds")


def check_restarts(where: str, restarts: int) -> None:
    """Refuse a number without a meaning."""
    if restarts < 0:
        raise ConfigError(f"{where}: restarts = {restarts}", hint="it must be 0 or more")


@dataclass(frozen=True, slots=True)
class Restarted:
    """What a restart took; nothing where none was needed."""

    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep its seconds out of the time of an answer that fails."""
        try:
            yield
        except EngineError as problem:
            problem.waited += self.seconds
            raise


class Restarts:
    """The restarts of one program on one corpus."""

    def __init__(self, most: int, name: str) -> None:
        """Allow so many in a row, with no answer between them; `name` is what the program is called in messages."""
        self._most = most
        self._name = name
        self._lost = 0
        self._first: float | None = None  # seconds

    def started(self, seconds: float) -> None:
        """Know how long the first start took."""
        self._first = seconds if self._first is None else self._first

    def lose(self) -> None:
        """Count a program that is of no use any more."""
        self._lost += 1

    def answered(self) -> None:
        """Count anew: it works."""
        self._lost = 0

    def again(self, start: Callable[[float], None]) -> Restarted:
        """Start the program again in a time of its own, unless it was lost too often."""
        if self._lost > self._most:
            raise EngineError(
                f"{self._name} was lost {self._lost} times in a row and is not started again",
                hint="correct it, or raise restarts",
            )
        begin = time.monotonic()
        try:
            start(self._limit())
        except EngineError as problem:
            problem.waited = time.monotonic() - begin
            raise
        seconds = time.monotonic() - begin
        note = f"{self._name} was started again before this query; the {seconds:.1f} s are no part of its time"
        return Restarted(seconds, (note,))

    def _limit(self) -> float:
        """Say how long it may take, where the settings do not say less."""
        return max(RESTART_LIMITS.least, RESTART_LIMITS.patience * (self._first or 0.0))
