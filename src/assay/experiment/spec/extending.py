"""A file with all that it extends, the farthest first: files, lists of files, experiments that ship."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, meant
from assay.experiment.spec.layers import DROP, Keys, Layer
from assay.settings import flat, joined, parts
from assay.toml import read_toml

EXTENDS = "extends"
PRESET = "preset:"
#: The tables of a variant or a sweep whose keys are dotted settings.
_DOTTED = {"variants": ("set",), "sweeps": ("knobs", "parts")}
_SETTING = 3  # where the setting begins in variants.NAME.set.SETTING


def shipped_experiments() -> dict[str, Path]:
    """Find the experiments that ship, by name."""
    folder = Path(str(resources.files("assay.data") / "experiments"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)}


def file_layers(path: Path) -> tuple[Layer, ...]:
    """Read a file and what it extends; a file counts once, where it is needed first."""
    return tuple({layer.file and layer.file.resolve(): layer for layer in _reached(path, (), None)}.values())


def preset_layers(name: str) -> tuple[Layer, ...]:
    """Read an experiment that ships, and what it extends."""
    return file_layers(_shipped(name, None))


def flag_layer(text: str) -> Layer:
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
        return _normal(Layer(data, flag=flag))
    raise ConfigError(f"{flag}: cannot be read", hint="write it like --set run.k=20; odd names go in quotes")


def _reached(path: Path, chain: tuple[Path, ...], by: Layer | None) -> Iterator[Layer]:
    """Walk what a file extends, then the file."""
    real = path.resolve()
    if real in chain and by is not None:
        names = " → ".join(one.name for one in (*chain[chain.index(real) :], real))
        raise by.error(f"extends itself: {names}", "take one of them out", EXTENDS)
    file = read_toml(path, hint="make one with `assay init`")
    shipped = real in {one.resolve() for one in shipped_experiments().values()}
    layer = Layer(file.data, path, file.text, shipped=shipped)
    for named in _extended(layer):
        yield from _reached(_found(named, layer), (*chain, real), layer)
    yield _normal(Layer({k: v for k, v in file.data.items() if k != EXTENDS}, path, file.text, shipped=shipped))


def _extended(layer: Layer) -> Sequence[str]:
    """Read what a file extends."""
    value = layer.data.get(EXTENDS, [])
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(one, str) and one for one in named):
        raise layer.error(f"extends = {value!r}", 'a file or a list of files, or "preset:NAME"', EXTENDS)
    return named


def _found(named: str, layer: Layer) -> Path:
    """Find what a file extends, from its own folder."""
    if named.startswith(PRESET):
        return _shipped(named.removeprefix(PRESET), layer)
    path = layer.folder / named
    if not path.is_file():
        raise layer.error(f"extends {named!r}, which is no file", f"looked at {path}", EXTENDS)
    return path


def _shipped(name: str, layer: Layer | None) -> Path:
    """Find an experiment that ships."""
    known = shipped_experiments()
    if name in known:
        return known[name]
    hint = meant(name, known) or f"there are: {', '.join(known) or 'none'}"
    message = f"no experiment {name!r} ships"
    raise layer.error(message, hint, EXTENDS) if layer else ConfigError(f"--preset: {message}", hint=hint)


def _normal(layer: Layer) -> Layer:
    """Write the settings of variants and sweeps by their whole names, so that layers change one another's."""
    data = {key: value for key, value in layer.data.items() if key != DROP}
    for table, inner in _DOTTED.items():
        if isinstance(data.get(table), Mapping):
            data[table] = {name: _flattened(layer, (table, name), one, inner) for name, one in data[table].items()}
    return Layer(data, layer.file, layer.text, layer.flag, layer.shipped, tuple(_dropped(layer)))


def _dropped(layer: Layer) -> Iterator[Keys]:
    """Read what a layer takes out of what it extends: dotted names, such as variants.x."""
    value = layer.data.get(DROP, [])
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(one, str) and one for one in named):
        raise layer.error(f"{DROP} = {value!r}", 'a list of names, such as ["variants.x", "sweeps.try"]', DROP)
    for name in named:
        try:
            yield _settled(parts(name))
        except ConfigError as error:
            raise layer.error(f"{DROP}: {error.message}", error.hint, DROP) from error


def _settled(keys: Keys) -> Keys:
    """Write the setting that a name ends in as one key, with quotes or without: knobs are kept by their whole names."""
    dotted = len(keys) > _SETTING and keys[2] in _DOTTED.get(keys[0], ())
    at = _SETTING + 1 if dotted and keys[2] == "parts" else _SETTING
    if not dotted or len(keys) <= at:
        return keys
    return (*keys[:at], joined(parts(keys[at]) if len(keys) == at + 1 else keys[at:]))


def _flattened(layer: Layer, place: tuple[str, str], table: object, inner: Sequence[str]) -> object:
    """Write the dotted tables of one variant or sweep by whole names; what is no table is refused later."""
    if not isinstance(table, Mapping):
        return table
    changed: dict[str, Any] = dict(table)
    for key in inner:
        value = changed.get(key)
        if not isinstance(value, Mapping):
            continue
        try:
            changed[key] = {n: _part(v) for n, v in value.items()} if key == "parts" else flat(value)
        except ConfigError as error:
            raise layer.error(f"{key}: {error.message}", error.hint, *place, key) from error
    return changed


def _part(value: object) -> object:
    """Write the settings of one part by whole names."""
    return flat(value) if isinstance(value, Mapping) else value
