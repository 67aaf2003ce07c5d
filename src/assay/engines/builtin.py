"""The reference engine under test: the only door between the harness and `search/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.engines.base import Context, InHouse, Session, Wanted
from assay.search import Index, Per, SearchConfig
from assay.settings import read_settings
from assay.types import Corpus, Hit, Role


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "builtin"` takes."""

    per: Per = field(default="file", metadata={"about": "a result is a whole file, or a span of lines in it"})
    search: SearchConfig = field(default_factory=SearchConfig)


@dataclass(frozen=True, slots=True)
class BuiltinEngine(InHouse):
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


class BuiltinSession:
    """An index being asked."""

    filters = frozenset({"paths", "languages"})

    def __init__(self, index: Index, per: Per) -> None:
        self._index = index
        self._per = per

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Give the k best files or spans."""
        return self._index.search(query, k, per=self._per)

    def search_filtered(self, query: str, k: int, wanted: Wanted, _seconds: float | None) -> Sequence[Hit]:
        """Give the k best of those that are wanted."""
        return self._index.search(query, k, per=self._per, paths=wanted.paths, languages=wanted.languages)

    def update_within(self, corpus: Corpus, _seconds: float | None) -> None:
        """Take in what changed."""
        self._index = self._index.updated(corpus)

    def close(self) -> None:
        """Have nothing to close: the index is in memory."""


def make(settings: Mapping[str, object], _context: Context) -> BuiltinEngine:
    """Make the engine from its settings."""
    return BuiltinEngine(read_settings(Settings, settings, "engine builtin"))
