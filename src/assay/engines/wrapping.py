"""Anything that can search, as an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from assay.engines.base import Answered, Engine, FullEngine, InHouse, Session, TimedEngine, TimedSession
from assay.engines.fingerprints import fingerprint_of
from assay.engines.reading.hits import read_reply
from assay.engines.sources import sources_seen
from assay.errors import ConfigError
from assay.settings import check_counts
from assay.types import Corpus, Role

Search = Callable[[str, int], object]
_DECLARED = (
    "config",
    "oversample",
    "notes",
    "role",
    "private",
    "git",
    "parallel",
    "secrets",
    "identity",
    "fingerprint",
)


def as_engine(thing: Engine | Search) -> FullEngine:
    """Give an engine as it is, with what it did not declare filled in; wrap a callable (query, k) -> results."""
    if isinstance(thing, type):
        raise ConfigError(f"{thing.__name__} is a class", hint=f"pass an instance: {thing.__name__}(...)")
    if callable(getattr(thing, "open", None)):
        declared = all(hasattr(type(thing), name) or hasattr(thing, name) for name in _DECLARED)
        wrapper = _TimedDeclared if isinstance(thing, TimedEngine) else _Declared
        engine = cast(FullEngine, thing) if declared else wrapper(cast(Engine, thing))
        check_counts(f"engine {name_of(type(thing))}", oversample=engine.oversample, parallel=engine.parallel)
        return engine
    if callable(thing):
        return FunctionEngine(thing)
    raise ConfigError(
        f"{thing!r:.80} is no engine", hint="an engine has open(corpus), or is a callable (query, k) -> results"
    )


def with_notes(engine: FullEngine, notes: tuple[str, ...]) -> FullEngine:
    """Give the same engine with more to tell."""
    wrapper = _TimedNoted if isinstance(engine, TimedEngine) else _Noted
    return wrapper(engine, engine.role, notes)


def name_of(thing: object) -> str:
    """Name a callable by where it comes from."""
    kind = type(thing)
    module = getattr(thing, "__module__", kind.__module__)
    return f"{module}:{getattr(thing, '__qualname__', kind.__qualname__)}"


def _written_in(thing: object) -> list[tuple[str, str]]:
    """Look at the source files of a callable or class."""
    return sources_seen(name_of(thing).partition(":")[0])


@dataclass(frozen=True, slots=True)
class FunctionEngine(InHouse):
    """A callable (query, k) -> list of Hit, path, 'path:10-20' or mapping."""

    function: Search
    oversample: int = 1
    role: Role = "contestant"
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """Where the function comes from; what it does is its own affair."""
        return {"kind": "python", "target": name_of(self.function)}

    @property
    def fingerprint(self) -> str:
        """Where it comes from, and the files that it is written in."""
        return fingerprint_of(self.config, _written_in(self.function))

    def open(self, corpus: Corpus) -> Session:  # noqa: ARG002 - the protocol gives it
        """Be ready at once; a function knows its corpus by itself."""
        return FunctionSession(self.function)


@dataclass(frozen=True, slots=True)
class FunctionSession:
    """A callable being asked."""

    function: Search

    def search(self, query: str, k: int) -> Answered:
        """Call the function and read what it returns."""
        return read_reply(self.function(query, k))

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

    @property
    def private(self) -> bool:
        """What it declares, else yes: nobody knows what a stranger leaves behind."""
        return bool(getattr(self.engine, "private", True))

    @property
    def git(self) -> bool:
        """What it declares, else no."""
        return bool(getattr(self.engine, "git", False))

    @property
    def parallel(self) -> int:
        """What it declares, else one after the other."""
        return int(getattr(self.engine, "parallel", 1))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What it declares, else none."""
        return tuple(getattr(self.engine, "secrets", ()))

    @property
    def identity(self) -> str | None:
        """What it declares, else that nobody knows."""
        found = getattr(self.engine, "identity", None)
        return None if found is None else str(found)

    @property
    def fingerprint(self) -> str:
        """What it declares, else its identity, else its settings and the files that it is written in."""
        declared = getattr(self.engine, "fingerprint", None) or self.identity
        return str(declared) if declared else fingerprint_of(self.config, _written_in(type(self.engine)))

    def open(self, corpus: Corpus) -> Session:
        """Open the engine itself."""
        return self.engine.open(corpus)


@dataclass(frozen=True, slots=True)
class _TimedDeclared(_Declared):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Open the engine itself, in time."""
        return cast(TimedEngine, self.engine).open_within(corpus, seconds)


@dataclass(frozen=True, slots=True)
class _Noted(_Declared):
    """An engine of which there is more to tell than it knows."""

    more: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What it says, and the rest."""
        return (*tuple(getattr(self.engine, "notes", ())), *self.more)


@dataclass(frozen=True, slots=True)
class _TimedNoted(_Noted):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Open the engine itself, in time."""
        return cast(TimedEngine, self.engine).open_within(corpus, seconds)
