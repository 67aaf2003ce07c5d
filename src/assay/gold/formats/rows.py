"""JSON lists of objects, each object with the line it begins in (the json module keeps none)."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import GoldError, SetupError, install_hint
from assay.gold.building import GoldLocation, GoldSource, SourceLimits, read_source
from assay.gold.native.nodes import suggest
from assay.syntax.text import line_at

if TYPE_CHECKING:
    from types import ModuleType

    from pyarrow.parquet import ParquetFile


_BLANK = re.compile(r"[ \t\n\r]*")
_LARGEST_ID = 10**18  # a number with thousands of digits is no id, and Python refuses to write it out
FIX = "check commas, quotes and brackets there"


class DuplicateKeyError(ValueError):
    """An object has one key twice; json would keep the last in silence."""


@dataclass(frozen=True, slots=True)
class Record:
    """An object, where it stands, and what it is called in messages."""

    values: Mapping[str, object]
    place: GoldLocation
    what: str = "an entry"

    def check_keys(self, known: Sequence[str], *, required: Sequence[str]) -> None:
        """Refuse unknown keys and the lack of required ones."""
        for key in self.values:
            if key not in known:
                raise self.place.error(f"unknown key '{key}' in {self.what}", suggest(key, known))
        for key in required:
            if key not in self.values:
                raise self.place.error(f"{self.what} lacks the key '{key}'", f'add "{key}"')

    def text(self, key: str) -> str:
        """Give a text that says something."""
        return self.verbatim(key).strip()

    def verbatim(self, key: str) -> str:
        """Give a text that says something, with the blanks around it."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.place.error(f"'{key}' of {self.what} is not a text", f'write "{key}": "..."')
        return self.place.text(value, f"'{key}' of {self.what}")

    def mapping(self, key: str) -> Record:
        """Give the object below a key."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.place.error(f"'{key}' of {self.what} is not an object", f'write "{key}": {{...}}')
        return Record(value, self.place, f"'{key}' of {self.what}")

    def word(self, key: str) -> str:
        """Give a text, or a whole number as it is written: ids are either."""
        value = self.values.get(key)
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID
        return str(self.number(key)) if whole else self.text(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Give a list of texts that say something."""
        entries = [Record({key: entry}, self.place, self.what) for entry in self.entries(key)]
        return tuple(entry.text(key) for entry in entries)

    def number(self, key: str) -> int:
        """Give a whole number."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.place.error(f"'{key}' of {self.what} is not a whole number", f'write "{key}": 1')
        return value

    def entries(self, key: str) -> Sequence[object]:
        """Give a list, empty when the key is missing."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.place.error(f"'{key}' of {self.what} is not a list", f'write "{key}": [...]')
        return value


@dataclass(frozen=True, slots=True)
class JsonListing:
    """A JSON object that holds a list of objects: the list, and what else the object says."""

    about: Record
    records: tuple[Record, ...]


def read_records(source: GoldSource) -> list[Record]:
    """Read a list of objects, or say in which line it is not one."""
    cursor = _Cursor(source)
    records = list(cursor.objects())
    cursor.end()
    if not records:
        raise source.at(1).error("the list is empty", "add an entry")
    return records


def read_listing(source: GoldSource, key: str) -> JsonListing:
    """Read an object whose `key` is a list of objects."""
    cursor = _Cursor(source)
    about: dict[str, object] = {}
    records: list[Record] | None = None
    place = cursor.place
    for name in cursor.members():
        if name in about or (name == key and records is not None):
            raise cursor.place.error(f"the key '{name}' stands twice", "keep one")
        if name == key:
            records = list(cursor.objects())
        else:
            about[name] = cursor.value()
    cursor.end()
    if not records:
        raise place.error(f"there is no entry in '{key}'", f'write "{key}": [{{...}}, ...]')
    return JsonListing(Record(about, place, "the set"), tuple(records))


