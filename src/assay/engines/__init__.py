"""Who is under test: one module a kind of engine, imported when it is named."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from assay.engines.base import Context, Engine, EngineCrash, FullEngine, Session, TimedEngine, TimedSession
from assay.engines.kinds import KINDS, Kind
from assay.engines.pages import KindPage, SettingPage, describe
from assay.engines.wrapping import as_engine
from assay.errors import ConfigError
from assay.settings import unknown
from assay.types import Suite

__all__ = [
    "KINDS",
    "Context",
    "Engine",
    "EngineCrash",
    "FullEngine",
    "Kind",
    "KindPage",
    "Session",
    "SettingPage",
    "TimedEngine",
    "TimedSession",
    "as_engine",
    "describe",
    "make_engine",
]


def make_engine(
    spec: str | Mapping[str, object], *, suite: Suite | None = None, seed: int = 0, folder: Path = Path()
) -> FullEngine:
    """Make an engine from `kind`, `kind:value` or a table with `kind` and settings."""
    name, settings = _read_text(spec) if isinstance(spec, str) else _read_table(spec)
    if name not in KINDS:
        raise unknown("unknown kind of engine", name, sorted(KINDS), "kinds")
    engine = import_module(KINDS[name].module).make(settings, Context(suite, seed, folder))
    return as_engine(cast(Engine, engine))


def _read_text(spec: str) -> tuple[str, dict[str, object]]:
    """Read `kind` or `kind:value`, where value is the setting that the kind is mostly asked for with."""
    name, colon, value = spec.partition(":")
    if not colon or name not in KINDS:
        return name, {}
    main = KINDS[name].main
    if main is None:
        raise ConfigError(f"engine {spec!r}: {name} takes no value", hint=f"write {name}")
    if not value:
        raise ConfigError(f"engine {spec!r}: nothing after the colon", hint=f"write {name}:{main.upper()}")
    return name, {main: value}


def _read_table(spec: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Read a table of assay.toml."""
    kind = spec.get("kind")
    if not isinstance(kind, str):
        raise ConfigError("an engine without a kind", hint=f'add kind = "..."; kinds: {", ".join(sorted(KINDS))}')
    return kind, {key: value for key, value in spec.items() if key != "kind"}
