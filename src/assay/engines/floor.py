"""Chance, seeded: the floor that every table carries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.corpus import read_text
from assay.engines.base import Context, Session
from assay.engines.settings import read_settings
from assay.errors import ConfigError
from assay.syntax.tokens import line_bytes
from assay.types import Corpus, Hit


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "random"` takes."""

    seed: int = 0
    window: int = 40
    """Lines of a hit: those of the reference engine's chunk, so that chance pays the same for its size."""

    def __post_init__(self) -> None:
        """Refuse a window without lines."""
        if self.window < 1:
            raise ConfigError(f"engine random: window = {self.window}", hint="it must be 1 or more lines")


@dataclass(frozen=True, slots=True)
class RandomEngine:
    """Files in random order, each with a random window."""

    settings: Settings
    oversample: int = 1
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """Seed and window."""
        return {"kind": "random", "seed": self.settings.seed, "window": self.settings.window}

    def open(self, corpus: Corpus) -> Session:
        """Be ready at once."""
        return RandomSession(self.settings, corpus, tuple(sorted(file.path for file in corpus.files)))


@dataclass(frozen=True, slots=True)
class RandomSession:
    """Chance on one corpus. The same seed and words give the same answer, and the top 5 are a prefix of the top 10."""

    settings: Settings
    corpus: Corpus
    paths: tuple[str, ...]

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Draw k distinct files, then a window in each."""
        rng = generator(self.settings.seed, query)
        order = rng.permutation(len(self.paths))[: max(k, 0)]
        return tuple(self._draw_window(self.paths[n], rng) for n in order)

    def close(self) -> None:
        """Have nothing to close."""

    def _draw_window(self, path: str, rng: np.random.Generator) -> Hit:
        """Draw where a window begins so that it lies inside the file; an empty file has none."""
        lines = len(line_bytes(read_text(self.corpus, path)))
        start = int(rng.integers(1, max(lines - self.settings.window, 0) + 2))
        return Hit(path, start, min(start + self.settings.window - 1, lines)) if lines else Hit(path)


def generator(seed: int, query: str) -> np.random.Generator:
    """Seed a generator by a number and a text; Python's own `hash` differs from process to process."""
    digest = hashlib.sha256(f"{seed}\0{query}".encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def make(settings: Mapping[str, object], context: Context) -> RandomEngine:
    """Make the engine; its seed is the run's unless it has its own."""
    return RandomEngine(read_settings(Settings, {"seed": context.seed, **settings}, "engine random"))
