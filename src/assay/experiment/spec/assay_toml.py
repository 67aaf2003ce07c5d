from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

from assay.errors import ConfigError, did_you_mean
from assay.experiment.spec.engine_entries import (
    BUILTIN,
    ENGINE_KEYS,
    ConfigLocation,
    Settings,
    parse_override,
    settings_table,
)
from assay.experiment.spec.experiment_spec import TABLES, Spec, check
from assay.experiment.spec.variants import Sweep, Variant
from assay.redaction import register_secrets
from assay.settings import coerce, flatten, is_required, merge, read_settings, split_key
from assay.toml import find_line, read_toml

EXTENDS = "extends"
PRESET = "preset:"
#: The tables of a variant or a sweep whose keys are dotted settings.
_DOTTED = {"variants": ("set",), "sweeps": ("params", "parts")}

Keys = tuple[str, ...]
Declared = TypeVar("Declared", Variant, Sweep)
T = TypeVar("T")


def load_spec(
    path: Path | None = None,
    *,
    preset: str | None = None,
    sets: Sequence[str] = (),
    named: Mapping[str, str] = MappingProxyType({}),
) -> Spec:
    """Load a file, a shipped experiment or the defaults, then apply `TABLE.KEY=VALUE` overrides.

    Paths in a file are relative to its directory. `named` are the engines of the command line, whose settings the
    overrides may change.
    """
    start = path or (_shipped_path(preset, None) if preset else None)
    layers = _load_layers(start) if start else ()
    files = {layer.file and layer.file.resolve(): layer for layer in layers}.values()
    flags = [ConfigLayer(parse_override(text), flag=f"--set {text}") for text in sets]
    for flag in flags:
        if EXTENDS in flag.data:
            raise flag.error("cannot change extends", "use --config FILE or --preset NAME")
    config = _merge_layers([*files, *map(_normalize, flags)])
    _check_tables(config)
    hints = get_type_hints(Spec)
    run = config.data.get("run", {})
    spec = Spec(
        **{key: _coerce(config, value, hints[key], "run", key) for key, value in run.items()},
        engines=_engines(config, named),
        variants=dict(_records(config, "variants", Variant, VARIANT_KEYS)),
        sweeps=dict(_records(config, "sweeps", Sweep, SWEEP_KEYS)),
        tune=config.data.get("tune", {}),
        ledger=config.data.get("ledger", {}),
        report=config.data.get("report", {}),
        file=str(path) if path else None,
        files=tuple(str(layer.file) for layer in reversed(files)),
        locations=dict(_locations(config)),
    )
    try:
        return check(_resolve_paths(spec, config))
    except ConfigError as error:
        if error.file or error.flag or not config.layers:
            raise
        raise config.error(error.message, error.hint, "run", *error.keys[:1]) from error


def read_table(record: type[T], spec: Spec, name: str, values: Mapping[str, object]) -> T:
    """Build a record from a table such as [tune]; errors name the flag, or the file and line."""
    try:
        return read_settings(record, values, f"[{name}]")
    except ConfigError as error:
        raise locate_error(error, spec, name) from error


def locate_error(error: ConfigError, spec: Spec, name: str) -> ConfigError:
    """Return the error with the flag, or the file and line, that set its first key."""
    keys = [f"{name}.{split_key(key)[0]}" for key in error.keys]
    location = next((spec.locations[key] for key in keys if key in spec.locations), ConfigLocation(spec.file))
    return (replace(location, file=None) if location.flags else location).error(error.message, error.hint)


def shipped_experiments() -> dict[str, Path]:
    """Return the files of the shipped experiments by name."""
    directory = Path(str(resources.files("assay.data") / "experiments"))
    return {path.stem: path for path in sorted(directory.glob("*.toml"), key=lambda path: path.stem)}


@dataclass(frozen=True, slots=True)
class ConfigLayer:
    data: Mapping[str, Any]
    file: Path | None = None
    text: str = field(default="", repr=False)
    flag: str = ""  # such as --set run.k=20
    shipped: bool = False  # a file of the package, whose directory is not written to

    @property
    def directory(self) -> Path:
        return self.file.parent if self.file else Path()

    def line(self, *keys: str) -> int | None:
        """Return the line of a key, or of the innermost table that contains it; None if unknown."""
        lines = (find_line(self.text, ".".join(keys[:end])) for end in range(len(keys), 0, -1))
        return next((line for line in lines if line is not None), None)

    def error(self, message: str, hint: str | None, *keys: str) -> ConfigError:
        if self.flag:
            return ConfigError(f"{self.flag}: {message}", hint=hint)
        return ConfigError(message, file=self.file, line=self.line(*keys), hint=hint)


