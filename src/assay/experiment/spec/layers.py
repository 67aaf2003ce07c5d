"""Several files and flags as one table, and who said what: a mistake is told where it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from assay.errors import ConfigError, meant
from assay.settings import joined, merge
from assay.toml import line_of

Keys = tuple[str, ...]
DROP = "drop"


@dataclass(frozen=True, slots=True)
class Layer:
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
class Sheet:
    """Layers as one table; each changes what those before it say."""

    layers: tuple[Layer, ...]
    data: Mapping[str, Any]
    said: Mapping[Keys, tuple[Layer, ...]] = field(repr=False)  # who says a key or something in it, in order

    def by(self, *keys: str) -> Layer | None:
        """Give the layer whose word counts for a key; None where nobody says it."""
        said = self.said.get(keys)
        return said[-1] if said else None

    def file_of(self, *keys: str) -> Layer | None:
        """Give the last file that says a key, or a flag where no file does."""
        said = self.said.get(keys, ())
        return next((layer for layer in reversed(said) if not layer.flag), said[-1] if said else None)

    def flags_of(self, *keys: str) -> tuple[str, ...]:
        """List the flags that change a table."""
        return tuple(layer.flag for layer in self.said.get(keys, ()) if layer.flag)

    def error(self, message: str, hint: str | None, *keys: str) -> ConfigError:
        """Say what is wrong with a key, where it is said; one that nobody says is the last file's matter."""
        files = [layer for layer in self.layers if not layer.flag]
        layer = self.by(*keys) or (files[-1] if files else Layer({}))
        return layer.error(message, hint, *keys) if self.by(*keys) else ConfigError(message, file=layer.file, hint=hint)


def stack(layers: Sequence[Layer]) -> Sheet:
    """Put layers on one another: tables are changed key by key, lists and single values are replaced."""
    data: dict[str, Any] = {}
    said: dict[Keys, tuple[Layer, ...]] = {}
    for layer in layers:
        for keys in layer.drop:
            data = _without(data, keys, layer)
            said = {name: by for name, by in said.items() if name[: len(keys)] != keys}
        data = merge(data, layer.data)
        for keys in _keys(layer.data):
            said[keys] = (*said.get(keys, ()), layer)
    return Sheet(tuple(layers), data, said)


def _without(table: Mapping[str, Any], keys: Keys, layer: Layer, above: Keys = ()) -> dict[str, Any]:
    """Take a key out of a table, or out of the tables in it; one that is not there is an error."""
    first, *rest = keys
    inner = table.get(first)
    if first not in table or (rest and not isinstance(inner, Mapping)):
        where = joined(above) or "the files before it"
        hint = meant(first, table) or f"{where} has: {', '.join(map(_shown, table)) or 'nothing'}"
        raise layer.error(f"{DROP}: nothing is called {joined((*above, *keys))} here", hint, DROP)
    if not rest:
        return {name: value for name, value in table.items() if name != first}
    return {**table, first: _without(cast(Mapping[str, Any], inner), tuple(rest), layer, (*above, first))}


def _shown(name: str) -> str:
    """Write one key as a file has it."""
    return joined((name,))


def _keys(table: Mapping[str, Any], outer: Keys = ()) -> Iterator[Keys]:
    """List the keys of a table and of the tables in it."""
    for key, value in table.items():
        yield (*outer, key)
        if isinstance(value, Mapping):
            yield from _keys(value, (*outer, key))
