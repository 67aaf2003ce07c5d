"""What engines share on one corpus: the steps from corpus to ranking, each made once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, cast, runtime_checkable

from assay.engines.base import Session
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.artefacts import Artefacts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the way from corpus to ranking: two engines share it when it and all before it are equal."""

    name: str
    digest: str  # of the settings that decide it
    about: str = ""  # for people, in a few words


@runtime_checkable
class SharingEngine(Protocol):
    """An engine whose variants need not all begin at the beginning."""

    def steps(self) -> tuple[Step, ...]:
        """List the way from corpus to ranking; no corpus is needed for that."""

    def open_shared(self, corpus: Corpus, shelf: Shelf, seconds: float | None) -> Session:
        """Open with what others made; the answers are those of `open`, hit for hit."""


class Shelf:
    """What engines share on one corpus in one process; `artefacts` is what processes and runs share."""

    def __init__(self, corpus: Corpus, artefacts: Artefacts | None = None, *, reuse_index: bool = False) -> None:
        self.corpus = corpus
        self.artefacts = artefacts
        self.reuse_index = reuse_index
        self.made: Counter[str] = Counter()  # steps that were made here, not found
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