@dataclass(frozen=True, slots=True)
class MergedConfig:
    layers: tuple[ConfigLayer, ...]
    data: Mapping[str, Any]
    sources: Mapping[Keys, tuple[ConfigLayer, ...]] = field(repr=False)  # by key or table, the last one applies

    def layer(self, *keys: str) -> ConfigLayer | None:
        """Return the last layer that sets a key; None if no layer does."""
        sources = self.sources.get(keys)
        return sources[-1] if sources else None

    def error(self, message: str, hint: str | None, *keys: str) -> ConfigError:
        """Return an error that names the layer that sets a key or, if no layer does, the last file."""
        if layer := self.layer(*keys):
            return layer.error(message, hint, *keys)
        files = [layer.file for layer in self.layers if not layer.flag]
        return ConfigError(message, file=files[-1] if files else None, hint=hint)


def _load_layers(path: Path, chain: tuple[Path, ...] = (), parent: ConfigLayer | None = None) -> Iterator[ConfigLayer]:
    real = path.resolve()
    if parent is not None and real in chain:
        names = " → ".join(file.name for file in (*chain[chain.index(real) :], real))
        raise parent.error(f"extends itself: {names}", "remove one of these extends", EXTENDS)
    file = read_toml(path, hint="make one with `assay init`")
    shipped = real in {shipped.resolve() for shipped in shipped_experiments().values()}
    layer = ConfigLayer(file.data, path, file.text, shipped=shipped)
    for name in _extended_names(layer):
        if name.startswith(PRESET):
            extended = _shipped_path(name.removeprefix(PRESET), layer)
        elif not (extended := layer.directory / name).is_file():
            raise layer.error(f"extends {name!r}: no such file", f"create {extended}, or correct the name", EXTENDS)
        yield from _load_layers(extended, (*chain, real), layer)
    yield _normalize(replace(layer, data={key: value for key, value in file.data.items() if key != EXTENDS}))


def _shipped_path(name: str, layer: ConfigLayer | None) -> Path:
    known = shipped_experiments()
    if name in known:
        return known[name]
    message, hint = f"unknown experiment {name!r}", did_you_mean(name, known) or f"known: {', '.join(known)}"
    raise layer.error(message, hint, EXTENDS) if layer else ConfigError(f"--preset: {message}", hint=hint)


def _normalize(layer: ConfigLayer) -> ConfigLayer:
    """Flatten the settings of variants and sweeps to dotted keys, so that layers can override them one by one."""
    data = dict(layer.data)
    for table, inner in _DOTTED.items():
        if isinstance(data.get(table), Mapping):
            data[table] = {name: _flatten_dotted(layer, (table, name), one, inner) for name, one in data[table].items()}
    return replace(layer, data=data)


def _flatten_dotted(layer: ConfigLayer, keys: Keys, table: object, inner: Sequence[str]) -> object:
    if not isinstance(table, Mapping):
        return table
    changed: dict[str, Any] = dict(table)
    for key in inner:
        value = changed.get(key)
        if not isinstance(value, Mapping):
            continue
        try:
            if key == "parts":
                changed[key] = {n: flatten(off) if isinstance(off, Mapping) else off for n, off in value.items()}
            else:
                changed[key] = flatten(value)
        except ConfigError as error:
            raise layer.error(f"{key}: {error.message}", error.hint, *keys, key) from error
    return changed


