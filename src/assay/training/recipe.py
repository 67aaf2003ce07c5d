"""A recipe: the TOML file that says how a model is made. A key that nobody knows is an error with its line.

seed = 1
[vectors]
steps = 1000
hard.share = 0.25
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from assay.dotted import joined, leaves, nested
from assay.errors import ConfigError
from assay.settings import read_settings
from assay.toml import TomlFile, line_of, read_toml

T = TypeVar("T")


def read_recipe(path: Path, kind: type[T]) -> T:
    """Read a recipe of any kind; what it does not say is as there."""
    file = read_toml(path, hint="write a recipe, or leave --recipe out")
    _check(file, kind)
    config = read_settings(kind, file.data, "recipe")
    for dotted, field, value in settings_of(config, ""):
        if wanted := _breach(field, value):
            raise ConfigError(f"{dotted} = {value!r}", file=path, line=line_of(file.text, dotted), hint=wanted)
    return config


def _check(file: TomlFile, kind: type[T]) -> None:
    """Read each setting for itself, so that an error has its line."""
    for names, value in leaves(file.data):
        try:
            read_settings(kind, nested(names, value), "recipe")
        except ConfigError as error:
            line = line_of(file.text, joined(names))
            raise ConfigError(error.message, file=file.path, line=line, hint=error.hint) from error


def settings_of(record: object, prefix: str) -> Iterator[tuple[str, Field[Any], Any]]:
    """List the settings of a record and of the records in it, by dotted name."""
    for field in fields(cast(Any, record)):
        value = getattr(record, field.name)
        if is_dataclass(value):
            yield from settings_of(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field, value


def _breach(field: Field[Any], value: float) -> str | None:
    """Say what a number must be, if it is not."""
    least, most = field.metadata.get("least"), field.metadata.get("most")
    if (least is None or value >= least) and (most is None or value <= most):
        return None
    return f"it must be {least:g} or more" if most is None else f"it must be from {least:g} to {most:g}"
