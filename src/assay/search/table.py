"""Tables of an index, stored as columns.

Files are in path order, chunks in (file, line) order, and postings in (term, chunk) order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from assay.records import dataclass
from assay.search.query import name_parts, whole_hash
from assay.store.array_file import StringColumn, pack_strings
from assay.syntax.identifiers import parts, stem
from assay.syntax.outline import LineSpan

IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]
HashArray = NDArray[np.uint64]
ByteArray = NDArray[np.uint8]
Values = NDArray[np.float64]

#: Kinds of chunks; stored by position.
CHUNK_KINDS: Final = (
    "file", "lines", "section", "gap", "head", "function", "method", "class", "interface", "enum", "type", "module",
    "constant", "macro", "property", "heading", "key",
)  # fmt: skip
FILE_KINDS: Final = ("code", "docs", "config", "other")


@dataclass(frozen=True, slots=True)
class FileTable:
    paths: tuple[str, ...]
    languages: tuple[str, ...]  # empty if unknown
    hashes: tuple[str, ...]  # SHA-256 of each file
    problems: tuple[str, ...]  # parsing problem of each file; empty for none
    kind: ByteArray
    role: ByteArray  # position in `corpus.file_types.ROLES`
    text: ByteArray  # all files, concatenated, as UTF-8
    text_offset: LongArray

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """Columns of the chunks; byte positions are relative to the start of the file's text."""

    file: IntArray
    start: IntArray
    end: IntArray
    kind: ByteArray
    test: ByteArray  # 1 if the chunk is named like a test
    length: FloatArray  # weighted number of terms
    first_byte: IntArray
    last_byte: IntArray

    def __len__(self) -> int:
        return len(self.file)


@dataclass(frozen=True, slots=True)
class Postings:
    """For each term, by ascending hash, the chunks that contain it, with weighted counts."""

    term: HashArray
    offset: LongArray
    chunk: IntArray
    count: FloatArray


@dataclass(frozen=True, slots=True)
class NameTable:
    """Names of chunks or files, split into stems; `part` has indexes into the sorted stems `parts`."""

    texts: tuple[str, ...]
    owner: IntArray
    start: IntArray  # lines at which a chunk's name is defined; 0 for names of files and scopes
    end: IntArray
    whole: HashArray  # hash of the name, ignoring case and separators
    offset: LongArray
    part: IntArray
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceTable:
    """Names that each file defines or uses, without duplicates, sorted by file and hash."""

    file: IntArray
    name: HashArray


@dataclass(frozen=True, slots=True)
class IndexTable:
    files: FileTable
    chunks: ChunkTable
    postings: Postings
    own: NameTable  # names that chunks define
    scope: NameTable  # scopes around chunks, joined
    stem: NameTable  # names of files
    defined: ReferenceTable
    used: ReferenceTable


_NO_LINES: Final = LineSpan(0, 0)
_NO_POSTINGS: Final = Postings(
    np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
)


class NameRow(NamedTuple):
    owner: int
    text: str
    lines: LineSpan = _NO_LINES


def names_table(rows: Sequence[NameRow], *, keep_texts: bool = False, as_written: bool = False) -> NameTable:
    """Split names into stems, or into parts as written, in lowercase."""
    name_stems = [parts(row.text) if as_written else [*map(stem, name_parts(row.text))] for row in rows]
    words = sorted({part for stems in name_stems for part in stems})
    number = {word: i for i, word in enumerate(words)}
    return NameTable(
        tuple(row.text for row in rows) if keep_texts else (),
        np.array([row.owner for row in rows], dtype=np.int32),
        np.array([row.lines.start for row in rows], dtype=np.int32),
        np.array([row.lines.end for row in rows], dtype=np.int32),
        np.array([whole_hash(row.text) for row in rows], dtype=np.uint64),
        range_offsets(np.array([len(stems) for stems in name_stems], dtype=np.int64)),
        np.array([number[part] for stems in name_stems for part in stems], dtype=np.int32),
        tuple(words),
    )


def chunk_text(table: IndexTable, file: int, first: int, last: int) -> str:
    begin = int(table.files.text_offset[file])
    start, stop = begin + int(table.chunks.first_byte[first]), begin + int(table.chunks.last_byte[last])
    return table.files.text[start:stop].tobytes().decode("utf-8", "replace")


def scope_text(table: IndexTable, chunk: int) -> str:
    first, last = np.searchsorted(table.scope.owner, [chunk, chunk + 1]).tolist()
    return " ".join(table.scope.texts[first:last])


def own_names(table: IndexTable, chunk: int) -> tuple[str, ...]:
    first, last = np.searchsorted(table.own.owner, [chunk, chunk + 1]).tolist()
    return table.own.texts[first:last]


def range_offsets(length: LongArray) -> LongArray:
    """Return the start of each of several consecutive ranges, given their lengths, and the end of the last range."""
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64)


