"""Read rows with line numbers from JSON, JSON Lines, CSV and Parquet files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import GoldError, SetupError, install_hint
from assay.gold.build import GoldLocation, GoldSource, first_repeat, read_source, suggest

#: Bytes; CrossCodeEval's Python part, with its retrieved code, has 60 MB.
_LARGEST_DATA_SET = 256_000_000


def open_source(path: Path) -> GoldSource:
    """Read a gold file as text; each row of a Parquet file becomes one line of JSON."""
    if is_parquet(path):
        return GoldSource(path, parquet_to_json_lines(path))
    return read_source(path, _LARGEST_DATA_SET) if path.suffix in (".jsonl", ".parquet") else read_source(path)


def first_character(source: GoldSource) -> str:
    match = re.search(r"\S", source.text)
    return match[0] if match else ""


def json_has(source: GoldSource, brackets: str, *keys: str) -> bool:
    """Return whether a text starts with one of the brackets and has all keys as JSON keys, at any depth.

    Quotes are escaped inside JSON strings, so a query that mentions a key does not match.
    """
    return first_character(source) in tuple(brackets) and all(_has_key(source, key) for key in keys)


def json_matcher(brackets: str, *keys: str) -> Callable[[GoldSource], bool]:
    return lambda source: json_has(source, brackets, *keys)


def yaml_has(source: GoldSource, *keys: str) -> bool:
    """Return whether all keys appear as keys of a YAML or JSON text, without parsing it."""
    if first_character(source) in ("{", "["):
        return all(_has_key(source, key) or re.match(rf"\s*\{{\s*['\"]?{key}['\"]?\s*:", source.text) for key in keys)
    return all(re.search(rf"""^["']?{key}["']?\s*:""", source.text, re.MULTILINE) for key in keys)


def _has_key(source: GoldSource, key: str) -> bool:
    return re.search(rf'"{re.escape(key)}"\s*:', source.text) is not None


_LARGEST_ID = 10**18  # Python cannot format numbers with thousands of digits


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """A JSON object with its location and its name in messages."""

    values: Mapping[str, object]
    location: GoldLocation
    subject: str = "an entry"

    def check_keys(self, known: Sequence[str], *, required: Sequence[str]) -> None:
        for key in self.values:
            if key not in known:
                raise self.location.error(f"unknown key '{key}' in {self.subject}", suggest(key, known))
        for key in required:
            if key not in self.values:
                raise self.location.error(f"missing key '{key}' in {self.subject}", f'add "{key}"')

    def text(self, key: str) -> str:
        return self.verbatim(key).strip()

    def verbatim(self, key: str) -> str:
        """Return the string at `key` unstripped; raise if it is missing, blank or not a string."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self._type_error(key, "a string", '"..."')
        return self.location.text(value, f"'{key}' of {self.subject}")

    def mapping(self, key: str) -> JsonRecord:
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self._type_error(key, "an object", "{...}")
        return JsonRecord(value, self.location, f"'{key}' of {self.subject}")

    def word(self, key: str) -> str:
        value = self.values.get(key)
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID
        return str(value) if whole else self.text(key)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(JsonRecord({key: entry}, self.location, self.subject).text(key) for entry in self.entries(key))

    def number(self, key: str) -> int:
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._type_error(key, "an integer", "1")
        return value

    def entries(self, key: str) -> Sequence[object]:
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self._type_error(key, "a list", "[...]")
        return value

    def _type_error(self, key: str, expected: str, example: str) -> GoldError:
        got = json_kind(self.values[key]) if key in self.values else "nothing"
        message = f"'{key}' of {self.subject}: expected {expected}, got {got}"
        return self.location.error(message, f'write "{key}": {example}')


def json_kind(value: object) -> str:
    """Return the kind of a value for messages, such as "a string" or "null"."""
    kinds = {str: "a string", bool: "a boolean", dict: "an object", int: "a number", float: "a number"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")


def read_records(source: GoldSource) -> list[JsonRecord]:
    cursor = _Cursor(source)
    records = list(cursor.objects())
    cursor.end()
    if not records:
        raise source.at(1).error("the list is empty", "add an entry")
    return records


def read_listing(source: GoldSource, key: str) -> tuple[JsonRecord, list[JsonRecord]]:
    """Read a JSON object with a list of objects under `key`; return the other members and the list."""
    cursor = _Cursor(source)
    about: dict[str, object] = {}
    records: list[JsonRecord] | None = None
    location = cursor.location
    for name in cursor.members():
        if name in about or (name == key and records is not None):
            raise cursor.location.error(f"duplicate key '{name}'", "remove one")
        if name == key:
            records = list(cursor.objects())
        else:
            about[name] = cursor.value()
    cursor.end()
    if not records:
        raise location.error(f"no entry in '{key}'", f'write "{key}": [{{...}}, ...]')
    return JsonRecord(about, location, "the set"), records


def read_entries(source: GoldSource) -> list[JsonRecord]:
    if first_character(source) == "[":
        records = read_records(source)
    else:
        lines = enumerate(source.text.split("\n"), 1)
        records = [_parse_line(line, source.at(number)) for number, line in lines if line.strip()]
    if not records:
        raise source.at(1).error("the file is empty", "write one JSON object per line")
    return [replace(record, subject=f"row {number}") for number, record in enumerate(records, 1)]


def _parse_line(line: str, location: GoldLocation) -> JsonRecord:
    value = parse_json(line, location)
    if not isinstance(value, dict):
        raise location.error(f"expected a JSON object, got {json_kind(value)}", "write one object per line: {...}")
    return JsonRecord(value, location)


def describe_unread(records: Sequence[JsonRecord], read: Sequence[str]) -> dict[str, str]:
    """Return a provenance entry that lists the keys of the records that are not in `read`; empty if there are none."""
    keys = sorted({key for record in records for key in record.values}.difference(read))
    return {"not read": ", ".join(keys)} if keys else {}


_BLANK = re.compile(r"[ \t\n\r]*")
_FIX = "check commas, quotes and brackets"


class _DuplicateKeyError(ValueError):
    """A duplicate key in a JSON object, which the json module would accept."""


class _Cursor:
    """A cursor in a JSON text that tracks line numbers, which the json module does not report."""

    def __init__(self, source: GoldSource) -> None:
        self._source = source
        self._text = source.text
        self._counted = 0  # end of the text whose lines are counted
        self._line = 1
        self._move(0)

    @property
    def location(self) -> GoldLocation:
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._source.at(self._line)

    def value(self) -> object:
        try:
            value, after = _DECODER.raw_decode(self._text, self._position)
        except json.JSONDecodeError as error:
            raise _json_error(error, self._source.at(error.lineno)) from error
        except (ValueError, RecursionError) as error:
            raise _json_error(error, self.location) from error
        self._move(after)
        return value

    def objects(self) -> Iterator[JsonRecord]:
        for _ in self._items("[", "]", "list"):
            location = self.location
            value = self.value()
            if not isinstance(value, dict):
                raise location.error(
                    f"expected an object in the list, got {json_kind(value)}", "write the entry as {...}"
                )
            yield JsonRecord(value, location)

    def members(self) -> Iterator[str]:
        for _ in self._items("{", "}", "object"):
            key = self.value()
            if not isinstance(key, str):
                raise self.location.error(f"expected a string as a key of the object, got {json_kind(key)}", _FIX)
            self._expect(":", "object")
            yield key

    def _items(self, opening: str, closing: str, subject: str) -> Iterator[None]:
        self._expect(opening, subject)
        if self._take(closing):
            return
        yield
        while not self._take(closing):
            self._expect(",", subject)
            yield

    def end(self) -> None:
        if self._position < len(self._text):
            raise self.location.error("unexpected text after the JSON value", _FIX)

    def _move(self, position: int) -> None:
        blank = _BLANK.match(self._text, position)
        assert blank  # the pattern matches the empty text
        self._position = blank.end()

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._position):
            return False
        self._move(self._position + 1)
        return True

    def _expect(self, mark: str, subject: str) -> None:
        if not self._take(mark):
            raise self.location.error(f"invalid JSON {subject}: expected '{mark}'", _FIX)


def parse_json(text: str, location: GoldLocation, subject: str = "") -> object:
    """Parse a JSON value; raise on invalid JSON and on duplicate keys."""
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _json_error(error, location, subject, f" at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise _json_error(error, location, subject) from error
    return value


def _json_error(error: Exception, location: GoldLocation, subject: str = "", position: str = "") -> GoldError:
    if isinstance(error, _DuplicateKeyError):
        return location.error(f"duplicate key '{error}' in {subject or 'an entry'}", "remove one")
    # other errors: a number of thousands of digits; brackets nested too deeply
    reason = error.msg if isinstance(error, json.JSONDecodeError) else error
    return location.error(f"invalid JSON{f' in {subject}' if subject else ''}: {reason}{position}", _FIX)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _DuplicateKeyError(first_repeat(key for key, _ in pairs))
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)

_HEAD = 65_536  # characters; lines of other formats can have megabytes


@dataclass(frozen=True, slots=True)
class CsvRow:
    cells: Mapping[str, str]
    location: GoldLocation

    def get(self, column: str, default: str = "") -> str:
        return self.cells.get(column) or default

    def text(self, column: str) -> str:
        return self.location.text(self.cells.get(column, ""), f"'{column}' of the row")


def read_header(text: str) -> tuple[str, ...]:
    """Return the column names of a CSV text, or an empty tuple if its first row is not valid CSV."""
    try:
        line = next(csv.reader(io.StringIO(text[:_HEAD], newline=""), strict=True), [])
    except csv.Error:
        return ()
    return tuple(cell.strip() for cell in line)


def read_table(source: GoldSource) -> tuple[tuple[str, ...], list[CsvRow]]:
    """Return the columns and rows of a CSV file, without blank lines; raise if there are no rows."""
    lines = _csv_lines(source)
    columns = tuple(next(lines, (1, []))[1])
    if (repeated := first_repeat(columns)) is not None:
        raise source.at(1).error(f"duplicate column '{repeated}' in the header", "remove one")
    rows: list[CsvRow] = []
    for line, cells in lines:
        if len(cells) > len(columns):
            hint = "quote cells that contain commas"
            raise source.at(line).error(f"expected at most {len(columns)} cells, got {len(cells)}", hint)
        rows.append(CsvRow(dict(zip(columns, cells, strict=False)), source.at(line)))
    if not rows:
        raise source.at(1).error("the gold set is empty", "add a row below the header")
    return columns, rows


def _csv_lines(source: GoldSource) -> Iterator[tuple[int, list[str]]]:
    passed = 0  # lines read so far; csv also counts carriage returns inside cells

    def pieces() -> Iterator[str]:
        nonlocal passed
        for piece in io.StringIO(source.text, newline=""):
            passed += piece.endswith("\n")
            yield piece

    reader = csv.reader(pieces(), strict=True)
    while True:
        begin = passed + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            hint = "check the quotes; double a quote inside a quoted cell"
            raise source.at(begin).error(f"invalid CSV: {error}", hint) from error
        if cells is None:
            return
        if cells:
            yield begin, [cell.strip() for cell in cells]


def render_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO(newline="")
    plain = csv.writer(stream, lineterminator="\n")
    quoted = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for cells in (columns, *rows):
        # csv does not quote a bare carriage return, but reads it as the end of a row
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
    return stream.getvalue()


@dataclass(frozen=True, slots=True)
class ParquetLimits:
    rows: int = 1_000_000  # SWE-bench's training part, the largest known set, has 19,008
    bytes: int = 1_000_000_000  # of unpacked columns; all of SWE-bench is under 200 MB
    batch: int = 1_000  # rows per batch


def is_parquet(path: Path) -> bool:
    """Return whether a regular file starts with the Parquet signature; pipes are not read, since they may block."""
    with suppress(OSError), path.open("rb") if path.is_file() else io.BytesIO() as stream:
        return stream.read(4) == b"PAR1"
    return False


def parquet_to_json_lines(path: Path, limits: ParquetLimits | None = None) -> str:
    limits = limits or ParquetLimits()
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise SetupError("reading Parquet needs pyarrow", file=path, hint=install_hint("parquet")) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            metadata = file.metadata
            size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            if metadata.num_rows > limits.rows or size > limits.bytes:
                most = f"expected at most {limits.rows} rows and {limits.bytes} bytes"
                message = f"file too large: {most}, got {metadata.num_rows} rows and {size} bytes"
                raise GoldError(message, file=path, hint="divide the file into several gold sets")
            if (repeated := first_repeat(file.schema_arrow.names)) is not None:
                raise GoldError(f"duplicate column '{repeated}'", file=path, hint="remove one")
            rows = (row for batch in file.iter_batches(limits.batch) for row in batch.to_pylist())
            return "".join(_json_line(row, path, number) for number, row in enumerate(rows, 1))
    except (pyarrow.ArrowException, OSError, OverflowError, ValueError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        hint = "download or export the file again"
        raise GoldError(f"cannot read the Parquet file: {reason}", file=path, hint=hint) from error


def _json_line(row: Mapping[str, object], path: Path, number: int) -> str:
    try:
        return json.dumps(row, default=lambda v: v.decode("utf-8") if isinstance(v, bytes) else str(v)) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        message = f"cannot read row {number} as text: {error}"
        raise GoldError(message, file=path, line=number, hint="export the data as JSON Lines") from error
