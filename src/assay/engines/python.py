"""Python functions, classes and factories as engines, and engine objects that are passed to the library."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Literal, cast

from assay.engines.base import Engine, EngineContext, EngineReply, FullEngine, Handle, InProcessDefaults, Session
from assay.engines.fingerprints import digest_modules, digest_path, fingerprint_of, qualified_name
from assay.engines.output import read_reply
from assay.errors import AssayError, ConfigError, EngineError
from assay.settings import check_counts, read_settings
from assay.types import Corpus, Role

Search = Callable[..., object]
#: How a search function is called: f(query, k), f(query, k=k) or f(query).
CallStyle = Literal["positional", "keyword", "query"]
DECLARED = (
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
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `kind = "python"`."""

    target: str = field(
        metadata={"about": "module:callable: a search function (query, k) or (query), an engine, or what makes one"}
    )
    folder: str = field(default=".", metadata={"about": "where its module is, besides installed packages"})
    options: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "arguments for a class or factory; recorded, so no secrets"}
    )
    oversample: int | None = field(
        default=None,
        metadata={"about": "how many times k results to request, instead of what the engine declares; printed"},
    )

    def __post_init__(self) -> None:
        check_counts("engine python", oversample=1 if self.oversample is None else self.oversample)
        module, colon, name = self.target.partition(":")
        if not (module and colon and name):
            raise ConfigError(
                f"engine python: target {self.target!r}", hint="write module:callable, as in my.search:find"
            )


def make(settings: Mapping[str, object], context: EngineContext) -> PythonEngine:
    """Import the target and make an engine of it."""
    read = read_settings(Settings, settings, "engine python")
    return PythonEngine(_build(_import(read, context.folder), read), settings=read)


@dataclass(frozen=True)
class PythonEngine(Handle):
    """A target that was imported when the engine was made."""

    settings: Settings = field(kw_only=True)

    @property
    def config(self) -> Mapping[str, object]:
        """The target, its options, and the configuration of the engine."""
        own = {"kind": "python", "target": self.settings.target, "options": dict(self.settings.options)}
        return {**own, "oversample": self.oversample, "engine": dict(self.inner.config)}

    @property
    def oversample(self) -> int:
        """The setting, else what the engine declares."""
        return super().oversample if self.settings.oversample is None else self.settings.oversample

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the engine, the source files of its module, and files that its options name."""
        texts = [value for value in self.settings.options.values() if isinstance(value, str)]
        files = [[text, digest_path(text)] for text in texts if os.path.isfile(text)]
        module = self.settings.target.partition(":")[0]
        return fingerprint_of(self.config, super().fingerprint, digest_modules(module), files)


def _import(settings: Settings, base: Path) -> object:
    folder = str((base / settings.folder).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # stays there: the user's code may import more when it is called
    module, _, name = settings.target.partition(":")
    try:
        found: object = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as problem:
        raise ConfigError(
            f"engine python: cannot import {settings.target}: {problem}",
            hint=f"looked in {folder} and what is installed",
        ) from problem
    except Exception as problem:
        raise EngineError(
            f"{module} fails on import: {type(problem).__name__}: {problem}", hint=f"try python -c 'import {module}'"
        ) from problem
    return found


def _build(found: object, settings: Settings) -> FullEngine:
    if not isinstance(found, type) and hasattr(found, "open"):
        return as_engine(cast(Engine, found))
    if not callable(found):
        raise ConfigError(f"engine python: {settings.target} is not callable", hint="name a function, class or engine")
    if not isinstance(found, type) and not settings.options and _is_search(found):
        return as_engine(found)
    try:
        made: object = found(**settings.options)
    except AssayError:
        raise
    except Exception as problem:
        raise EngineError(
            f"{settings.target}() fails: {type(problem).__name__}: {problem}", hint="check it and its options"
        ) from problem
    return as_engine(made)  # type: ignore[arg-type]  # as_engine checks


def _is_search(function: Search) -> bool:
    """Return whether a function searches, not makes an engine: it takes a k, or requires a query.

    Raise ConfigError if it can be neither: it requires other arguments.
    """
    style = call_style(function)
    if style in ("positional", "keyword"):
        return True
    try:
        inspect.signature(function).bind()
    except TypeError:
        if style is None:
            raise bad_signature(function) from None
        return True
    return False


def as_engine(thing: Engine | Search) -> FullEngine:
    """Return an engine with defaults for what it does not declare; wrap a callable (query, k) or (query)."""
    if isinstance(thing, type):
        raise ConfigError(f"{thing.__name__} is a class", hint=f"pass an instance: {thing.__name__}(...)")
    if callable(getattr(thing, "open", None)):
        declared = all(hasattr(type(thing), name) or hasattr(thing, name) for name in DECLARED)
        engine = cast(FullEngine, thing) if declared else Handle(cast(Engine, thing))
        check_counts(f"engine {qualified_name(type(thing))}", oversample=engine.oversample, parallel=engine.parallel)
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
        f"{qualified_name(function)}{signature} is not a search function: it takes neither (query, k) nor (query)",
        hint=f"define it as {name}(query, k) or {name}(query){makes}",
    )


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
        """The name of the function."""
        return {"kind": "python", "target": qualified_name(self.function)}

    @property
    def fingerprint(self) -> str:
        """Its name and its source files."""
        return fingerprint_of(self.config, digest_modules(qualified_name(self.function).partition(":")[0]))

    def open(self, corpus: Corpus) -> Session:  # noqa: ARG002 - part of the protocol
        """Return a session; a function needs no preparation."""
        return FunctionSession(self.function, self.style)


@dataclass(frozen=True, slots=True)
class FunctionSession:
    """A callable being queried."""

    function: Search
    style: CallStyle

    def search(self, query: str, k: int) -> EngineReply:
        """Call the function and read its result; one that takes no k may return more, which is cut."""
        if self.style == "query":
            reply = read_reply(self.function(query))
            return replace(reply, hits=reply.hits[:k])
        return read_reply(self.function(query, k) if self.style == "positional" else self.function(query, k=k))

    def close(self) -> None:
        """Do nothing."""
