"""What engines share on one corpus: the steps from corpus to ranking, each made once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, cast, runtime_checkable

from assay.digests import digest_of
from assay.engines.base import Engine, FullEngine, Session, TimedEngine, TimedSession
from assay.store.paths import TABLES, VECTORS
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.store import ArtifactStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A step on the way from corpus to ranking: two engines share it when it and all before it are equal."""

    name: str
    digest: str  # of the settings that decide it
    about: str = ""  # for people, in a few words


@runtime_checkable
class SharingEngine(Protocol):
    """An engine whose variants need not all begin at the beginning."""

    def steps(self) -> tuple[SharedStep, ...]:
        """List the way from corpus to ranking; no corpus is needed for that."""

    def open_shared(self, corpus: Corpus, shelf: SharedCache, seconds: float | None) -> Session:
        """Open with what others made; the answers are those of `open`, hit for hit."""


class SharedCache:
    """What engines share on one corpus in one process; `artefacts` is what processes and runs share."""

    def __init__(self, corpus: Corpus, artefacts: ArtifactStore | None = None, *, reuse_index: bool = False) -> None:
        self.corpus = corpus
        self.artefacts = artefacts
        self.reuse_index = reuse_index
        self.made: Counter[str] = Counter()  # steps that were made here, not found
        self.moved = False  # whether a file was seen that is not what the corpus says it is
        self._things: dict[str, object] = {}
        self._lock = threading.RLock()
        self._closing = ExitStack()

    def once(self, key: str, make: Callable[[], T], close: Callable[[T], None] | None = None) -> T:
        """Give what stands under a key, made by whoever asks first."""
        with self._lock:
            if key not in self._things:
                made = make()
                self._things[key] = made
                if close is not None:
                    self._closing.callback(close, made)
            return cast(T, self._things[key])

    def close(self) -> None:
        """Let go of everything, the last first."""
        with self._lock:
            self._things.clear()
            self._closing.close()


def sharing(engine: object) -> SharingEngine | None:
    """Find the engine that can share, under what was wrapped around it."""
    while not isinstance(engine, SharingEngine):
        inner = getattr(engine, "engine", None)
        if inner is None:
            return None
        engine = inner
    return engine


@dataclass(frozen=True, slots=True)
class _CachedEngine:
    """An engine that is opened with what others made."""

    engine: SharingEngine
    shelf: SharedCache
    config: Mapping[str, object]

    def open(self, corpus: Corpus) -> Session:
        return self.engine.open_shared(corpus, self.shelf, None)


@dataclass(frozen=True, slots=True)
class _TimedOnShelf(_CachedEngine):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        return cast(TimedSession, self.engine.open_shared(corpus, self.shelf, seconds))


def with_cache(engine: FullEngine, shelf: SharedCache | None) -> Engine:
    """Give an engine that takes from a shelf what is there; one that cannot share stays as it is."""
    shares = sharing(engine)
    if shelf is None or shares is None:
        return engine
    return (_TimedOnShelf if isinstance(engine, TimedEngine) else _CachedEngine)(shares, shelf, engine.config)


def corpus_copy(session: object) -> Corpus | None:
    """Tell on which copy of the corpus a session works, where it shares one."""
    found = getattr(session, "shared_corpus", None)
    return found if isinstance(found, Corpus) else None


def step_key(corpus: str, steps: Sequence[SharedStep]) -> str:
    """Name what the last of some steps makes of a corpus, given by its digest: all steps before it decide it too."""
    way = [[step.name, step.digest] for step in steps]
    return digest_of([corpus, way])


#: The kinds of artefact that steps leave whatever is asked for; other steps live as long as the process.
STEP_KINDS: Mapping[str, str] = {"chunks": TABLES.name, "vectors": VECTORS.name}


def kept_steps(engine: SharingEngine, corpus: str, artefacts: ArtifactStore) -> frozenset[str]:
    """Name the steps of an engine whose work on a corpus is kept."""
    steps = engine.steps()
    return frozenset(
        step.name
        for number, step in enumerate(steps, start=1)
        if step.name in STEP_KINDS and artefacts.has(STEP_KINDS[step.name], step_key(corpus, steps[:number]))
    )
