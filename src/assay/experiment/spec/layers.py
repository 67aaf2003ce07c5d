"""Merge several files and flags into one table and remember where each key came from."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assay.errors import ConfigError, did_you_mean
from assay.settings import apply_overrides, flatten, leaves, merge, split_key
from assay.toml import line_of, read_toml, write_key

if TYPE_CHECKING:
    from assay.experiment.spec.model import Settings, Spec


Keys = tuple[str, ...]
DROP = "drop"


@dataclass(frozen=True, slots=True)
class ConfigLayer:
    """What one file says, or one flag."""

    data: Mapping[str, Any]
    file: Path | None = None
    text: str = field(default="", repr=False)
    flag: str = ""  # as it was given, such as --set run.k=20
    shipped: bool = False  # a file of the wheel, where nothing is written
    drop: tuple[Keys, ...] = ()  # what it takes out of what those before it say

    @property
    def folder(self) -> Path:
        """Where its relative paths begin."""
        return self.file.parent if self.file else Path()

    def line(self, *keys: str) -> int | None:
        """Find the line of a key, or else of the table that it stands in."""
        lines = (line_of(self.text, ".".join(keys[:end])) for end in range(len(keys), 0, -1))
        return next((line for line in lines if line is not None), None)

    def error(self, message: str, hint: str | None, *keys: str) -> ConfigError:
        """Say what is wrong with a key of it."""
        if self.flag:
            return ConfigError(f"{self.flag}: {message}", hint=hint)
        return ConfigError(message, file=self.file, line=self.line(*keys), hint=hint)


@dataclass(frozen=True, slots=True)
class MergedConfig:
    """Layers as one table; each changes what those before it say."""

    layers: tuple[ConfigLayer, ...]
    data: Mapping[str, Any]
    said: Mapping[Keys, tuple[ConfigLayer, ...]] = field(repr=False)  # who says a key or something in it, in order

    def by(self, *keys: str) -> ConfigLayer | None:
        """Give the layer whose word counts for a key; None where nobody says it."""
        said = self.said.get(keys)
        return said[-1] if said else None

    def file_of(self, *keys: str) -> ConfigLayer | None:
        """Give the last file that says a key, or a flag where no file does."""
        said = self.said.get(keys, ())
        return next((layer for layer in reversed(said) if not layer.flag), said[-1] if said else None)

    def flags_of(self, *keys: str) -> tuple[str, ...]:
        """List the flags that change a table."""
        return tuple(layer.flag for layer in self.said.get(keys, ()) if layer.flag)

    def error(self, message: str, hint: str | None, *keys: str) -> ConfigError:
        """Say what is wrong with a key, where it is said; one that nobody says is the last file's matter."""
        files = [layer for layer in self.layers if not layer.flag]
        layer = self.by(*keys) or (files[-1] if files else ConfigLayer({}))
        return layer.error(message, hint, *keys) if self.by(*keys) else ConfigError(message, file=layer.file, hint=hint)


def stack(layers: Sequence[ConfigLayer]) -> MergedConfig:
    """Put layers on one another: tables are changed key by key, lists and single values are replaced."""
    data: dict[str, Any] = {}
    said: dict[Keys, tuple[ConfigLayer, ...]] = {}
    for layer in layers:
        for keys in layer.drop:
            data = _without(data, keys, layer)
            said = {name: by for name, by in said.items() if name[: len(keys)] != keys}
        data = merge(data, layer.data)
        for keys in _keys(layer.data):
            said[keys] = (*said.get(keys, ()), layer)
    return MergedConfig(tuple(layers), data, said)


def _without(table: Mapping[str, Any], keys: Keys, layer: ConfigLayer, above: Keys = ()) -> dict[str, Any]:
    first, *rest = keys
    inner = table.get(first)
    if first not in table or (rest and not isinstance(inner, Mapping)):
        where = write_key(above) or "the files before it"
        hint = did_you_mean(first, table) or f"{where} has: {', '.join(map(_shown, table)) or 'nothing'}"
        raise layer.error(f"{DROP}: nothing is called {write_key((*above, *keys))} here", hint, DROP)
    if not rest:
        return {name: value for name, value in table.items() if name != first}
    return {**table, first: _without(cast(Mapping[str, Any], inner), tuple(rest), layer, (*above, first))}


