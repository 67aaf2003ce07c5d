"""CSV with line numbers: a header, then rows that fit under it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.errors import GoldError
from assay.gold.place import Place
from assay.gold.source import Source
from assay.types import CorpusSpec


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
        return self.place.text(self.cells.get(column, ""), f"the column '{column}'")


@dataclass(frozen=True, slots=True)
class Table:
    """The columns and rows of a file; blank lines are no rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def header(text: str) -> tuple[str, ...]:
    """Give the column names of a CSV text, or none when it does not begin as one."""
    try:
        line = next(csv.reader(io.StringIO(text, newline=""), strict=True), [])
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


def require_corpus(source: Source, corpus: CorpusSpec | None) -> CorpusSpec:
    """Give the corpus, which no CSV names itself."""
    if corpus is None:
        raise source.at(1).error(
            "a CSV gold set names no corpus", "say where the code is: --corpus PATH, or corpus=... in Python"
        )
    return corpus


def _row(source: Source, columns: tuple[str, ...], line: int, cells: list[str]) -> Row:
    """Put the cells under their columns; missing ones at the end are empty."""
    if len(cells) > len(columns):
        raise source.at(line).error(
            f"the row has {len(cells)} cells, the header {len(columns)}", "put quotes around a text with commas in it"
        )
    return Row(dict(zip(columns, (cell.strip() for cell in cells), strict=False)), source.at(line))


def _lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank with the line it begins in."""
    reader = csv.reader(io.StringIO(source.text, newline=""), strict=True)
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
        begin = reader.line_num + 1


def _broken(source: Source, line: int, error: csv.Error) -> GoldError:
    """Say what the csv module found wrong."""
    return source.at(line).error(f"not CSV: {error}", 'check the quotes: a quote inside a quoted text is written ""')
