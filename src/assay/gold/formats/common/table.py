"""CSV with line numbers: a header, then rows that fit under it; read, and written so that it reads back."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.errors import GoldError
from assay.gold.place import Place
from assay.gold.source import Source

_HEAD = 65_536  # characters a header is looked for in: a data set of another format may have a line of megabytes


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the cells by column, blanks around them dropped, and where it begins."""

    cells: Mapping[str, str]
    place: Place

    def get(self, column: str, default: str = "") -> str:
        """Give a cell, or the default where the column is missing or the cell empty."""
        return self.cells.get(column) or default

    def text(self, column: str) -> str:
        """Give a cell that says something."""
        return self.place.text(self.cells.get(column, ""), f"'{column}' of the row")


@dataclass(frozen=True, slots=True)
class Table:
    """The columns and rows of a file; blank lines are no rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def header(text: str) -> tuple[str, ...]:
    """Give the column names of a CSV text, or none when it does not begin as one."""
    try:
        line = next(csv.reader(io.StringIO(text[:_HEAD], newline=""), strict=True), [])
    except csv.Error:
        return ()
    return tuple(cell.strip() for cell in line)


def read_table(source: Source) -> Table:
    """Read all rows, or say in which line a row does not fit."""
    lines = _lines(source)
    columns = tuple(cell.strip() for cell in next(lines, (1, []))[1])
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise source.at(1).error(f"the column '{twice[0]}' stands twice in the header", "keep one")
    rows = tuple(_row(source, columns, line, cells) for line, cells in lines)
    if not rows:
        raise source.at(1).error("the gold set is empty", "add a row below the header")
    return Table(columns, rows)


def render_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a CSV text with one line a row, whatever the cells hold."""
    stream = io.StringIO(newline="")
    plain = csv.writer(stream, lineterminator="\n")
    quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for cells in (columns, *rows):
        # left to itself csv writes a bare carriage return unquoted, and reads a new row behind it
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
    return stream.getvalue()


def _row(source: Source, columns: tuple[str, ...], line: int, cells: list[str]) -> Row:
    """Put the cells under their columns; missing ones at the end are empty."""
    if len(cells) > len(columns):
        raise source.at(line).error(
            f"the row has {len(cells)} cells, the header {len(columns)}", "put quotes around a text with commas in it"
        )
    return Row(dict(zip(columns, (cell.strip() for cell in cells), strict=False)), source.at(line))


def _lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank with the line it begins in."""
    passed = [0]  # lines that are read; csv counts carriage returns inside a cell as well, an editor does not
    reader = csv.reader(_counted(io.StringIO(source.text, newline=""), passed), strict=True)
    begin = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _broken(source, begin, error) from error
        if cells is None:
            return
        if cells:
            yield begin, cells
        begin = passed[0] + 1


def _counted(stream: Iterable[str], passed: list[int]) -> Iterator[str]:
    """Yield the pieces of a text and count its lines."""
    for piece in stream:
        passed[0] += piece.endswith("\n")
        yield piece


def _broken(source: Source, line: int, error: csv.Error) -> GoldError:
    """Say what the csv module found wrong."""
    return source.at(line).error(f"not CSV: {error}", 'check the quotes: a quote inside a quoted text is written ""')
