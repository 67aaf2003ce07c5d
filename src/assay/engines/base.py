"""The seam: what an engine under test has to offer, and what it may declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from assay.errors import EngineError
from assay.types import Corpus, Hit, Role, Suite


class Session(Protocol):
    """An engine opened on one corpus."""

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Give at most k results, best first."""

    def close(self) -> None:
        """Let go of everything; no search follows."""


class Engine(Protocol):
    """Something that finds code.

    May also have `oversample: int` (asked for k × oversample results, so that k distinct ones are left; printed)
    and `notes: tuple[str, ...]` (for people; not part of its identity). `engines.as_engine` fills both in.
    """

    @property
    def config(self) -> Mapping[str, object]:
        """The settings that shape the ranking, without secrets; hashed into the records."""

    def open(self, corpus: Corpus) -> Session:
        """Get ready for a corpus; may build an index, and is timed apart."""


class FullEngine(Engine, Protocol):
    """An engine with everything it may declare."""

    @property
    def oversample(self) -> int:
        """How many times k it is asked for."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for people."""

    @property
    def role(self) -> Role:
        """What it is in a table; only the shipped references are not contestants."""


@runtime_checkable
class TimedSession(Protocol):
    """A session that keeps to a time limit by itself, because it can end what it started."""

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Give at most k results, best first."""

    def search_within(self, query: str, k: int, seconds: float | None) -> Sequence[Hit]:
        """Search; raise EngineTimeout when the seconds are over, with nothing left running."""

    def close(self) -> None:
        """Let go of everything; no search follows."""


@runtime_checkable
class TimedEngine(Protocol):
    """An engine that keeps to a time limit when it is opened, because it can end what it started."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Get ready for a corpus; raise EngineTimeout when the seconds are over, with nothing left running."""


class EngineCrash(EngineError):
    """The process of an engine died by a signal."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an engine may be told besides its settings."""

    suite: Suite | None = None  # the answers, for the oracle and to map run files
    seed: int = 0
    folder: Path = Path()  # what relative paths in its settings start from
