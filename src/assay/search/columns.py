"""A table as named arrays, for the file on disk, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from assay.search.store.strings import Strings, pack_strings
from assay.search.tables import Table

T = TypeVar("T")
Arrays = Mapping[str, NDArray[Any]]
_TEXTS = tuple[str, ...]


def table_arrays(table: Table) -> dict[str, NDArray[Any]]:
    """Name every column of a table."""
    arrays: dict[str, NDArray[Any]] = {}
    for group in fields(table):
        part = getattr(table, group.name)
        for column in fields(part):
            name, value = f"{group.name}.{column.name}", getattr(part, column.name)
            if isinstance(value, tuple):
                arrays[f"{name}.text"], arrays[f"{name}.offset"] = pack_strings(value)
            else:
                arrays[name] = np.ascontiguousarray(value)
    return arrays


def read_table(arrays: Arrays) -> Table:
    """Make a table of named columns; missing ones are a KeyError."""
    hints = _hints(Table)
    return Table(**{group.name: _read_part(hints[group.name], group.name, arrays) for group in fields(Table)})


def _read_part(record: type[T], group: str, arrays: Arrays) -> T:
    """Make one part of a table."""
    hints = _hints(cast(Any, record))
    values = {
        column.name: _read_texts(f"{group}.{column.name}", arrays)
        if hints[column.name] == _TEXTS
        else arrays[f"{group}.{column.name}"]
        for column in fields(cast(Any, record))
    }
    return record(**values)


@cache
def _hints(record: type) -> dict[str, Any]:
    """Give the types of a record's columns; finding them out takes longer than opening a file."""
    return get_type_hints(record)


def _read_texts(name: str, arrays: Arrays) -> tuple[str, ...]:
    """Read a column of strings."""
    return tuple(Strings(arrays[f"{name}.text"], arrays[f"{name}.offset"]).all())
