"""Steps from corpus to ranking that engines share on one corpus, each made once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, cast, runtime_checkable

from assay.digests import digest_of
from assay.engines.base import Engine, FullEngine, Handle, Session, TimedEngine
from assay.store.paths import TABLES, VECTORS
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.store import ArtifactStore

T = TypeVar("T")
#: Steps whose results are always cached, by artifact kind; other steps live as long as the process.
STEP_KINDS: Mapping[str, str] = {"chunks": TABLES.name, "vectors": VECTORS.name}


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A step from corpus to ranking; two engines share it if it and all steps before it are equal."""

    name: str
    digest: str  # of the settings that decide it
    about: str = ""  # a few words for the report


@runtime_checkable
class SharingEngine(Protocol):
    """An engine whose variants can share steps."""

    def steps(self) -> tuple[SharedStep, ...]:
        """List the steps from corpus to ranking; needs no corpus."""

    def open_shared(self, corpus: Corpus, shelf: SharedCache, seconds: float | None) -> Session:
        """Open with cached steps; the hits equal those of `open`."""


class SharedCache:
    """Steps that engines share on one corpus in one process; `artefacts` is shared by processes and runs."""

    def __init__(self, corpus: Corpus, artefacts: ArtifactStore | None = None, *, reuse_index: bool = False) -> None:
        self.corpus = corpus
        self.artefacts = artefacts
        self.reuse_index = reuse_index
        self.made: Counter[str] = Counter()  # steps that were made here, not found
        self.moved = False  # whether a file was found to differ from the corpus
        self._things: dict[str, object] = {}
        self._lock = threading.RLock()
        self._closing = ExitStack()

    def once(self, key: str, make: Callable[[], T], close: Callable[[T], None] | None = None) -> T:
        """Return the value of a key; the first caller makes it."""
        with self._lock:
            if key not in self._things:
                made = make()
                self._things[key] = made
                if close is not None:
                    self._closing.callback(close, made)
            return cast(T, self._things[key])

    def close(self) -> None:
        """Release everything, the last first."""
        with self._lock:
            self._things.clear()
            self._closing.close()


def sharing(engine: object) -> SharingEngine | None:
    """Return the engine inside handles that can share steps, None if it cannot."""
    while type(engine) is Handle:
        engine = engine.inner
    return engine if isinstance(engine, SharingEngine) else None


@dataclass(frozen=True)
class _CachedEngine:
    """An engine that is opened with shared steps."""

    engine: SharingEngine
    shelf: SharedCache
    config: Mapping[str, object]

    def __post_init__(self) -> None:
        if isinstance(self.engine, TimedEngine):
            object.__setattr__(self, "open_within", self._open_within)

    def open(self, corpus: Corpus) -> Session:
        return self.engine.open_shared(corpus, self.shelf, None)

    def _open_within(self, corpus: Corpus, seconds: float | None) -> Session:
        return self.engine.open_shared(corpus, self.shelf, seconds)


def with_cache(engine: FullEngine, shelf: SharedCache | None) -> Engine:
    """Return the engine opened with shared steps; unchanged if it cannot share."""
    shares = sharing(engine)
    return engine if shelf is None or shares is None else _CachedEngine(shares, shelf, engine.config)


def step_key(corpus: str, steps: Sequence[SharedStep]) -> str:
    """Return the key of the last step's result on a corpus, given by its digest; earlier steps are part of it."""
    return digest_of([corpus, [[step.name, step.digest] for step in steps]])


def kept_steps(engine: SharingEngine, corpus: str, artefacts: ArtifactStore) -> frozenset[str]:
    """Return the names of an engine's steps whose results on a corpus are cached."""
    steps = engine.steps()
    return frozenset(
        step.name
        for number, step in enumerate(steps, start=1)
        if step.name in STEP_KINDS and artefacts.has(STEP_KINDS[step.name], step_key(corpus, steps[:number]))
    )
