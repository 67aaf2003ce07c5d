"""Engines under test: one module per kind, imported when it is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.engines.base import (
    Engine,
    EngineContext,
    EngineCrash,
    FullEngine,
    Handle,
    Session,
    TimedEngine,
    TimedSession,
)
from assay.engines.kinds import KINDS, EngineKind, KindPage, SettingPage, describe_kinds
from assay.engines.python import as_engine
from assay.errors import ConfigError
from assay.redaction import declare
from assay.settings import unknown_name
from assay.types import Suite

__all__ = [
    "KINDS",
    "Engine",
    "EngineContext",
    "EngineCrash",
    "EngineKind",
    "FullEngine",
    "KindPage",
    "Session",
    "SettingPage",
    "TimedEngine",
    "TimedSession",
    "as_engine",
    "describe_kinds",
    "engine_table",
    "make_engine",
]


def make_engine(
    spec: str | Mapping[str, object], *, suite: Suite | None = None, seed: int = 0, folder: Path = Path()
) -> FullEngine:
    """Make an engine from `kind`, `kind:value`, a preset's name, a preset's file, or a table with kind or preset."""
    context = EngineContext(suite, seed, folder)
    if isinstance(spec, str):
        kind = spec.partition(":")[0]
        return _make(*_read_text(spec), context) if kind in KINDS else _make_preset(spec, {}, context)
    named, settings = _read_table(spec)
    return _make_preset(named, settings, context) if "preset" in spec else _make(named, settings, context)


def _make(kind: str, settings: Mapping[str, object], context: EngineContext) -> FullEngine:
    if kind not in KINDS:
        raise unknown_name("unknown kind of engine", kind, sorted(KINDS), "kinds")
    declare(settings)
    return as_engine(KINDS[kind].make_engine(settings, context))


def _make_preset(named: str, changes: Mapping[str, object], context: EngineContext) -> FullEngine:
    from assay.engines.presets import add_location, check_needs, load_preset, preset_notes, preset_settings

    preset = load_preset(named, context.folder)
    if "kind" in changes:
        raise ConfigError(f"preset {named!r} has a kind of its own", hint="leave out kind, or leave out preset")
    check_needs(preset, changes)
    try:
        made = _make(preset.kind, preset_settings(preset, changes), replace(context, preset=preset.path.parent))
    except ConfigError as problem:
        raise add_location(problem, preset, changes) from problem
    return Handle(made, made.role, preset_notes(preset))


def engine_table(spec: str) -> dict[str, object]:
    """Return the table of assay.toml for an engine named on the command line."""
    kind = spec.partition(":")[0]
    if kind not in KINDS:
        return {"preset": spec}
    named, settings = _read_text(spec)
    return {"kind": named, **settings}


def _read_text(spec: str) -> tuple[str, dict[str, object]]:
    name, colon, value = spec.partition(":")
    if not colon:
        return name, {}
    main = KINDS[name].main
    if main is None:
        raise ConfigError(f"engine {spec!r}: {name} takes no value", hint=f"write {name}")
    if not value:
        raise ConfigError(f"engine {spec!r}: nothing after the colon", hint=f"write {name}:{main.upper()}")
    return name, {main: value}


def _read_table(spec: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    key = "preset" if "preset" in spec else "kind"
    named = spec.get(key)
    if not isinstance(named, str):
        raise ConfigError(
            "an engine without a kind",
            hint=f'add kind = "..." or preset = "..."; kinds: {", ".join(sorted(KINDS))}',
        )
    return named, {name: value for name, value in spec.items() if name != key}
