"""Python functions, classes and factories as engines, and `as_engine` for objects passed to the library."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Literal, cast

from assay.engines.base import (
    Engine,
    EngineContext,
    EngineDefaults,
    EngineReply,
    FullEngine,
    Handle,
    Session,
    complete_engine,
    fingerprint_of,
    qualified_name,
)
from assay.engines.fingerprints import digest_modules, digest_path
from assay.engines.normalize import read_reply
from assay.errors import AssayError, ConfigError, EngineError
from assay.settings import read_settings, setting
from assay.types import Corpus

Search = Callable[..., object]
#: How a search function is called: f(query, k), f(query, k=k) or f(query).
CallStyle = Literal["positional", "keyword", "query"]
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class PythonSettings:
    target: str = field(
        metadata={"about": "search function (query, k) or (query), engine, or factory of either, as module:callable"}
    )
    folder: str = setting(".", "directory to import the module from, besides the Python path")
    options: Mapping[str, object] = setting({}, "arguments for a class or factory, which are recorded; no secrets")
    oversample: int | None = setting(
        None, "multiple of k results to request; default: as declared by the engine", least=1
    )

    def __post_init__(self) -> None:
        module, _, name = self.target.partition(":")
        if not (module and name):
            raise ConfigError(
                f"engine python: target: expected module:callable, got {self.target!r}",
                hint="name a callable in a module, such as my.search:find",
                keys=["target"],
            )


@dataclass(frozen=True)
class PythonEngine(Handle):
    settings: PythonSettings = field(kw_only=True)

    @property
    def config(self) -> Mapping[str, object]:
        own = {"kind": "python", "target": self.settings.target, "options": dict(self.settings.options)}
        return {**own, "oversample": self.oversample, "engine": dict(self.inner.config)}

    @property
    def oversample(self) -> int:  # type: ignore[override]  # computed
        return super().oversample if self.settings.oversample is None else self.settings.oversample

    @property
    def fingerprint(self) -> str:
        texts = [value for value in self.settings.options.values() if isinstance(value, str)]
        files = [[text, digest_path(text)] for text in texts if os.path.isfile(text)]
        module = self.settings.target.partition(":")[0]
        return fingerprint_of(self.config, super().fingerprint, digest_modules(module), files)


def make(settings: Mapping[str, object], context: EngineContext) -> PythonEngine:
    """Import the target, call it if it is a class or factory, and make an engine."""
    read = read_settings(PythonSettings, settings, "engine python")
    module, _, name = read.target.partition(":")
    if module.endswith(".py"):  # a file, as other tools name it
        read = replace(read, target=f"{module.removesuffix('.py').replace('/', '.')}:{name}")
    target = _import_target(read, context.directory)
    is_class, is_engine = isinstance(target, type), hasattr(target, "open")
    if not (is_engine or callable(target)):
        message = f"engine python: {read.target} is not callable"
        raise ConfigError(message, hint="name a function, a class or an engine", keys=["target"])
    if is_class or not (is_engine or (not read.options and _is_search(cast(Search, target)))):
        try:
            target = cast(Search, target)(**read.options)
        except AssayError:
            raise
        except Exception as problem:
            raise EngineError(
                f"{read.target}() failed: {type(problem).__name__}: {problem}", hint="check the callable and `options`"
            ) from problem
    engine = as_engine(cast(Engine, target))
    return PythonEngine(
        replace(engine, in_corpus=True) if isinstance(engine, FunctionEngine) else engine, settings=read
    )


def _import_target(settings: PythonSettings, base: Path) -> object:
    directory = str((base / settings.folder).resolve())
    if directory not in sys.path:
        sys.path.insert(0, directory)  # permanently: the user's code may import more when it is called
    module, _, name = settings.target.partition(":")
    try:
        return attrgetter(name)(import_module(module))
    except (ImportError, AttributeError) as problem:
        raise ConfigError(
            f"engine python: cannot import {settings.target}: {problem}",
            hint=f"check the name, and that the module is in {directory} or installed",
            keys=["target"],
        ) from problem
    except Exception as problem:
        raise EngineError(
            f"cannot import {module}: {type(problem).__name__}: {problem}",
            hint=f"run `python -c 'import {module}'` in {directory} to see the traceback",
        ) from problem


def _is_search(function: Search) -> bool:
    """Return whether a function takes (query, k) or requires arguments, unlike a factory."""
    return _call_style(function) in ("positional", "keyword") or not _accepts(inspect.signature(function))


def as_engine(thing: Engine | Search) -> FullEngine:
    """Return an engine with defaults for missing attributes, or wrap a callable (query, k) or (query) as an engine."""
    if isinstance(thing, type):
        name = thing.__name__
        raise ConfigError(f"expected an engine, got the class {name}", hint=f"pass an instance: {name}(...)")
    if callable(getattr(thing, "open", None)):
        return complete_engine(cast(Engine, thing))
    if not callable(thing):
        raise ConfigError(
            f"expected an engine, got {thing!r:.80}",
            hint="pass an object with open(corpus), or a callable (query, k) or (query) that returns results",
        )
    style = _call_style(thing)
    if style is None:
        signature, name = inspect.signature(thing), getattr(thing, "__name__", type(thing).__name__)
        makes = f", or pass {name}() if it makes an engine" if _accepts(signature) else ""
        raise ConfigError(
            f"{qualified_name(thing)}{signature} is not a search function: it takes neither (query, k) nor (query)",
            hint=f"define {name}(query, k) or {name}(query){makes}",
        )
    return FunctionEngine(thing, style)


def _call_style(function: Search) -> CallStyle | None:
    """Return how to call a search function, or None if the function takes neither (query, k) nor (query).

    k is passed to the parameter `k`, else to the second positional parameter if its default is missing, None or an
    integer; any other default marks an unrelated parameter, such as a model name or a threshold.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # written in C, without a signature
        return "positional"
    if "k" in list(signature.parameters)[1:] and _accepts(signature, "query", k=10):
        return "keyword"
    positional = [parameter for parameter in signature.parameters.values() if parameter.kind in _POSITIONAL]
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


@dataclass(frozen=True, slots=True)
class FunctionEngine(EngineDefaults):
    function: Search
    style: CallStyle = "positional"
    in_corpus: bool = False  # call the function in the directory of the corpus, which it gets no other way

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "python", "target": qualified_name(self.function)}

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.config, digest_modules(qualified_name(self.function).partition(":")[0]))

    def open(self, corpus: Corpus) -> Session:
        return _CorpusSession(self, corpus.root) if self.in_corpus else self

    def search(self, query: str, k: int) -> EngineReply:
        if self.style == "query":
            reply = read_reply(self.function(query))
            return replace(reply, hits=reply.hits[:k])
        return read_reply(self.function(query, k) if self.style == "positional" else self.function(query, k=k))

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _CorpusSession:
    engine: FunctionEngine
    root: Path

    def search(self, query: str, k: int) -> EngineReply:
        with chdir(self.root):  # of the process: calls.py restores the directory after a timeout
            return self.engine.search(query, k)

    def close(self) -> None:
        pass
