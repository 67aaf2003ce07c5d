"""The reference engine under test: the only door between the harness and `search/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.engines.base import Context, Session
from assay.search import Index, Per, SearchConfig
from assay.settings import read_settings
from assay.types import Corpus, Hit, Role


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "builtin"` takes."""

    per: Per = field(default="file", metadata={"about": "a result is a whole file, or a span of lines in it"})
    search: SearchConfig = field(default_factory=SearchConfig)


@dataclass(frozen=True, slots=True)
class BuiltinEngine:
    """The reference engine with its settings."""

    settings: Settings
    oversample: int = 1
    role: Role = "contestant"
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """Every number that shapes the ranking."""
        return {"kind": "builtin", "per": self.settings.per, "search": dict(self.settings.search.as_dict())}

    def open(self, corpus: Corpus) -> Session:
        """Build the index from source."""
        return BuiltinSession(Index.build(corpus, self.settings.search), self.settings.per)


@dataclass(frozen=True, slots=True)
class BuiltinSession:
    """An index being asked."""

    index: Index
    per: Per

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Give the k best files or spans."""
        return self.index.search(query, k, per=self.per)

    def close(self) -> None:
        """Have nothing to close: the index is in memory."""


def make(settings: Mapping[str, object], _context: Context) -> BuiltinEngine:
    """Make the engine from its settings."""
    return BuiltinEngine(read_settings(Settings, settings, "engine builtin"))