def _extended_names(layer: ConfigLayer) -> list[str]:
    value = layer.data.get(EXTENDS, [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        message = f"{EXTENDS}: expected a file or a list of files, got {value!r}"
        raise layer.error(message, 'for example extends = "base.toml", or "preset:NAME"', EXTENDS)
    return names


def _merge_layers(layers: Sequence[ConfigLayer]) -> MergedConfig:
    """Merge layers in order; tables are merged by key, other values are replaced."""
    data: dict[str, Any] = {}
    sources: dict[Keys, tuple[ConfigLayer, ...]] = {}
    for layer in layers:
        data = merge(data, layer.data)
        for keys in _all_keys(layer.data):
            sources[keys] = (*sources.get(keys, ()), layer)
    return MergedConfig(tuple(layers), data, sources)


def _all_keys(table: Mapping[str, Any], outer: Keys = ()) -> Iterator[Keys]:
    for key, value in table.items():
        yield (*outer, key)
        if isinstance(value, Mapping):
            yield from _all_keys(value, (*outer, key))


def _check_tables(config: MergedConfig) -> None:
    for name, value in config.data.items():
        _check_known(config, name, TABLES, (), f"[{name}]")
        if not isinstance(value, Mapping):
            raise config.error(f"expected a table [{name}]", "see `assay init` for a commented file", name)
        for key in value if name == "run" else ():
            _check_known(config, key, KEYS, ("run",), f"[run] {key}")
        for inner, table in value.items() if name in ("engines", "variants", "sweeps") else ():
            if not isinstance(table, Mapping):
                message = f"expected a table [{name}.{inner}]"
                raise config.error(message, "see `assay init` for an example", name, inner)


def _check_known(config: MergedConfig, key: str, known: Sequence[str], outer: Keys, shown: str) -> None:
    if key not in known:
        hint = did_you_mean(key, known) or f"known: {', '.join(known)}"
        raise config.error(f"unknown key {shown}", hint, *outer, key)


def _coerce(config: MergedConfig, value: object, hint: Any, *keys: str) -> Any:  # noqa: ANN401 - a type hint is any object
    if hint == tuple[str, ...] and isinstance(value, str):
        value = [value]
    try:
        return coerce(value, hint, keys[-1])
    except ConfigError as error:
        raise config.error(error.message, error.hint, *keys) from error


def _engines(config: MergedConfig, named: Mapping[str, str]) -> Mapping[str, Settings]:
    engines: dict[str, Mapping[str, Any]] = dict(config.data.get("engines", {}))
    for name, text in {BUILTIN: BUILTIN, **named}.items():
        if name in engines and not {"kind", "preset"} & set(engines[name]):  # only changed by --set
            base = engines[text] if text in engines and text != name else settings_table(text)
            engines[name] = merge(base, engines[name])
    register_secrets([engines, *(config.data.get(name, {}) for name in ("variants", "sweeps", "search"))])
    for name, table in engines.items():
        if not {"kind", "preset"} & set(table):
            hint = 'add kind = "command" (or another), or preset = "semble"; `assay engines` lists both'
            raise config.error(f"engine {name!r} has neither kind nor preset", hint, "engines", name)
        for key, expected in zip(ENGINE_KEYS, (bool, tuple[str, ...]), strict=True):
            if key in table:
                _coerce(config, table[key], expected, "engines", name, key)
    return engines


def _records(
    config: MergedConfig, table: str, record: type[Declared], known: Sequence[str]
) -> Iterator[tuple[str, Declared]]:
    hints = get_type_hints(record)
    for name, values in config.data.get(table, {}).items():
        for key in values:
            _check_known(config, key, known, (table, name), f"[{table}.{name}] {key}")
        for declared in record.__dataclass_fields__.values():
            if is_required(declared) and declared.name not in values:
                hint = f"keys of [{table}.NAME]: {', '.join(known)}"
                raise config.error(f"[{table}.{name}]: missing key {declared.name!r}", hint, table, name)
        params = values.get("params")
        for key, value in params.items() if isinstance(params, Mapping) else ():
            if not isinstance(value, list | tuple):
                hint = f"write a list of values to try, such as [{json.dumps(value, default=str)}]"
                raise config.error(f"params: expected a list for {key}, got {value!r}", hint, table, name, "params")
        yield name, record(**{key: _coerce(config, v, hints[key], table, name, key) for key, v in values.items()})


def _locations(config: MergedConfig) -> Iterator[tuple[str, ConfigLocation]]:
    for table, value in config.data.items():
        for name in value:
            sources = config.sources.get((table, name), ())
            files = [layer for layer in sources if not layer.flag]
            layer = (files or sources or [ConfigLayer({})])[-1]
            owner = config.layer(table, name, "kind") or config.layer(table, name, "preset") or layer
            file = None if layer.flag or layer.file is None else str(layer.file)
            flags = tuple(source.flag for source in sources if source.flag)
            yield f"{table}.{name}", ConfigLocation(file, layer.line(table, name), owner.directory, flags)


def _resolve_paths(spec: Spec, config: MergedConfig) -> Spec:
    from assay.gold.load import SHIPPED  # gold formats; commands that read a saved run do not need them

    def directory(key: str) -> Path:
        layer = config.layer("run", key)
        return layer.directory if layer else spec.directory

    gold = tuple(source if source in SHIPPED else str(directory("gold") / source) for source in spec.gold)
    corpus = spec.corpus
    if corpus and (directory("corpus") / corpus).is_dir():
        corpus = str(directory("corpus") / corpus)
    out_layer = config.layer("run", "out")
    out = spec.directory if out_layer is None or out_layer.shipped else out_layer.directory
    return replace(spec, gold=gold, corpus=corpus, out=str(out / spec.out))


_OTHER_FIELDS = {*TABLES, "auto_level", "only", "file", "files", "locations", "_entries"}


#: The keys of [run], [variants.NAME] and [sweeps.NAME].
KEYS = tuple(f.name for f in fields(Spec) if f.name not in _OTHER_FIELDS)


VARIANT_KEYS = tuple(f.name for f in fields(Variant))


SWEEP_KEYS = tuple(f.name for f in fields(Sweep))
