"""Engines under test; `make_engine` makes an engine from a name, a preset or a table of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.engines.base import EngineContext, FullEngine, Handle, complete_engine
from assay.engines.kinds import KINDS
from assay.engines.python import as_engine
from assay.errors import ConfigError
from assay.redaction import register_secrets
from assay.settings import unknown_name
from assay.types import ResultLevel, Suite

__all__ = ["KINDS", "FullEngine", "as_engine", "engine_table", "make_engine"]


def make_engine(
    spec: str | Mapping[str, object],
    *,
    suite: Suite | None = None,
    seed: int = 0,
    directory: Path = Path(),
    level: ResultLevel | None = None,
) -> FullEngine:
    """Make an engine from `kind`, `kind:value`, a preset name, a preset file, or a table with `kind` or `preset`.

    `level` decides what `builtin` with `per = "auto"` returns [default: the level of the suite, else files].
    """
    context = EngineContext(suite, seed, directory, level=level or (suite.level if suite else "file"))
    table = engine_table(spec) if isinstance(spec, str) else spec
    key = "preset" if "preset" in table else "kind"
    name, settings = table.get(key), {name: value for name, value in table.items() if name != key}
    if not isinstance(name, str):
        raise ConfigError(
            "the engine needs `kind` or `preset` as a string",
            hint=f'add kind = "..." or preset = "..."; kinds: {", ".join(sorted(KINDS))}',
            keys=["kind", "preset"],
        )
    return _make_preset(name, settings, context) if key == "preset" else _make_kind(name, settings, context)


def _make_kind(kind: str, settings: Mapping[str, object], context: EngineContext) -> FullEngine:
    if kind not in KINDS:
        raise unknown_name("unknown kind of engine", kind, sorted(KINDS), "kinds", keys=["kind"])
    register_secrets(settings)
    return complete_engine(KINDS[kind].make_engine(settings, context))


def _make_preset(name: str, changes: Mapping[str, object], context: EngineContext) -> FullEngine:
    from assay.engines.presets import add_location, check_needs, load_preset, preset_notes, preset_settings

    preset = load_preset(name, context.directory)
    if "kind" in changes:
        message = f"preset {name!r} cannot be combined with `kind`"
        raise ConfigError(message, hint="remove `kind` or `preset`", keys=["preset", "kind"])
    check_needs(preset, changes)
    try:
        made = _make_kind(preset.kind, preset_settings(preset, changes), replace(context, preset=preset.path.parent))
    except ConfigError as problem:
        raise add_location(problem, preset, changes) from problem
    return Handle(made, made.role, preset_notes(preset))


def engine_table(spec: str) -> dict[str, object]:
    name, colon, value = spec.partition(":")
    if name not in KINDS:
        return {"preset": spec}
    if not colon:
        return {"kind": name}
    main = KINDS[name].main
    if main is None:
        raise ConfigError(f"engine {spec!r}: {name} takes no value", hint=f"write {name}")
    if not value:
        raise ConfigError(f"engine {spec!r}: missing value after the colon", hint=f"write {name}:{main.upper()}")
    return {"kind": name, main: value}