def _shown(name: str) -> str:
    return write_key((name,))


def _keys(table: Mapping[str, Any], outer: Keys = ()) -> Iterator[Keys]:
    for key, value in table.items():
        yield (*outer, key)
        if isinstance(value, Mapping):
            yield from _keys(value, (*outer, key))


EXTENDS = "extends"
PRESET = "preset:"
#: The tables of a variant or a sweep whose keys are dotted settings.
_DOTTED = {"variants": ("set",), "sweeps": ("knobs", "parts")}
_SETTING = 3  # where the setting begins in variants.NAME.set.SETTING


def shipped_experiments() -> dict[str, Path]:
    """Find the experiments that ship, by name."""
    folder = Path(str(resources.files("assay.data") / "experiments"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)}


def file_layers(path: Path) -> tuple[ConfigLayer, ...]:
    """Read a file and what it extends; a file counts once, where it is needed first."""
    return tuple({layer.file and layer.file.resolve(): layer for layer in _reached(path, (), None)}.values())


def preset_layers(name: str) -> tuple[ConfigLayer, ...]:
    """Read an experiment that ships, and what it extends."""
    return file_layers(_shipped(name, None))


def flag_layer(text: str) -> ConfigLayer:
    """Read `TABLE.KEY=VALUE`; the value is TOML, and a text needs no quotes."""
    flag = f"--set {text}"
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"{flag}: there is no value", hint="write it like --set run.k=20")
    for written in (text, f"{key} = {json.dumps(value.strip())}"):
        try:
            data = tomllib.loads(written)
        except tomllib.TOMLDecodeError:
            continue
        return _normal(ConfigLayer(data, flag=flag))
    raise ConfigError(f"{flag}: cannot be read", hint="write it like --set run.k=20; odd names go in quotes")


def _reached(path: Path, chain: tuple[Path, ...], by: ConfigLayer | None) -> Iterator[ConfigLayer]:
    real = path.resolve()
    if real in chain and by is not None:
        names = " → ".join(one.name for one in (*chain[chain.index(real) :], real))
        raise by.error(f"extends itself: {names}", "take one of them out", EXTENDS)
    file = read_toml(path, hint="make one with `assay init`")
    shipped = real in {one.resolve() for one in shipped_experiments().values()}
    layer = ConfigLayer(file.data, path, file.text, shipped=shipped)
    for named in _extended(layer):
        yield from _reached(_found(named, layer), (*chain, real), layer)
    yield _normal(ConfigLayer({k: v for k, v in file.data.items() if k != EXTENDS}, path, file.text, shipped=shipped))


def _extended(layer: ConfigLayer) -> Sequence[str]:
    value = layer.data.get(EXTENDS, [])
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(one, str) and one for one in named):
        raise layer.error(f"extends = {value!r}", 'a file or a list of files, or "preset:NAME"', EXTENDS)
    return named


def _found(named: str, layer: ConfigLayer) -> Path:
    if named.startswith(PRESET):
        return _shipped(named.removeprefix(PRESET), layer)
    path = layer.folder / named
    if not path.is_file():
        raise layer.error(f"extends {named!r}, which is no file", f"looked at {path}", EXTENDS)
    return path


def _shipped(name: str, layer: ConfigLayer | None) -> Path:
    known = shipped_experiments()
    if name in known:
        return known[name]
    hint = did_you_mean(name, known) or f"there are: {', '.join(known) or 'none'}"
    message = f"no experiment {name!r} ships"
    raise layer.error(message, hint, EXTENDS) if layer else ConfigError(f"--preset: {message}", hint=hint)


