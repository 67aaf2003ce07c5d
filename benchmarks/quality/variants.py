"""Engines that differ in a setting or two; those that share an index share it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from assay.engines import make_engine
from assay.engines.base import Engine, Session
from assay.engines.builtin import BuiltinEngine, BuiltinSession, Settings
from assay.search import Index, Per, SearchConfig
from assay.search.embedding import embed_table
from assay.search.meaning import Dense, Meaning
from assay.search.models import DenseSettings, TranslationSettings
from assay.search.tables import Table
from assay.search.translating import make_translator
from assay.search.view import View
from assay.types import Corpus

Changes = Mapping[str, object]

_WORDS: Final = DenseSettings(model="")
_AS_ASKED: Final = TranslationSettings(model="")
_EMBEDDING: Final = (
    "model", "docs_model", "vectors", "path", "reach", "token_env", "query_prefix", "code_prefix", "docs_prefix",
)  # fmt: skip


def configure(changes: Changes) -> SearchConfig:
    """Change settings of the default, named with dots."""
    config: Any = SearchConfig()
    for name, value in changes.items():
        config = _changed(config, name.split("."), value)
    assert isinstance(config, SearchConfig)
    return config


def _changed(record: Any, names: list[str], value: object) -> Any:  # noqa: ANN401 - any settings record
    """Change one setting of a record or of a record in it."""
    inner = value if len(names) == 1 else _changed(getattr(record, names[0]), names[1:], value)
    return replace(record, **{names[0]: inner})


def default_of(name: str) -> Any:  # noqa: ANN401 - a setting is any value
    """Look a setting of the default up."""
    value: Any = SearchConfig()
    for part in name.split("."):
        value = getattr(value, part)
    return value


@dataclass(frozen=True, slots=True)
class Variant:
    """An engine by name: the reference engine with changes, a plain BM25, or grep."""

    name: str
    changes: tuple[tuple[str, object], ...] = ()
    kind: Literal["builtin", "plain", "keywords"] = "builtin"
    tokens: str = "words"  # of a plain one

    @property
    def search(self) -> SearchConfig:
        """The settings of a builtin one."""
        return configure(dict(self.changes))


def variant(name: str, changes: Changes) -> Variant:
    """Make a variant of the reference engine."""
    return Variant(name, tuple(changes.items()))


@dataclass(slots=True)
class Shelf:
    """Indexes of one process: each built once, embedded once by each model, and seen once in each way."""

    built: dict[Hashable, Index] = field(default_factory=dict)
    embedded: dict[Hashable, tuple[Meaning, ...]] = field(default_factory=dict)
    views: dict[Hashable, View] = field(default_factory=dict)

    def index(self, corpus: Corpus, config: SearchConfig) -> Index:
        """Give the index with these settings; only those that shape it make another."""
        shape = (corpus.digest, config.index)
        if shape not in self.built:
            self.built[shape] = Index.build(corpus, replace(config, dense=_WORDS, translation=_AS_ASKED), workers=1)
        index = self.built[shape]
        key = (shape, config.graph, config.dense, config.translation)
        if key not in self.views:
            dense = self._dense(shape, index.table, config.dense)
            self.views[key] = View(index.table, config.graph, dense, make_translator(config.translation))
        return replace(index, config=config, view=self.views[key])

    def _dense(self, shape: Hashable, table: Table, settings: DenseSettings) -> Dense | None:
        """Give the vectors of a table; only settings that shape them make others."""
        key = (shape, *(getattr(settings, name) for name in _EMBEDDING))
        if key not in self.embedded:
            dense = embed_table(table, settings, None)
            self.embedded[key] = dense.parts if dense else ()
        return Dense(settings, self.embedded[key], len(table.units)) if settings.model else None


@dataclass(frozen=True, slots=True)
class SharedEngine:
    """The reference engine on a shared index: the same answers, without building it again."""

    settings: Settings
    shelf: Shelf

    @property
    def config(self) -> Mapping[str, object]:
        """What the engine itself would say."""
        return BuiltinEngine(self.settings).config

    def open(self, corpus: Corpus) -> Session:
        """Take the index from the shelf."""
        return BuiltinSession(self.shelf.index(corpus, self.settings.search), self.settings.per)


def make(one: Variant, per: Per, shelf: Shelf) -> Engine:
    """Make the engine of a variant."""
    if one.kind == "builtin":
        return SharedEngine(Settings(per, one.search), shelf)
    if one.kind == "plain":
        from benchmarks.quality.plain import PlainEngine

        return PlainEngine(one.tokens)
    return make_engine("keywords")
