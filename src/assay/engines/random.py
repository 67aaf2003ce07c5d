"""Seeded random baseline: the floor of every table.

Files are ordered by a hash with seed and query, so every order is equally likely, and adding or removing a file does
not change the order of the others.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.corpus import read_text
from assay.engines.base import EngineContext, InProcessDefaults, Session
from assay.engines.fingerprints import identity_of
from assay.settings import check_counts, read_settings
from assay.syntax.text import line_bytes
from assay.types import Corpus, Hit, Role


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `kind = "random"`."""

    seed: int = field(default=0, metadata={"about": "seed of the order; default: the seed of the run"})
    window: int = field(
        default=40,  # the size of the reference engine's chunk
        metadata={"about": "lines of a result"},
    )

    def __post_init__(self) -> None:
        check_counts("engine random", window=self.window)


@dataclass(frozen=True, slots=True)
class RandomEngine(InProcessDefaults):
    """Files in random order, each with a random window."""

    settings: Settings
    oversample: int = 1
    role: Role = "floor"
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """Seed, window and method."""
        return {"kind": "random", "draw": "hash", "seed": self.settings.seed, "window": self.settings.window}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        """Configuration and code."""
        return identity_of(self.config, "engines/random.py")

    def open(self, corpus: Corpus) -> Session:
        """Return a session; there is nothing to prepare."""
        return RandomSession(self.settings, corpus, tuple(sorted(file.path for file in corpus.files)))


@dataclass(frozen=True, slots=True)
class RandomDraw:
    """Two independent numbers for one file: its rank and its window."""

    place: int
    window: int


@dataclass(frozen=True, slots=True)
class RandomSession:
    """Random rankings on one corpus, determined by seed and query; the top 5 are a prefix of the top 10."""

    settings: Settings
    corpus: Corpus
    paths: tuple[str, ...]

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Return k distinct files with a window in each."""
        draws = {path: draw(self.settings.seed, query, path) for path in self.paths}
        first = heapq.nsmallest(max(k, 0), self.paths, key=lambda path: (draws[path].place, path))
        return tuple(self._window(path, draws[path].window) for path in first)

    def close(self) -> None:
        """Do nothing."""

    def _window(self, path: str, number: int) -> Hit:
        lines = len(line_bytes(read_text(self.corpus, path)))
        start = 1 + number % (max(lines - self.settings.window, 0) + 1)
        return Hit(path, start, min(start + self.settings.window - 1, lines)) if lines else Hit(path)


def draw(seed: int, query: str, path: str) -> RandomDraw:
    """Hash a path with seed and query; Python's `hash` differs between processes."""
    digest = hashlib.sha256(f"{seed}\0{query}\0{path}".encode("utf-8", "surrogatepass")).digest()
    return RandomDraw(int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big"))


def make(settings: Mapping[str, object], context: EngineContext) -> RandomEngine:
    """Make the engine; the default seed is that of the run."""
    return RandomEngine(read_settings(Settings, {"seed": context.seed, **settings}, "engine random"))
