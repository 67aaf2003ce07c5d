"""Chance, seeded: the floor that every table carries.

A file's place is its hash with the seed and the query, so every order of the files is as likely as any other, and a
file that comes or goes moves no other: the floor of a corpus does not jump because of one stray file.
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
    """What `kind = "random"` takes."""

    seed: int = field(default=0, metadata={"about": "another seed is another draw; by default the seed of the run"})
    window: int = field(
        default=40,  # those of the reference engine's chunk, so that chance pays the same for its size
        metadata={"about": "lines of a result"},
    )

    def __post_init__(self) -> None:
        """Refuse a window without lines."""
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
        """Seed and window, and how it draws."""
        return {"kind": "random", "draw": "hash", "seed": self.settings.seed, "window": self.settings.window}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed when asked for
        """Seed, window and code."""
        return identity_of(self.config, "engines/random.py")

    def open(self, corpus: Corpus) -> Session:
        """Be ready at once."""
        return RandomSession(self.settings, corpus, tuple(sorted(file.path for file in corpus.files)))


@dataclass(frozen=True, slots=True)
class RandomDraw:
    """Two independent numbers for one file: its place in the order, and its window."""

    place: int
    window: int


@dataclass(frozen=True, slots=True)
class RandomSession:
    """Chance on one corpus. The same seed and words give the same answer, and the top 5 are a prefix of the top 10."""

    settings: Settings
    corpus: Corpus
    paths: tuple[str, ...]

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Draw k distinct files, then a window in each."""
        draws = {path: draw(self.settings.seed, query, path) for path in self.paths}
        first = heapq.nsmallest(max(k, 0), self.paths, key=lambda path: (draws[path].place, path))
        return tuple(self._window(path, draws[path].window) for path in first)

    def close(self) -> None:
        """Have nothing to close."""

    def _window(self, path: str, number: int) -> Hit:
        lines = len(line_bytes(read_text(self.corpus, path)))
        start = 1 + number % (max(lines - self.settings.window, 0) + 1)
        return Hit(path, start, min(start + self.settings.window - 1, lines)) if lines else Hit(path)


def draw(seed: int, query: str, path: str) -> RandomDraw:
    """Hash a file's name with seed and query; Python's own `hash` differs from process to process."""
    digest = hashlib.sha256(f"{seed}\0{query}\0{path}".encode("utf-8", "surrogatepass")).digest()
    return RandomDraw(int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big"))


def make(settings: Mapping[str, object], context: EngineContext) -> RandomEngine:
    """Make the engine; its seed is the run's unless it has its own."""
    return RandomEngine(read_settings(Settings, {"seed": context.seed, **settings}, "engine random"))
