"""Load assay.toml with its `extends` and overrides, and check every key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from assay.errors import ConfigError, did_you_mean
from assay.experiment.spec.layers import (
    EXTENDS,
    ConfigLayer,
    MergedConfig,
    file_layers,
    flag_layer,
    preset_layers,
    stack,
)
from assay.experiment.spec.model import (
    ENGINE_KEYS,
    KEYS,
    REFERENCES,
    SWEEP_KEYS,
    TABLE_NAMES,
    TABLES,
    VARIANT_KEYS,
    ConfigLocation,
    Settings,
    Spec,
    Sweep,
    Variant,
    about,
    check_claim,
    check_writable,
)
from assay.experiment.spec.variants import OWN, reject_duplicates
from assay.gold.load import SHIPPED
from assay.redaction import declare
from assay.settings import coerce, is_required
from assay.toml import line_of

T = TypeVar("T", Variant, Sweep)


def load_spec(path: Path | None = None, *, preset: str | None = None, sets: Sequence[str] = ()) -> Spec:
    """Read a file, or an experiment that ships, or neither; then change it by `TABLE.KEY=VALUE` texts.

    Paths in a file are relative to its folder.
    """
    files = file_layers(path) if path else preset_layers(preset) if preset else ()
    sheet = stack([*files, *map(flag_layer, sets)])
    _check_tables(sheet)
    spec = Spec(
        **_run_values(sheet),
        engines=_engines(sheet),
        variants=dict(_records(sheet, "variants", Variant, VARIANT_KEYS)),
        sweeps=dict(_records(sheet, "sweeps", Sweep, SWEEP_KEYS)),
        tune=sheet.data.get("tune", {}),
        ledger=sheet.data.get("ledger", {}),
        report=sheet.data.get("report", {}),
        file=str(path) if path else None,
        files=tuple(str(layer.file) for layer in reversed(files)),
        places=dict(_places(sheet)),
    )
    return _checked(_placed(spec, sheet), sheet)


def _check_tables(sheet: MergedConfig) -> None:
    for name, value in sheet.data.items():
        if name == EXTENDS:  # only a flag can say it here: a file's is read before
            raise sheet.error("extends cannot be set", "name the file with --config, or --preset", name)
        _check_known(sheet, name, TABLES, (), f"[{name}]")
        if not isinstance(value, Mapping):
            raise sheet.error(f"[{name}] is a table", "see `assay init` for a commented file", name)
        for inner, table in value.items() if name in ("engines", "variants", "sweeps") else ():
            if not isinstance(table, Mapping):
                raise sheet.error(f"[{name}.{inner}] is a table", "see `assay init` for an example", name, inner)


def _check_known(sheet: MergedConfig, key: str, known: Sequence[str], outer: tuple[str, ...], shown: str) -> None:
    if key not in known:
        hint = did_you_mean(key, known) or f"known here: {', '.join(known)}"
        raise sheet.error(f"unknown key {shown}", hint, *outer, key)


def _run_values(sheet: MergedConfig) -> dict[str, Any]:
    values, hints = {}, get_type_hints(Spec)
    for key, value in sheet.data.get("run", {}).items():
        _check_known(sheet, key, KEYS, ("run",), f"[run] {key}")
        values[key] = _fitted(sheet, value, hints[key], "run", key)
    return values


def _fitted(sheet: MergedConfig, value: object, hint: Any, *keys: str) -> Any:  # noqa: ANN401 - a type hint is any object
    if hint == tuple[str, ...] and isinstance(value, str):
        value = [value]
    try:
        return coerce(value, hint, keys[-1])
    except ConfigError as error:
        raise sheet.error(error.message, error.hint, *keys) from error


def _engines(sheet: MergedConfig) -> Mapping[str, Settings]:
    engines: dict[str, Mapping[str, Any]] = dict(sheet.data.get("engines", {}))
    if OWN in engines and not {"kind", "preset"} & set(engines[OWN]):  # --set engines.builtin.search.… without a file
        engines[OWN] = {"kind": OWN, **engines[OWN]}
    declare([engines, sheet.data.get("variants", {}), sheet.data.get("sweeps", {})])
    for name, table in engines.items():
        if not {"kind", "preset"} & set(table):
            raise sheet.error(
                f"engine {name!r} has neither kind nor preset",
                'add kind = "command" (or another), or preset = "semble"; `assay engines` lists both',
                *("engines", name),
            )
        for key, hint in zip(ENGINE_KEYS, (bool, tuple[str, ...]), strict=True):
            if key in table:
                _fitted(sheet, table[key], hint, "engines", name, key)
    return engines


def _records(sheet: MergedConfig, table: str, record: type[T], known: Sequence[str]) -> Iterator[tuple[str, T]]:
    hints = get_type_hints(record)
    for name, values in sheet.data.get(table, {}).items():
        for key in values:
            _check_known(sheet, key, known, (table, name), f"[{table}.{name}] {key}")
        for field in record.__dataclass_fields__.values():
            if is_required(field) and field.name not in values:
                hint = f"keys of [{table}.NAME]: {', '.join(known)}"
                raise sheet.error(f"[{table}.{name}] has no {field.name}", hint, table, name)
        _check_knobs(sheet, table, name, values.get("knobs"))
        yield name, record(**{k: _fitted(sheet, v, hints[k], table, name, k) for k, v in values.items()})


def _check_knobs(sheet: MergedConfig, table: str, name: str, knobs: object) -> None:
    for key, value in knobs.items() if isinstance(knobs, Mapping) else ():
        if not isinstance(value, list | tuple):
            hint = f"a list of values to try, such as [{json.dumps(value, default=str)}]"
            raise sheet.error(f"knobs: {key} = {value!r}", hint, table, name, "knobs")


def _places(sheet: MergedConfig) -> Iterator[tuple[str, ConfigLocation]]:
    for table, value in sheet.data.items():
        for name in value:
            layer = sheet.file_of(table, name) or ConfigLayer({})
            owner = sheet.by(table, name, "kind") or sheet.by(table, name, "preset") or layer
            file = None if layer.flag or layer.file is None else str(layer.file)
            yield (
                f"{table}.{name}",
                ConfigLocation(file, layer.line(table, name), owner.folder, sheet.flags_of(table, name)),
            )


def _placed(spec: Spec, sheet: MergedConfig) -> Spec:
    def folder(key: str) -> Path:
        layer = sheet.by("run", key)
        return layer.folder if layer else spec.folder

    gold = tuple(source if source in SHIPPED else str(folder("gold") / source) for source in spec.gold)
    corpus = spec.corpus
    if corpus and (folder("corpus") / corpus).is_dir():
        corpus = str(folder("corpus") / corpus)
    said = sheet.by("run", "out")
    out = spec.folder if said is None or said.shipped else said.folder
    return replace(spec, gold=gold, corpus=corpus, out=str(out / spec.out))


def _checked(spec: Spec, sheet: MergedConfig) -> Spec:
    try:
        return check(spec)
    except ConfigError as error:
        if error.file or not sheet.layers or error.message.startswith("--set "):
            raise
        raise sheet.error(error.message, error.hint, "run", about(error)) from error


def check(spec: Spec) -> Spec:
    """Refuse a specification that cannot give a result, before anything runs."""
    for key in ("k", "timeout", "index_timeout"):
        if not getattr(spec, key) > 0:
            raise ConfigError(f"{key} = {getattr(spec, key)}", hint=f"{key} is more than 0")
    for key in ("give_up", "threads", "jobs"):
        if (getattr(spec, key) or 0) < 0:
            raise ConfigError(f"{key} = {getattr(spec, key)}", hint=f"{key} is 0 or more")
    _check_names(spec.engines)
    _check_way(spec)
    reject_duplicates(spec)
    names = list(spec.all_engines())
    for name in spec.only:
        if name not in names:
            raise ConfigError(f"only = {name!r}", hint=did_you_mean(name, names) or f"there are: {', '.join(names)}")
    check_claim(spec.claim(), spec.k, names)
    return spec


def _check_way(spec: Spec) -> None:
    if spec.times and spec.jobs is not None:
        raise ConfigError(
            "times = true with jobs", hint="engines that run side by side disturb one another's times: choose one"
        )
    for name in spec.tables:
        if name not in TABLE_NAMES:
            hint = did_you_mean(name, TABLE_NAMES) or f"there are: {', '.join(TABLE_NAMES)}"
            raise ConfigError(f"tables = {name!r}", hint=hint)


def _check_names(engines: Mapping[str, Settings]) -> None:
    check_writable(engines)
    for name, engine in engines.items():
        kind = engine.partition(":")[0] if isinstance(engine, str) else engine.get("kind")
        if name in REFERENCES and kind != name:
            raise ConfigError(f"{name} is the name of a reference engine", hint="give your engine a name of its own")


def locate(text: str, table: str, key: str | None = None) -> int | None:
    """Find the line of a table or of a key in it."""
    return line_of(text, ".".join(part for part in (table, key) if part))


def override(spec: Spec, **changes: object) -> Spec:
    """Replace what flags name; None means the flag was not given."""
    return check(replace(spec, **{key: value for key, value in changes.items() if value is not None}))  # type: ignore[arg-type]  # checked by `check`
