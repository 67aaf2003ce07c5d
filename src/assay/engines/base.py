"""The seam: what an engine under test has to offer, and what it may declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from assay.engines.fingerprints import fingerprint_of
from assay.errors import EngineError
from assay.types import Corpus, Cost, Hit, Role, Suite, Waterfall


@dataclass(frozen=True, slots=True)
class EngineReply:
    """An answer with what people must know of it: that a part was not understood, that it took three attempts."""

    hits: tuple[Hit, ...]
    cost: Cost | None = None
    notes: tuple[str, ...] = ()
    waited: float = 0.0  # seconds that were our own doing, such as a rate we keep to; no part of the engine's time


Answered = Sequence[Hit] | EngineReply


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """What a session took and said, asked for after the last query; None where it cannot tell."""

    startup_seconds: float | None = None
    store_bytes: int | None = None
    peak_bytes: int | None = None
    version: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Which results are wanted: paths as globs (`src/**`), languages by name; empty is all."""

    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


class Session(Protocol):
    """An engine opened on one corpus."""

    def search(self, query: str, k: int) -> Answered:
        """Give at most k results, best first."""

    def close(self) -> None:
        """Let go of everything; no search follows."""


class Engine(Protocol):
    """Something that finds code. It may also have what `FullEngine` lists; `engines.as_engine` fills that in."""

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

    @property
    def private(self) -> bool:
        """Whether it gets a copy of the corpus of its own, where it may leave what it likes."""

    @property
    def git(self) -> bool:
        """Whether that copy is a git repository with one commit, because the tool wants one."""

    @property
    def parallel(self) -> int:
        """How many questions may be in flight at once."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no record, message or report may hold."""

    @property
    def identity(self) -> str | None:
        """A digest of all that decides its answers beside corpus and question; None where that cannot be known."""

    @property
    def fingerprint(self) -> str:
        """A digest of all that can be seen of it now: other files, another digest; what cannot be seen may change."""


@runtime_checkable
class TimedSession(Protocol):
    """A session that keeps to a time limit by itself, because it can end what it started."""

    def search(self, query: str, k: int) -> Answered:
        """Give at most k results, best first."""

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Search; raise EngineTimeout when the seconds are over, with nothing left running."""

    def close(self) -> None:
        """Let go of everything; no search follows."""


@runtime_checkable
class MeasuredSession(Protocol):
    """A session that knows what it took."""

    def usage(self) -> SessionUsage:
        """Tell it, after the last query and before the end."""


@runtime_checkable
class SessionWithNotes(Protocol):
    """A session of which there is something to tell when all is over."""

    def remarks(self) -> tuple[str, ...]:
        """Say what people must know, after the end."""


@runtime_checkable
class UpdatingSession(Protocol):
    """A session that can follow its files."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Take in that files under the same root changed; raise EngineTimeout when the seconds are over."""


@runtime_checkable
class FilteringSession(Protocol):
    """A session that can be asked for a part of the corpus."""

    @property
    def filters(self) -> frozenset[str]:
        """The fields of `SearchFilter` that it takes."""

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Search among what is wanted only."""


@runtime_checkable
class ExplainingSession(Protocol):
    """A session that can say why its results are where they are. It is asked after a run, never in one."""

    def explain(self, query: str, k: int, also: Sequence[str] = ()) -> Waterfall:
        """Follow the k best candidates through every stage, and those of some files wherever they stand."""


@runtime_checkable
class TimedEngine(Protocol):
    """An engine that keeps to a time limit when it is opened, because it can end what it started."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Get ready for a corpus; raise EngineTimeout when the seconds are over, with nothing left running."""


class InProcessDefaults:
    """What an engine declares that runs in this process, only reads the corpus and knows no secret."""

    __slots__ = ()
    private: bool = False
    git: bool = False
    parallel: int = 1
    secrets: tuple[str, ...] = ()
    identity: str | None = None

    @property
    def fingerprint(self) -> str:
        """All that decides its answers where that is known, else its settings."""
        return self.identity or fingerprint_of(cast(Engine, self).config)


class EngineCrash(EngineError):
    """The process of an engine died by a signal."""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """What an engine may be told besides its settings."""

    suite: Suite | None = None  # the answers, for the oracle and to map run files
    seed: int = 0
    folder: Path = Path()  # what relative paths in its settings start from
    preset: Path | None = None  # the folder of the preset that its settings come from
