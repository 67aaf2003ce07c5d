"""Engines that differ in a setting or two; those that share an index share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assay.engines import make_engine
from assay.engines.base import Engine, Session, SharedCache
from assay.engines.builtin import BuiltinEngine
from assay.search import Per, SearchConfig
from assay.types import Corpus

Changes = Mapping[str, object]


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


@dataclass(frozen=True, slots=True)
class Shelves:
    """What engines of one process share, a shelf for each corpus."""

    by_corpus: dict[str, SharedCache] = field(default_factory=dict)

    def of(self, corpus: Corpus) -> SharedCache:
        """Give the shelf of a corpus."""
        return self.by_corpus.setdefault(corpus.digest, SharedCache(corpus))


@dataclass(frozen=True, slots=True)
class SharedEngine:
    """The reference engine with what others made: the same answers, without building it again."""

    engine: BuiltinEngine
    shelves: Shelves

    @property
    def config(self) -> Mapping[str, object]:
        """What the engine itself says."""
        return self.engine.config

    def open(self, corpus: Corpus) -> Session:
        """Take from the shelf what is there."""
        return self.engine.open_shared(corpus, self.shelves.of(corpus), None)


def make(one: Variant, per: Per, shelves: Shelves) -> Engine:
    """Make the engine of a variant."""
    if one.kind == "builtin":
        return SharedEngine(BuiltinEngine(one.search, per), shelves)
    if one.kind == "plain":
        from benchmarks.quality.plain import PlainEngine

        return PlainEngine(one.tokens)
    return make_engine("keywords")
