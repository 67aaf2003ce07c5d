"""What a person with grep does: the words of the question, files by how many of them they hold.

A match is an occurrence of the word anywhere, inside other words too, whatever the case. Files are ranked by distinct
words, then by occurrences, then by path. Who counts (ripgrep, git grep, Python) makes no difference to the ranking.
"""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from assay.corpus import read_bytes
from assay.engines.base import Context, InHouse, Session, Usage
from assay.engines.identity import identity_of
from assay.engines.keywords.counting import GitCounter, PythonCounter, RipgrepCounter, WordCounter, find_tool, fold
from assay.engines.keywords.windows import densest_window
from assay.errors import ConfigError
from assay.settings import check_counts, read_settings
from assay.syntax.identifiers import STOP_WORDS
from assay.types import Corpus, Hit, Role

Backend = Literal["auto", "rg", "git", "python"]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "keywords"` takes."""

    # No part of the engine's identity, because the ranking is the same.
    backend: Backend = field(default="auto", metadata={"about": "who counts the words; the ranking is the same"})
    window: int = field(
        default=40,  # the same size as the reference engine's chunk
        metadata={"about": "lines of a result: those with the most distinct words"},
    )
    shortest: int = field(
        default=2, metadata={"about": "characters of the shortest word looked for: one letter stands in every file"}
    )
    cached_words: int = field(
        default=4096,  # queries of one suite share most of theirs
        metadata={"about": "words whose counts are kept in memory; no effect on the ranking"},
    )

    def __post_init__(self) -> None:
        """Refuse numbers without a meaning."""
        check_counts("engine keywords", window=self.window, shortest=self.shortest, cached_words=self.cached_words)


@dataclass(frozen=True, slots=True)
class KeywordsEngine(InHouse):
    """grep for every word of the query."""

    settings: Settings
    oversample: int = 1
    role: Role = "yardstick"

    @property
    def config(self) -> Mapping[str, object]:
        """What shapes the ranking: not who counts."""
        return {"kind": "keywords", "window": self.settings.window, "shortest": self.settings.shortest}

    @property
    def notes(self) -> tuple[str, ...]:
        """Who counts on this machine."""
        return (f"words counted by {choose_backend(self.settings.backend)}",)

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed when asked for
        """Settings, code, and the tool that counts, which is another when its file is."""
        backend = choose_backend(self.settings.backend)
        return identity_of(self.config, "engines/keywords", facts=[backend, _tool_facts(backend)])

    def open(self, corpus: Corpus) -> Session:
        """Get a counter ready."""
        counters: dict[str, Callable[[Corpus], WordCounter]] = {
            "rg": RipgrepCounter,
            "git": GitCounter,
            "python": PythonCounter,
        }
        return KeywordsSession(self.settings, corpus, counters[choose_backend(self.settings.backend)](corpus))


class KeywordsSession:
    """Word counts on one corpus, each word counted once."""

    def __init__(self, settings: Settings, corpus: Corpus, counter: WordCounter) -> None:
        self._settings = settings
        self._corpus = corpus
        self._counter = counter
        self._count = lru_cache(settings.cached_words)(counter.count)

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Rank the files that hold any word of the query."""
        words = query_keywords(query, self._settings.shortest)
        distinct: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for word in words:
            counts = self._count(word)
            distinct.update(counts.keys())
            total.update(counts)
        ranked = heapq.nsmallest(max(k, 0), distinct, key=lambda path: (-distinct[path], -total[path], path))
        return tuple(self._hit(path, words, _score(distinct[path], total[path])) for path in ranked)

    def usage(self) -> Usage:
        """Tell what the programs took that count; what counts in this process is seen from outside."""
        return Usage(peak_bytes=self._counter.peak_bytes)

    def close(self) -> None:
        """Forget the counts."""
        self._count.cache_clear()

    def _hit(self, path: str, words: Sequence[str], score: float) -> Hit:
        """Point to the window of the file that holds most of the words."""
        window = densest_window(fold(read_bytes(self._corpus, path)), words, self._settings.window)
        return Hit(path, window.start, window.end, score)


def _score(distinct: int, total: int) -> float:
    """Say the order in one number: distinct words first, then matches; equal only where both are."""
    return distinct + total / (total + 1)


def query_keywords(query: str, shortest: int) -> list[str]:
    """List a query's distinct words, lower-cased; stop words and single letters only when there is nothing else."""
    every = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    telling = [word for word in every if word not in STOP_WORDS and len(word) >= shortest]
    return telling or every


def choose_backend(wanted: Backend) -> Literal["rg", "git", "python"]:
    """Take the backend that is asked for, or the first there is."""
    if wanted != "auto":
        if wanted != "python" and find_tool(wanted) is None:
            raise ConfigError(f"engine keywords: {wanted} is not installed", hint='install it, or backend = "auto"')
        return wanted
    return "rg" if find_tool("rg") else "git" if find_tool("git") else "python"


def _tool_facts(backend: str) -> list[object]:
    """Tell one version of a tool from another without starting it."""
    path = None if backend == "python" else find_tool(backend)
    if path is None:
        return []
    facts = os.stat(path)
    return [path, facts.st_size, facts.st_mtime_ns]


def make(settings: Mapping[str, object], _context: Context) -> KeywordsEngine:
    """Make the engine from its settings; a backend that is asked for and missing is told at once."""
    read = read_settings(Settings, settings, "engine keywords")
    choose_backend(read.backend)
    return KeywordsEngine(read)