def concatenate_ranges(start: LongArray, stop: LongArray) -> LongArray:
    length = stop - start
    total = int(length.sum())
    if not total:
        return np.zeros(0, dtype=np.int64)
    shift = np.repeat(start - (np.cumsum(length) - length), length)
    return np.asarray(np.arange(total, dtype=np.int64) + shift)


def combine_tables(tables: Sequence[IndexTable], dropped: Collection[int] = ()) -> IndexTable:
    """Join tables, without the files of the first one at the positions `dropped`."""
    if len(tables) == 1 and not dropped:
        return tables[0]
    files, chunks = [t.files for t in tables], [t.chunks for t in tables]
    first_file = range_offsets(np.array([len(part) for part in files]))
    first_chunk = range_offsets(np.array([len(part) for part in chunks]))
    table = IndexTable(
        FileTable(
            **{column.name: _join(files, column.name) for column in fields(FileTable)[:-1]},
            text_offset=_join_offsets(files, "text_offset"),
        ),
        ChunkTable(
            _shift(chunks, "file", first_file), *(_join(chunks, column.name) for column in fields(ChunkTable)[1:])
        ),
        _NO_POSTINGS,  # joined last, because sorting them takes longest
        _join_names([t.own for t in tables], first_chunk),
        _join_names([t.scope for t in tables], first_chunk),
        _join_names([t.stem for t in tables], first_file),
        _join_references([t.defined for t in tables], first_file),
        _join_references([t.used for t in tables], first_file),
    )
    kept = [row for row in range(len(table.files)) if row not in dropped]
    order = np.array(sorted(kept, key=table.files.paths.__getitem__), dtype=np.int64)
    position = _places(_chunks_of(table, order), len(table.chunks))
    if not np.array_equal(order, np.arange(len(table.files))):
        table = _select_files(table, order)
    postings = _join_postings([t.postings for t in tables], np.split(position, first_chunk[1:-1]))
    return replace(table, postings=postings)


def _join(parts: Sequence[Any], name: str) -> Any:  # noqa: ANN401 - a column of texts or numbers
    columns = [getattr(part, name) for part in parts]
    return tuple(chain.from_iterable(columns)) if isinstance(columns[0], tuple) else np.concatenate(columns)


def _shift(parts: Sequence[Any], name: str, starts: LongArray) -> IntArray:
    shifted = [getattr(part, name) + start for part, start in zip(parts, starts[:-1].tolist(), strict=True)]
    return np.concatenate(shifted).astype(np.int32)


def _join_offsets(parts: Sequence[Any], name: str) -> LongArray:
    return range_offsets(np.concatenate([np.diff(getattr(part, name)) for part in parts]))


def _join_postings(parts: Sequence[Postings], positions: Sequence[LongArray]) -> Postings:
    hashes = np.unique(_join(parts, "term"))
    terms, chunks, counts = [], [], []
    for part, position in zip(parts, positions, strict=True):
        term = np.repeat(np.searchsorted(hashes, part.term), np.diff(part.offset))
        chunk, count = position[part.chunk], part.count
        if len(position) and int(position.min()) < 0:
            stays = chunk >= 0
            term, chunk, count = term[stays], chunk[stays], count[stays]
        terms.append(term)
        chunks.append(chunk)
        counts.append(count)
    return _sort_postings(hashes, np.concatenate(terms), np.concatenate(chunks), np.concatenate(counts))


def _join_names(parts: Sequence[NameTable], starts: LongArray) -> NameTable:
    words = sorted({word for part in parts for word in part.parts})
    number = {word: i for i, word in enumerate(words)}
    renumbered = [
        np.array([number[word] for word in part.parts], dtype=np.int32)[part.part] if len(part.part) else part.part
        for part in parts
    ]
    return NameTable(
        _join(parts, "texts"),
        _shift(parts, "owner", starts),
        _join(parts, "start"),
        _join(parts, "end"),
        _join(parts, "whole"),
        _join_offsets(parts, "offset"),
        np.concatenate(renumbered).astype(np.int32),
        tuple(words),
    )


def _join_references(parts: Sequence[ReferenceTable], starts: LongArray) -> ReferenceTable:
    return ReferenceTable(_shift(parts, "file", starts), _join(parts, "name"))


def _select_files(table: IndexTable, files: LongArray) -> IndexTable:
    chunks = _chunks_of(table, files)
    file_position = _places(files, len(table.files))
    chunk_position = _places(chunks, len(table.chunks))
    texts = table.files.text_offset[files[:, None] + [0, 1]].tolist()
    return IndexTable(
        FileTable(
            **{column.name: _take(getattr(table.files, column.name), files) for column in fields(FileTable)[:-2]},
            text=np.concatenate([table.files.text[:0], *(table.files.text[start:stop] for start, stop in texts)]),
            text_offset=range_offsets(np.diff(table.files.text_offset)[files]),
        ),
        ChunkTable(
            file_position[table.chunks.file[chunks]].astype(np.int32),
            *(getattr(table.chunks, column.name)[chunks] for column in fields(ChunkTable)[1:]),
        ),
        table.postings,
        _pick_names(table.own, chunk_position),
        _pick_names(table.scope, chunk_position),
        _pick_names(table.stem, file_position),
        _pick_references(table.defined, file_position),
        _pick_references(table.used, file_position),
    )