def _normal(layer: ConfigLayer) -> ConfigLayer:
    """Write the settings of variants and sweeps by their whole names, so that layers change one another's."""
    data = {key: value for key, value in layer.data.items() if key != DROP}
    for table, inner in _DOTTED.items():
        if isinstance(data.get(table), Mapping):
            data[table] = {name: _flattened(layer, (table, name), one, inner) for name, one in data[table].items()}
    return ConfigLayer(data, layer.file, layer.text, layer.flag, layer.shipped, tuple(_dropped(layer)))


def _dropped(layer: ConfigLayer) -> Iterator[Keys]:
    value = layer.data.get(DROP, [])
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(one, str) and one for one in named):
        raise layer.error(f"{DROP} = {value!r}", 'a list of names, such as ["variants.x", "sweeps.try"]', DROP)
    for name in named:
        try:
            yield _settled(split_key(name))
        except ConfigError as error:
            raise layer.error(f"{DROP}: {error.message}", error.hint, DROP) from error


def _settled(keys: Keys) -> Keys:
    dotted = len(keys) > _SETTING and keys[2] in _DOTTED.get(keys[0], ())
    at = _SETTING + 1 if dotted and keys[2] == "parts" else _SETTING
    if not dotted or len(keys) <= at:
        return keys
    return (*keys[:at], write_key(split_key(keys[at]) if len(keys) == at + 1 else keys[at:]))


def _flattened(layer: ConfigLayer, place: tuple[str, str], table: object, inner: Sequence[str]) -> object:
    if not isinstance(table, Mapping):
        return table
    changed: dict[str, Any] = dict(table)
    for key in inner:
        value = changed.get(key)
        if not isinstance(value, Mapping):
            continue
        try:
            changed[key] = {n: _part(v) for n, v in value.items()} if key == "parts" else flatten(value)
        except ConfigError as error:
            raise layer.error(f"{key}: {error.message}", error.hint, *place, key) from error
    return changed


def _part(value: object) -> object:
    return flatten(value) if isinstance(value, Mapping) else value


_PREFIX = "ASSAY_SEARCH"
_KIND = "builtin"


def with_environment(settings: Settings, folder: Path = Path(), flags: Sequence[str] = ()) -> Settings:
    """Return the settings of an engine; those of the built-in one with what the environment says and no flag does."""
    if not _variables() or not _is_builtin(settings, folder):
        return settings
    from assay.engines import engine_table
    from assay.engines.builtin import environment_settings

    given = environment_settings(os.environ)
    flagged = {setting for flag in flags for setting in _settings(flag)}
    changes = {key: value for key, value in given.items() if split_key(key) not in flagged}
    return apply_overrides(engine_table(settings) if isinstance(settings, str) else settings, changes)


def environment_note(spec: Spec) -> str:
    """Return which variables apply to which engines; empty if none does."""
    variables = _variables()
    names = [one.name for one in spec.subjects() if variables and _is_builtin(one.settings, one.place.folder)]
    return f"{', '.join(variables)} from the environment applied to {', '.join(names)}" if names else ""


def _variables() -> list[str]:
    return sorted(name for name in os.environ if name.startswith(_PREFIX))


def _is_builtin(settings: Settings, folder: Path) -> bool:
    from assay.engines import engine_table

    table: Mapping[str, Any] = engine_table(settings) if isinstance(settings, str) else settings
    if "preset" not in table:
        return table.get("kind") == _KIND
    from assay.engines.presets import load_preset
    from assay.errors import ConfigError

    try:
        return load_preset(str(table["preset"]), folder).kind == _KIND
    except ConfigError:  # an unknown preset is reported where the engine is made
        return False


def _settings(flag: str) -> Iterator[tuple[str, ...]]:
    """Yield the settings of an engine that a flag such as `--set engines.mine.search.stem.files=0.4` changes."""
    for keys, _ in leaves(flag_layer(flag.removeprefix("--set ")).data):
        yield keys[2:]
