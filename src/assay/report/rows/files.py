"""rows.json: one line a row, so that version control shows whose numbers changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.files import read_utf8
from assay.report.pages.plain import plain
from assay.report.rows.records import Row, Value

FILE = "rows.json"
_SCHEMA = "assay/rows/1"


def rows_text(rows: Iterable[Row]) -> str:
    """Write rows, each on a line of its own."""
    lines = ",\n".join(f"  {json.dumps(plain(asdict(row)), ensure_ascii=False, allow_nan=False)}" for row in rows)
    return f'{{\n "schema": "{_SCHEMA}",\n "rows": [\n{lines}\n ]\n}}\n'


def read_rows(folder: Path) -> tuple[Row, ...] | None:
    """Read the rows that earlier runs left; None where none was ever written."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        document = json.loads(read_utf8(path))
        if document["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}")
        return tuple(map(_row, document["rows"]))
    except (ValueError, TypeError, KeyError) as error:
        hint = "remove it: rows of engines that are not run any more go with it"
        raise InputError(f"cannot be read as rows of earlier runs: {error}", file=path, hint=hint) from error


def _row(row: Mapping[str, Any]) -> Row:
    """Read one row."""
    values = tuple(Value(**value) for value in row["values"])
    return Row(**{**row, "values": values, "forms": tuple(row["forms"])})
