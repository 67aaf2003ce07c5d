"""Anything that can search, as an engine."""

from __future__ import annotations

import inspect
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, cast

from assay.engines.base import (
    Answered,
    Engine,
    EngineReply,
    FullEngine,
    InProcessDefaults,
    SearchFilter,
    Session,
    TimedEngine,
    TimedSession,
)
from assay.engines.filters import Filters
from assay.engines.fingerprints import code_in, file_seen, fingerprint_of
from assay.engines.text_answers import read_reply
from assay.errors import ConfigError
from assay.settings import check_counts
from assay.types import Corpus, Role


class ExternalSession(ABC):
    """A session whose every search is one with filters, perhaps with none."""

    filtering: Filters  # those that are declared
    places: Mapping[str, str]  # what templates name

    @abstractmethod
    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Search among what is wanted only; the shorter of the two time limits holds."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""

    @property
    def filters(self) -> frozenset[str]:
        """What it can be asked for a part of."""
        return self.filtering.names

    def search(self, query: str, k: int) -> Answered:
        """Search with no limit but its own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Search in all of the corpus."""
        return self.search_filtered(query, k, SearchFilter(), seconds)


_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+(\w[\w.]*)[ \t]+import\b", re.MULTILINE)


def sources_seen(*modules: str) -> list[tuple[str, str]]:
    """Digest the source files of modules that are imported; one without a file has none."""
    seen: dict[str, str] = {}
    for module in modules:
        home, files = _files_of(module)
        waiting, met, followed = list(files), set[str](), set[str]()
        while waiting:
            path = waiting.pop()
            if path in met:
                continue
            met.add(path)
            seen[os.path.relpath(path, home)] = file_seen(path)
            news = _imported(path, home) - followed  # each module once: a package imports itself all over
            followed |= news
            waiting += [found for name in sorted(news) for found in _lying(name, home)]
    return sorted(seen.items())


def _files_of(module: str) -> tuple[str, list[str]]:
    top = sys.modules.get(module.partition(".")[0])
    places = list(getattr(top, "__path__", ()))
    if places:
        own = getattr(sys.modules.get(module), "__file__", None)
        inside = code_in(places[0]) or ([own] if own else [])
        return os.path.dirname(places[0]), inside
    file = getattr(top, "__file__", None)
    return (os.path.dirname(file), [file]) if file and file.endswith(".py") else ("", [])


def _lying(name: str, home: str) -> list[str]:
    file, folder = os.path.join(home, f"{name}.py"), os.path.join(home, name)
    if os.path.isfile(file):
        return [file]
    return list(code_in(folder)) if os.path.isdir(folder) else []


def _imported(path: str, home: str) -> frozenset[str]:
    """List the first names of all modules that a file imports.

    What is installed imports what is installed: that is not followed.
    """
    if "site-packages" in home.split(os.sep) or not path.endswith(".py"):
        return frozenset()
    try:
        facts = os.stat(path)
        return _names_in(os.path.abspath(path), facts.st_size, facts.st_mtime_ns)
    except OSError:
        return frozenset()


@cache
def _names_in(path: str, _size: int, _time: int) -> frozenset[str]:
    text = Path(path).read_text("utf-8", "replace")
    named = [name for line in _IMPORT.findall(text) for name in line.split(",")]
    return frozenset(name.split()[0].partition(".")[0] for name in [*named, *_FROM.findall(text)] if name.split())


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
    return sources_seen(name_of(thing).partition(":")[0])


@dataclass(frozen=True, slots=True)
class FunctionEngine(InProcessDefaults):
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

    def search(self, query: str, k: int) -> EngineReply:
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
        return cast(Mapping[str, object], getattr(self.engine, "config", {"target": name_of(type(self.engine))}))

    @property
    def oversample(self) -> int:
        return int(getattr(self.engine, "oversample", 1))

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(getattr(self.engine, "notes", ()))

    @property
    def private(self) -> bool:
        return bool(getattr(self.engine, "private", True))

    @property
    def git(self) -> bool:
        return bool(getattr(self.engine, "git", False))

    @property
    def parallel(self) -> int:
        return int(getattr(self.engine, "parallel", 1))

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(getattr(self.engine, "secrets", ()))

    @property
    def identity(self) -> str | None:
        found = getattr(self.engine, "identity", None)
        return None if found is None else str(found)

    @property
    def fingerprint(self) -> str:
        declared = getattr(self.engine, "fingerprint", None) or self.identity
        return str(declared) if declared else fingerprint_of(self.config, _written_in(type(self.engine)))

    def open(self, corpus: Corpus) -> Session:
        return self.engine.open(corpus)


@dataclass(frozen=True, slots=True)
class _TimedDeclared(_Declared):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        return cast(TimedEngine, self.engine).open_within(corpus, seconds)


@dataclass(frozen=True, slots=True)
class _Noted(_Declared):
    """An engine of which there is more to tell than it knows."""

    more: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return (*tuple(getattr(self.engine, "notes", ())), *self.more)


@dataclass(frozen=True, slots=True)
class _TimedNoted(_Noted):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        return cast(TimedEngine, self.engine).open_within(corpus, seconds)
