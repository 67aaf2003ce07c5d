"""Write a CSV over the one it was read from: a row that says what it said stays as somebody wrote it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from assay.gold.building import row_id
from assay.gold.formats.common.table import Row, read_table, render_table
from assay.gold.source import Source


def restyled(source: Source, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Write rows by their ids; quotes, blank lines and line ends are those of the file, where it has the row."""
    table = read_table(source)
    end = "\r\n" if source.text.partition("\n")[0].endswith("\r") else "\n"
    raw = _raw(source, table.rows)
    before = {row_id(number): row for number, row in enumerate(table.rows, 1)}
    written = [_written(cells, before.get(name), raw.get(name, ""), end) for name, cells in rows.items()]
    head = raw[""] if list(table.columns) == list(columns) else _line(columns, end)
    return "".join(part if part.endswith("\n") else part + end for part in (head, *written))


def _raw(source: Source, rows: Sequence[Row]) -> dict[str, str]:
    """Cut a text into its rows, each with the blank lines below it; the header is called nothing."""
    lines = [f"{line}\n" for line in source.text.removesuffix("\n").split("\n")]
    starts = [1, *(row.place.line or 1 for row in rows), len(lines) + 1]
    names = ["", *(row_id(number) for number in range(1, len(rows) + 1))]
    spans = zip(names, starts[:-1], starts[1:], strict=True)
    return {name: "".join(lines[start - 1 : end - 1]) for name, start, end in spans}


def _written(cells: Sequence[str], row: Row | None, raw: str, end: str) -> str:
    """Keep a row that still says the same, in whatever order its results stand; else write it anew."""
    if row is not None and _says(cells) == _says(list(row.cells.values())):
        return raw
    return _line(cells, end, quoted=raw.startswith('"')) + raw[len(raw.rstrip("\r\n")) :].partition("\n")[2]


def _says(cells: Sequence[str]) -> tuple[str, list[str]]:
    """Give what a row says: its first cell, and the rest in any order."""
    return cells[0], sorted(cell for cell in cells[1:] if cell)


def _line(cells: Sequence[str], end: str, *, quoted: bool = False) -> str:
    """Write one row; its first cell in quotes where the row had them before."""
    text = render_table(cells, ())
    if not quoted or text.startswith('"'):
        return text.removesuffix("\n") + end
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="", quoting=csv.QUOTE_ALL).writerow(cells[:1])
    return f"{stream.getvalue()},{render_table(cells[1:], ())}".removesuffix("\n") + end
