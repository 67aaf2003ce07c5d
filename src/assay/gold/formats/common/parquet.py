"""Parquet as JSON lines: row n is line n, so that every reader of JSON lines reads Parquet and names the row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import EnvironmentFailure, GoldError, install_hint
from assay.gold.place import Place

if TYPE_CHECKING:
    from types import ModuleType

    from pyarrow.parquet import ParquetFile

MAGIC = b"PAR1"
_INSTALL = install_hint("parquet")


@dataclass(frozen=True, slots=True)
class ParquetLimits:
    """How much of a file is unpacked: a few kilobytes of Parquet can stand for any number of rows."""

    rows: int = 1_000_000  # the largest set of this field, SWE-bench's training part, has 19,008
    bytes: int = 1_000_000_000  # of columns once unpacked; all of SWE-bench is under 200 MB
    batch: int = 1_000  # rows that are turned into text at once


def is_parquet(path: Path) -> bool:
    """Tell a Parquet file by its first bytes; a pipe, whose first bytes may never come, is none."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def rows_as_lines(path: Path, limits: ParquetLimits | None = None) -> str:
    """Read the rows of a Parquet file as one JSON object a line."""
    limits = limits or ParquetLimits()
    pyarrow = _pyarrow(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _check(file, path, limits)
            rows = (row for batch in file.iter_batches(limits.batch) for row in batch.to_pylist())
            return "".join(_lines(rows, str(path)))
    except (pyarrow.ArrowException, OSError, OverflowError, ValueError) as error:
        raise _broken(path, error) from error


def _pyarrow(path: Path) -> ModuleType:
    """Import the library that reads Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise EnvironmentFailure("reading Parquet needs pyarrow", file=path, hint=_INSTALL) from error
    module: ModuleType = pyarrow
    return module


def _check(file: ParquetFile, path: Path, limits: ParquetLimits) -> None:
    """Refuse a file that would not fit in memory, or whose columns cannot be told apart."""
    metadata = file.metadata
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if metadata.num_rows > limits.rows or size > limits.bytes:
        raise GoldError(
            f"{metadata.num_rows} rows of {size} bytes; at most {limits.rows} rows of {limits.bytes} bytes are read",
            file=path,
            hint="split the set",
        )
    names = file.schema_arrow.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GoldError(f"the column '{twice[0]}' stands twice", file=path, hint="keep one")


def _lines(rows: Iterator[Mapping[str, object]], file: str) -> Iterator[str]:
    """Write each row as a line; bytes become text, and what JSON has no word for is written as Python writes it."""
    for number, row in enumerate(rows, 1):
        try:
            yield json.dumps(row, default=_plain) + "\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise Place(file, number).error(
                f"row {number} cannot be read as text: {error}", "export it again"
            ) from error


def _plain(value: object) -> str:
    """Give a text for a value that JSON has no word for, such as a date."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _broken(path: Path, error: Exception) -> GoldError:
    """Say that a file is not sound Parquet; the library's message may go over several lines."""
    said = str(error).partition("\n")[0] or type(error).__name__
    return GoldError(f"not a Parquet file that can be read: {said}", file=path, hint="fetch or export it again")
