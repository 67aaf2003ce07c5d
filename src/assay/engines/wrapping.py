"""Anything that can search, as an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from assay.engines.base import Engine, FullEngine, Session, TimedEngine, TimedSession
from assay.engines.hits import read_hits
from assay.errors import ConfigError
from assay.settings import check_counts
from assay.types import Corpus, Hit, Role

Search = Callable[[str, int], object]


def as_engine(thing: Engine | Search) -> FullEngine:
    """Give an engine as it is, with what it did not declare filled in; wrap a callable (query, k) -> results."""
    if isinstance(thing, type):
        raise ConfigError(f"{thing.__name__} is a class", hint=f"pass an instance: {thing.__name__}(...)")
    if callable(getattr(thing, "open", None)):
        declared = all(hasattr(thing, name) for name in ("config", "oversample", "notes", "role"))
        wrapper = _TimedDeclared if isinstance(thing, TimedEngine) else _Declared
        engine = cast(FullEngine, thing) if declared else wrapper(cast(Engine, thing))
        check_counts(f"engine {name_of(type(thing))}", oversample=engine.oversample)
        return engine
    if callable(thing):
        return FunctionEngine(thing)
    raise ConfigError(
        f"{thing!r:.80} is no engine", hint="an engine has open(corpus), or is a callable (query, k) -> results"
    )


def name_of(thing: object) -> str:
    """Name a callable by where it comes from."""
    kind = type(thing)
    module = getattr(thing, "__module__", kind.__module__)
    return f"{module}:{getattr(thing, '__qualname__', kind.__qualname__)}"


@dataclass(frozen=True, slots=True)
class FunctionEngine:
    """A callable (query, k) -> list of Hit, path, 'path:10-20' or mapping."""

    function: Search
    oversample: int = 1
    role: Role = "contestant"
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """Where the function comes from; what it does is its own affair."""
        return {"kind": "python", "target": name_of(self.function)}

    def open(self, corpus: Corpus) -> Session:  # noqa: ARG002 - the protocol gives it
        """Be ready at once; a function knows its corpus by itself."""
        return FunctionSession(self.function)


@dataclass(frozen=True, slots=True)
class FunctionSession:
    """A callable being asked."""

    function: Search

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Call the function and read what it returns."""
        return read_hits(self.function(query, k))

    def close(self) -> None:
        """Have nothing to close."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """An engine whose author left out what may be left out."""

    engine: Engine
    role: Role = "contestant"

    @property
    def config(self) -> Mapping[str, object]:
        """Its own settings, or its class where it has none."""
        return cast(Mapping[str, object], getattr(self.engine, "config", {"target": name_of(type(self.engine))}))

    @property
    def oversample(self) -> int:
        """What it declares, else 1."""
        return int(getattr(self.engine, "oversample", 1))

    @property
    def notes(self) -> tuple[str, ...]:
        """What it says, else nothing."""
        return tuple(getattr(self.engine, "notes", ()))

    def open(self, corpus: Corpus) -> Session:
        """Open the engine itself."""
        return self.engine.open(corpus)


@dataclass(frozen=True, slots=True)
class _TimedDeclared(_Declared):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Open the engine itself, in time."""
        return cast(TimedEngine, self.engine).open_within(corpus, seconds)
