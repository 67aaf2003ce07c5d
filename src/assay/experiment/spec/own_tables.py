"""Tables of assay.toml that a command reads for itself: checked by its record, mistakes told with their line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from assay.errors import ConfigError
from assay.experiment.spec import Spec
from assay.settings import read_settings

T = TypeVar("T")


def read_table(record: type[T], spec: Spec, name: str, values: Mapping[str, object]) -> T:
    """Build a record from a table of a specification; a key that is unknown or of the wrong type is an error."""
    try:
        return read_settings(record, values, f"[{name}]")
    except ConfigError as error:
        raise placed(error, spec, name, values) from error


def placed(error: ConfigError, spec: Spec, name: str, values: Mapping[str, object]) -> ConfigError:
    """Tell a mistake in a table where the key stands that its message names, or by the flag that said it last."""
    words = re.findall(r"[\w-]+", error.message)
    keys = sorted((key for key in values if key in words), key=words.index)
    place = next((spec.places[f"{name}.{key}"] for key in keys if f"{name}.{key}" in spec.places), None)
    if place and place.flags:
        return ConfigError(f"{place.flags[-1]}: {error.message}", hint=error.hint)
    file, line = (place.file, place.line) if place else (spec.file, None)
    return ConfigError(error.message, file=file, line=line, hint=error.hint)