def _chunks_of(table: IndexTable, files: LongArray) -> LongArray:
    begin = np.searchsorted(table.chunks.file, np.arange(len(table.files) + 1))
    return concatenate_ranges(begin[files], begin[files + 1])


def _places(rows: LongArray, size: int) -> LongArray:
    position = np.full(size, -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    return position


def _take(column: Any, rows: NDArray[Any]) -> Any:  # noqa: ANN401 - a column of texts or numbers
    return tuple(column[row] for row in rows.tolist()) if isinstance(column, tuple) else column[rows]


def _sort_postings(hashes: HashArray, term: LongArray, chunk: LongArray, count: FloatArray) -> Postings:
    chunks = int(chunk.max()) + 1 if len(chunk) else 1
    key = term * chunks + chunk
    if len(key) and bool(np.any(key[1:] <= key[:-1])):
        order = np.argsort(key, kind="stable")
        term, chunk, count = term[order], chunk[order], count[order]
    held = np.bincount(term, minlength=len(hashes))
    return Postings(hashes[held > 0], range_offsets(held[held > 0]), chunk.astype(np.int32), count)


def _pick_names(names: NameTable, position: LongArray) -> NameTable:
    owner = position[names.owner]
    rows = np.flatnonzero(owner >= 0)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    part = names.part[concatenate_ranges(names.offset[rows], names.offset[rows + 1])]
    used = np.unique(part)
    return NameTable(
        _take(names.texts, rows) if names.texts else (),
        owner[rows].astype(np.int32),
        names.start[rows],
        names.end[rows],
        names.whole[rows],
        range_offsets(np.diff(names.offset)[rows]),
        np.searchsorted(used, part).astype(np.int32),
        _take(names.parts, used),
    )


def _pick_references(references: ReferenceTable, position: LongArray) -> ReferenceTable:
    file = position[references.file]
    rows = np.flatnonzero(file >= 0)
    rows = rows[np.argsort(file[rows], kind="stable")]
    return ReferenceTable(file[rows].astype(np.int32), references.name[rows])


def add_words(table: IndexTable, term: HashArray, chunk: LongArray, weight: float) -> IndexTable:
    old = table.postings
    hashes = np.unique(np.concatenate([old.term, term]))
    held = np.repeat(np.searchsorted(hashes, old.term), np.diff(old.offset))
    key = np.concatenate([held, np.searchsorted(hashes, term)]) * max(len(table.chunks), 1)
    key += np.concatenate([old.chunk.astype(np.int64), chunk])
    keys, nth = np.unique(key, return_inverse=True)
    counts = np.concatenate([old.count, np.full(len(term), weight, dtype=np.float32)])
    count = np.bincount(nth, weights=counts, minlength=len(keys)).astype(np.float32)
    number, owner = np.divmod(keys, max(len(table.chunks), 1))
    postings = _sort_postings(hashes, number, owner, count)
    length = np.bincount(postings.chunk, weights=postings.count, minlength=len(table.chunks)).astype(np.float32)
    return replace(table, postings=postings, chunks=replace(table.chunks, length=length))


#: Names in index files that differ from the names of fields.
_STORED_NAMES: Final = {"chunks": "units", "chunk": "unit", "role": "noise"}


def table_arrays(table: IndexTable) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for group in fields(table):
        part = getattr(table, group.name)
        for column in fields(part):
            name, value = _stored_name(group.name, column.name), getattr(part, column.name)
            if isinstance(value, tuple):
                arrays[f"{name}.text"], arrays[f"{name}.offset"] = pack_strings(value)
            else:
                arrays[name] = np.ascontiguousarray(value)
    return arrays


def read_table(arrays: Mapping[str, NDArray[Any]]) -> IndexTable:
    def column(name: str, hint: object) -> object:
        if hint != tuple[str, ...]:
            return arrays[name]
        return tuple(StringColumn(arrays[f"{name}.text"], arrays[f"{name}.offset"]).all())

    parts = {
        group: record(**{name: column(_stored_name(group, name), hint) for name, hint in _hints(record).items()})
        for group, record in _hints(IndexTable).items()
    }
    return IndexTable(**parts)


def _stored_name(group: str, column: str) -> str:
    return f"{_STORED_NAMES.get(group, group)}.{_STORED_NAMES.get(column, column)}"


@cache
def _hints(record: Any) -> dict[str, Any]:  # noqa: ANN401 - mypy takes no class for hashable
    return get_type_hints(record)