class _Cursor:
    """A place in a JSON text that moves on as values are read; each object of a list knows its line."""

    def __init__(self, source: GoldSource) -> None:
        self._source = source
        self._text = source.text
        self._position = _skip(source.text, 0)
        self._counted = 0  # up to where lines are counted: the cursor only moves on, so no text is counted twice
        self._line = 1

    @property
    def place(self) -> GoldLocation:
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._source.at(self._line)

    def value(self) -> object:
        value, after = _decode(self._source, self._position)
        self._position = _skip(self._text, after)
        return value

    def objects(self) -> Iterator[Record]:
        self._expect("[", "list")
        if self._take("]"):
            return
        while True:
            place = self.place
            value = self.value()
            if not isinstance(value, dict):
                raise place.error("an entry of the list is not an object", "write it as {...}")
            yield Record(value, place)
            if self._take("]"):
                return
            self._expect(",", "list")

    def members(self) -> Iterator[str]:
        self._expect("{", "object")
        if self._take("}"):
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise self.place.error("a key of the object is not a text", FIX)
            self._expect(":", "object")
            yield key
            if self._take("}"):
                return
            self._expect(",", "object")

    def end(self) -> None:
        if self._position < len(self._text):
            raise self.place.error("there is more after the end of the JSON value", FIX)

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._position):
            return False
        self._position = _skip(self._text, self._position + 1)
        return True

    def _expect(self, mark: str, what: str) -> None:
        """Step over a mark that must be there."""
        if not self._take(mark):
            raise self.place.error(f"not a JSON {what}: '{mark}' expected", FIX)


def _decode(source: GoldSource, position: int) -> tuple[object, int]:
    try:
        return json.JSONDecoder(object_pairs_hook=unique_keys).raw_decode(source.text, position)
    except json.JSONDecodeError as error:
        raise source.at(error.lineno).error(f"not JSON: {error.msg}", FIX) from error
    except DuplicateKeyError as error:
        line = line_at(source.text, position)
        raise source.at(line).error(f"the key '{error}' stands twice in an entry", "keep one") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; brackets nested too deeply
        raise source.at(line_at(source.text, position)).error(f"not JSON: {error}", FIX) from error


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make a dict of pairs whose keys differ."""
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise DuplicateKeyError(key)
        values[key] = value
    return values


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def read_entries(source: GoldSource) -> list[Record]:
    """Read the objects of a file of JSON lines or of a JSON list; each is called after its place."""
    if _is_list(source):
        found = [(record.values, record.place) for record in read_records(source)]
    else:
        found = [(parse_object(text, place), place) for text, place in _lines(source)]
    if not found:
        raise source.at(1).error("the file is empty", "write one JSON object a line")
    return [Record(values, place, f"row {number}") for number, (values, place) in enumerate(found, 1)]


def parse_object(text: str, place: GoldLocation) -> Mapping[str, object]:
    """Parse one JSON object whose keys differ."""
    value = parse(text, place)
    if not isinstance(value, dict):
        raise place.error("not a JSON object", "write one object a line: {...}")
    return value


def parse(text: str, place: GoldLocation, what: str = "the line") -> object:
    """Parse one JSON value; objects with a key twice are refused."""
    try:
        value: object = json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise place.error(f"{what} is not JSON: {error.msg} at character {error.pos + 1}", FIX) from error
    except DuplicateKeyError as error:
        raise place.error(f"the key '{error}' stands twice in {what}", "keep one") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; brackets nested too deeply
        raise place.error(f"{what} is not JSON: {error}", FIX) from error
    return value


def unread(records: Sequence[Record], read: Sequence[str]) -> dict[str, str]:
    """Say, as provenance, which keys of the entries are not read."""
    keys = sorted({key for record in records for key in record.values}.difference(read))
    return {"not read": ", ".join(keys)} if keys else {}


def _is_list(source: GoldSource) -> bool:
    return source.text.lstrip(" \t\r\n").startswith("[")


def _lines(source: GoldSource) -> Iterator[tuple[str, GoldLocation]]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            yield line, source.at(number)


_HEAD = 65_536  # characters a header is looked for in: a data set of another format may have a line of megabytes


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A row: the cells by column, blanks around them dropped, and where it begins."""

    cells: Mapping[str, str]
    place: GoldLocation

    def get(self, column: str, default: str = "") -> str:
        """Give a cell, or the default where the column is missing or the cell empty."""
        return self.cells.get(column) or default

    def text(self, column: str) -> str:
        """Give a cell that says something."""
        return self.place.text(self.cells.get(column, ""), f"'{column}' of the row")


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The columns and rows of a file; blank lines are no rows."""

    columns: tuple[str, ...]
    rows: tuple[CsvRow, ...]


def header(text: str) -> tuple[str, ...]:
    """Give the column names of a CSV text, or none when it does not begin as one."""
    try:
        line = next(csv.reader(io.StringIO(text[:_HEAD], newline=""), strict=True), [])
    except csv.Error:
        return ()
    return tuple(cell.strip() for cell in line)


def read_table(source: GoldSource) -> CsvTable:
    """Read all rows, or say in which line a row does not fit."""
    lines = _lines_table(source)
    columns = tuple(cell.strip() for cell in next(lines, (1, []))[1])
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise source.at(1).error(f"the column '{twice[0]}' stands twice in the header", "keep one")
    rows = tuple(_row(source, columns, line, cells) for line, cells in lines)
    if not rows:
        raise source.at(1).error("the gold set is empty", "add a row below the header")
    return CsvTable(columns, rows)


def render_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a CSV text with one line a row, whatever the cells hold."""
    stream = io.StringIO(newline="")
    plain = csv.writer(stream, lineterminator="\n")
    quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for cells in (columns, *rows):
        # left to itself csv writes a bare carriage return unquoted, and reads a new row behind it
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
    return stream.getvalue()


