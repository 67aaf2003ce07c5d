"""rows.json: one line a row, so that version control shows whose numbers changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.experiment.records.layout import ROWS
from assay.files import read_utf8
from assay.report.pages.plain import plain
from assay.report.rows.records import Row, Value

_SCHEMA = "assay/rows/1"


def rows_text(rows: Iterable[Row]) -> str:
    """Write rows, each on a line of its own."""
    lines = ",\n".join(f"  {json.dumps(plain(_line(row)), ensure_ascii=False, allow_nan=False)}" for row in rows)
    return f'{{\n "schema": "{_SCHEMA}",\n "rows": [\n{lines}\n ]\n}}\n'


def _line(row: Row) -> dict[str, object]:
    """Give a row with the hash of its corpora that tables show, so that it can be looked up."""
    return {**asdict(row), "corpora_hash": row.corpora_hash}


def read_rows(folder: Path) -> tuple[Row, ...] | None:
    """Read the rows that earlier runs left; None where none was ever written."""
    path = folder / ROWS
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
    given = {key: value for key, value in row.items() if key != "corpora_hash"}  # it follows from the corpora
    return Row(**{**given, "values": values, "forms": tuple(row["forms"])})
