"""Anything that can search, as an engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from assay.engines.base import Engine, FullEngine, InHouse, Reply, Session, TimedEngine, TimedSession
from assay.engines.fingerprints import fingerprint_of
from assay.engines.reading.hits import read_reply
from assay.engines.sources import sources_seen
from assay.errors import ConfigError
from assay.settings import check_counts
from assay.types import Corpus, Role

Search = Callable[..., object]
#: How a search function is called: f(query, k), f(query, k=k) or f(query).
CallStyle = Literal["positional", "keyword", "query"]
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
    """Return an engine with defaults for what it does not declare; wrap a callable (query, k) or (query)."""
    if isinstance(thing, type):
        raise ConfigError(f"{thing.__name__} is a class", hint=f"pass an instance: {thing.__name__}(...)")
    if callable(getattr(thing, "open", None)):
        declared = all(hasattr(type(thing), name) or hasattr(thing, name) for name in _DECLARED)
        wrapper = _TimedDeclared if isinstance(thing, TimedEngine) else _Declared
        engine = cast(FullEngine, thing) if declared else wrapper(cast(Engine, thing))
        check_counts(f"engine {name_of(type(thing))}", oversample=engine.oversample, parallel=engine.parallel)
        return engine
    if not callable(thing):
        raise ConfigError(
            f"{thing!r:.80} is not an engine",
            hint="an engine has open(corpus), or is a callable (query, k) or (query) that returns results",
        )
    style = call_style(thing)
    if style is None:
        raise bad_signature(thing)
    return FunctionEngine(thing, style)


def call_style(function: Search) -> CallStyle | None:
    """Return how to call a search function, None if it takes neither (query, k) nor (query).

    A parameter named k gets k; otherwise a second positional parameter does, unless its default shows that it is
    something else, such as a model's name or a threshold.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C, without a signature
        return "positional"
    if "k" in list(signature.parameters)[1:] and _accepts(signature, "query", k=10):
        return "keyword"
    positional = [one for one in signature.parameters.values() if one.kind in _POSITIONAL]
    default = positional[1].default if len(positional) > 1 else None
    may_be_k = default is None or default is inspect.Parameter.empty or type(default) is int
    if may_be_k and _accepts(signature, "query", 10):
        return "positional"
    return "query" if _accepts(signature, "query") else None


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _accepts(signature: inspect.Signature, *args: object, **kwargs: object) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def bad_signature(function: Search) -> ConfigError:
    """Return the error for a callable that can be called neither as (query, k) nor as (query)."""
    signature = inspect.signature(function)
    name = getattr(function, "__name__", type(function).__name__)
    makes = f", or pass {name}() if it makes an engine" if _accepts(signature) else ""
    return ConfigError(
        f"{name_of(function)}{signature} is not a search function: it takes neither (query, k) nor (query)",
        hint=f"define it as {name}(query, k) or {name}(query){makes}",
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
    """A callable (query, k) or (query) that returns a list of Hit, path, 'path:10-20' or mapping."""

    function: Search
    style: CallStyle = "positional"
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
        return FunctionSession(self.function, self.style)


@dataclass(frozen=True, slots=True)
class FunctionSession:
    """A callable being queried."""

    function: Search
    style: CallStyle

    def search(self, query: str, k: int) -> Reply:
        """Call the function and read what it returns; one that takes no k may return more, which is cut."""
        if self.style == "query":
            reply = read_reply(self.function(query))
            return replace(reply, hits=reply.hits[:k])
        return read_reply(self.function(query, k) if self.style == "positional" else self.function(query, k=k))

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