def _row(source: GoldSource, columns: tuple[str, ...], line: int, cells: list[str]) -> CsvRow:
    if len(cells) > len(columns):
        raise source.at(line).error(
            f"the row has {len(cells)} cells, the header {len(columns)}", "put quotes around a text with commas in it"
        )
    return CsvRow(dict(zip(columns, (cell.strip() for cell in cells), strict=False)), source.at(line))


def _lines_table(source: GoldSource) -> Iterator[tuple[int, list[str]]]:
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
    for piece in stream:
        passed[0] += piece.endswith("\n")
        yield piece


def _broken(source: GoldSource, line: int, error: csv.Error) -> GoldError:
    return source.at(line).error(f"not CSV: {error}", 'check the quotes: a quote inside a quoted text is written ""')


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
            return "".join(_lines_parquet(rows, str(path)))
    except (pyarrow.ArrowException, OSError, OverflowError, ValueError) as error:
        raise _broken_parquet(path, error) from error


def _pyarrow(path: Path) -> ModuleType:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise SetupError("reading Parquet needs pyarrow", file=path, hint=_INSTALL) from error
    module: ModuleType = pyarrow
    return module


def _check(file: ParquetFile, path: Path, limits: ParquetLimits) -> None:
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


def _lines_parquet(rows: Iterator[Mapping[str, object]], file: str) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        try:
            yield json.dumps(row, default=_plain) + "\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise GoldLocation(file, number).error(
                f"row {number} cannot be read as text: {error}", "export it again"
            ) from error


def _plain(value: object) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _broken_parquet(path: Path, error: Exception) -> GoldError:
    said = str(error).partition("\n")[0] or type(error).__name__
    return GoldError(f"not a Parquet file that can be read: {said}", file=path, hint="fetch or export it again")


#: Data sets are larger than what somebody wrote: CrossCodeEval's Python part, with its retrieved code, has some 60 MB.
DATA_SET = SourceLimits(bytes=256_000_000)
_DATA_SETS = frozenset({".jsonl", ".parquet"})


def open_source(path: Path) -> GoldSource:
    """Read a gold file; every format then sees text with lines. Row n of a Parquet file is line n."""
    if is_parquet(path):
        return GoldSource(path, rows_as_lines(path))
    return read_source(path, DATA_SET if path.suffix in _DATA_SETS else None)


_FIRST = re.compile(r"\S")


def opening(source: GoldSource) -> str:
    """Give the first character that is not blank; a data set is large, so nothing of it is copied."""
    match = _FIRST.search(source.text)
    return match[0] if match else ""


def json_has(source: GoldSource, brackets: str, *keys: str) -> bool:
    """Tell whether a text begins as JSON with one of the brackets and has all of the keys, at whatever depth.

    Inside a JSON text a quote is escaped, so a query that speaks of a key is not taken for one.
    """
    return opening(source) in tuple(brackets) and all(_has_key(source, key) for key in keys)


def yaml_has(source: GoldSource, *keys: str) -> bool:
    """Tell whether a text has all of the keys at its left margin, or as JSON, or as the first of a flow mapping."""
    if opening(source) in ("{", "["):
        return all(_has_key(source, key) or re.match(rf"\s*\{{\s*['\"]?{key}['\"]?\s*:", source.text) for key in keys)
    return all(re.search(rf"""^["']?{key}["']?\s*:""", source.text, re.MULTILINE) for key in keys)


def _has_key(source: GoldSource, key: str) -> bool:
    return re.search(rf'"{re.escape(key)}"\s*:', source.text) is not None
