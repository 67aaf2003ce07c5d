"""The user's own function, class or factory, imported because the user named it."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import cast

from assay.engines.base import Engine, EngineContext, FullEngine, Session, TimedEngine, TimedSession
from assay.engines.fingerprints import fingerprint_of, looked_at
from assay.engines.wrapping import Search, as_engine, bad_signature, call_style, sources_seen
from assay.errors import AssayError, ConfigError, EngineError
from assay.settings import check_counts, read_settings
from assay.types import Corpus, Role


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "python"` takes."""

    target: str = field(
        metadata={"about": "module:callable: a search function (query, k) or (query), an engine, or what makes one"}
    )
    folder: str = field(default=".", metadata={"about": "where its module lies, besides what is installed"})
    options: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "arguments for a class or factory; recorded, so no secrets"}
    )
    oversample: int | None = field(
        default=None, metadata={"about": "how many times k to ask for, when not what the engine declares; printed"}
    )

    def __post_init__(self) -> None:
        """Refuse a target that names no callable, and asking for nothing."""
        check_counts("engine python", oversample=1 if self.oversample is None else self.oversample)
        module, colon, name = self.target.partition(":")
        if not (module and colon and name):
            raise ConfigError(
                f"engine python: target {self.target!r}", hint="write module:callable, as in my.search:find"
            )


@dataclass(frozen=True, slots=True)
class PythonEngine:
    """A name that is imported when the engine is made."""

    settings: Settings
    inner: FullEngine
    role: Role = "contestant"

    @property
    def config(self) -> Mapping[str, object]:
        """The name, its options, and what the engine says of itself."""
        own = {"kind": "python", "target": self.settings.target, "options": dict(self.settings.options)}
        return {**own, "oversample": self.oversample, "engine": dict(self.inner.config)}

    @property
    def oversample(self) -> int:
        """What the user sets, else what the engine declares."""
        return self.inner.oversample if self.settings.oversample is None else self.settings.oversample

    @property
    def notes(self) -> tuple[str, ...]:
        """What the engine says."""
        return self.inner.notes

    @property
    def private(self) -> bool:
        """What the engine declares."""
        return self.inner.private

    @property
    def git(self) -> bool:
        """What the engine declares."""
        return self.inner.git

    @property
    def parallel(self) -> int:
        """What the engine declares."""
        return self.inner.parallel

    @property
    def secrets(self) -> tuple[str, ...]:
        """What the engine declares."""
        return self.inner.secrets

    @property
    def identity(self) -> str | None:
        """What the thing itself declares."""
        return self.inner.identity

    @property
    def fingerprint(self) -> str:
        """What the thing itself shows, the files that its name leads to, and those that its options name."""
        texts = [value for value in self.settings.options.values() if isinstance(value, str)]
        files = [[text, looked_at(text)] for text in texts if os.path.isfile(text)]
        module = self.settings.target.partition(":")[0]
        return fingerprint_of(self.config, self.inner.fingerprint, sources_seen(module), files)

    def open(self, corpus: Corpus) -> Session:
        """Open the engine behind the name."""
        return self.inner.open(corpus)


@dataclass(frozen=True, slots=True)
class TimedPythonEngine(PythonEngine):
    """The same for an engine that keeps to a time limit when it is opened."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Open the engine behind the name, in time."""
        return cast(TimedEngine, self.inner).open_within(corpus, seconds)


def make(settings: Mapping[str, object], context: EngineContext) -> PythonEngine:
    """Import what is named and make an engine of it."""
    read = read_settings(Settings, settings, "engine python")
    inner = _build(_import(read, context.folder), read)
    return (TimedPythonEngine if isinstance(inner, TimedEngine) else PythonEngine)(read, inner)


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
        raise ConfigError(f"engine python: {settings.target} is no callable", hint="name a function, class or engine")
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
