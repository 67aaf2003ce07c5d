"""The user's own function, class or factory, imported because the user named it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from assay.engines.base import Context, FullEngine, Session
from assay.engines.foreign import as_engine
from assay.engines.settings import read_settings
from assay.errors import AssayError, ConfigError, EngineError
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "python"` takes."""

    target: str  # module:callable
    folder: str = "."  # where its module lies, besides what is installed
    options: Mapping[str, object] = field(default_factory=dict)  # for a class or factory; hashed, so no secrets

    def __post_init__(self) -> None:
        """Refuse a target that names no callable."""
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

    @property
    def config(self) -> Mapping[str, object]:
        """The name, its options, and what the engine says of itself."""
        own = {"kind": "python", "target": self.settings.target, "options": dict(self.settings.options)}
        return {**own, "engine": dict(self.inner.config)}

    @property
    def oversample(self) -> int:
        """What the engine declares."""
        return self.inner.oversample

    @property
    def notes(self) -> tuple[str, ...]:
        """What the engine says."""
        return self.inner.notes

    def open(self, corpus: Corpus) -> Session:
        """Open the engine behind the name."""
        return self.inner.open(corpus)


def make(settings: Mapping[str, object], _context: Context) -> PythonEngine:
    """Import what is named and make an engine of it."""
    read = read_settings(Settings, settings, "engine python")
    return PythonEngine(read, _build(_import(read), read))


def _import(settings: Settings) -> object:
    """Import the object that the target names, from the user's folder first."""
    folder = str(Path(settings.folder).resolve())
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
        raise EngineError(f"{module} fails on import: {type(problem).__name__}: {problem}") from problem
    return found


def _build(found: object, settings: Settings) -> FullEngine:
    """Use an engine or a search function as it is; call a class or a factory for one."""
    if not isinstance(found, type) and (hasattr(found, "open") or _takes_query(found, settings)):
        return as_engine(found)  # type: ignore[arg-type]  # as_engine checks
    if not callable(found):
        raise ConfigError(f"engine python: {settings.target} is no callable", hint="name a function, class or engine")
    try:
        made: object = found(**settings.options)
    except AssayError:
        raise
    except Exception as problem:
        raise EngineError(f"{settings.target}() fails: {type(problem).__name__}: {problem}") from problem
    return as_engine(made)  # type: ignore[arg-type]  # as_engine checks


def _takes_query(found: object, settings: Settings) -> bool:
    """Tell a search function (query, k) from a factory; with options it must be a factory."""
    if settings.options or not callable(found):
        return False
    try:
        inspect.signature(found).bind("query", 10)
    except TypeError:
        return False
    except ValueError:  # no signature to look at: written in C
        return True
    return True
