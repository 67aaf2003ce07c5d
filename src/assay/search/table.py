"""The index as columns: files, units, postings, names, mentions; taken apart by file and put together again.

Files are in path order, units in (file, line) order, postings in (term, unit) order. Nothing else decides a position,
so a table that was updated equals one that was built anew, array for array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Final, TypeVar, cast, get_type_hints

import numpy as np
from numpy.typing import NDArray

from assay.store.array_file import Strings, pack_strings

IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]
HashArray = NDArray[np.uint64]
ByteArray = NDArray[np.uint8]

#: What a unit may be; its number is its place here.
UNIT_KINDS: Final = (
    "file", "lines", "section", "gap", "head", "function", "method", "class", "interface", "enum", "type", "module",
    "constant", "macro", "property", "heading", "key",
)  # fmt: skip
FILE_KINDS: Final = ("code", "docs", "config", "other")


@dataclass(frozen=True, slots=True)
class FileTable:
    """The files, in path order, with their text."""

    paths: tuple[str, ...]
    languages: tuple[str, ...]  # "" for none
    hashes: tuple[str, ...]  # of the contents
    problems: tuple[str, ...]  # what went wrong when it was cut; "" for nothing
    kind: ByteArray
    noise: ByteArray
    text: ByteArray  # all files one after the other, UTF-8
    text_offset: LongArray

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """The units; bytes count from the beginning of the file's text."""

    file: IntArray
    start: IntArray
    end: IntArray
    kind: ByteArray
    test: ByteArray  # 1 for what is called like a test
    length: FloatArray  # weighted terms
    first_byte: IntArray
    last_byte: IntArray

    def __len__(self) -> int:
        return len(self.file)


@dataclass(frozen=True, slots=True)
class Postings:
    """For each term, by rising hash, the units that hold it and how often, fields weighted."""

    term: HashArray
    offset: LongArray
    unit: IntArray
    count: FloatArray


@dataclass(frozen=True, slots=True)
class NameTable:
    """Names that belong to units or files, as parts; `parts` are sorted, an owner may have several names."""

    texts: tuple[str, ...]
    owner: IntArray
    start: IntArray  # the lines at which a unit's name is defined; 0 for what files and scopes are called
    end: IntArray
    whole: HashArray  # of the name as one lower-case word
    offset: LongArray
    part: IntArray
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceTable:
    """Which file uses which name, each once; by file, then by hash."""

    file: IntArray
    name: HashArray


@dataclass(frozen=True, slots=True)
class IndexTable:
    """Everything that is known of a corpus."""

    files: FileTable
    units: ChunkTable
    postings: Postings
    own: NameTable  # what a unit defines; owner is a unit
    scope: NameTable  # what is around a unit, all in one; owner is a unit
    stem: NameTable  # what a file is called; owner is a file
    defined: ReferenceTable
    used: ReferenceTable


def combine(tables: Sequence[IndexTable]) -> IndexTable:
    """Put tables of different files together, in path order."""
    joined = _join(tables)
    order = np.array(sorted(range(len(joined.files)), key=joined.files.paths.__getitem__), dtype=np.int64)
    return joined if bool(np.all(order == np.arange(len(order)))) else pick(joined, order)


def pick(table: IndexTable, files: LongArray) -> IndexTable:
    """Take some files of a table, in the order given."""
    place = np.full(len(table.files), -1, dtype=np.int64)
    place[files] = np.arange(len(files))
    units = _members(table.units.file, files, len(table.files))
    unit_place = np.full(len(table.units), -1, dtype=np.int64)
    unit_place[units] = np.arange(len(units))
    return IndexTable(
        _pick_files(table.files, files),
        _pick_units(table.units, units, place),
        _pick_postings(table.postings, unit_place),
        _pick_names(table.own, unit_place),
        _pick_names(table.scope, unit_place),
        _pick_names(table.stem, place),
        _pick_mentions(table.defined, place),
        _pick_mentions(table.used, place),
    )


def add_words(table: IndexTable, term: HashArray, unit: LongArray, weight: float) -> IndexTable:
    """Count further words of units, each occurrence for `weight`."""
    old = table.postings
    hashes = np.unique(np.concatenate([old.term, term]))
    held = np.repeat(np.searchsorted(hashes, old.term), np.diff(old.offset))
    key = np.concatenate([held, np.searchsorted(hashes, term)]) * max(len(table.units), 1)
    key += np.concatenate([old.unit.astype(np.int64), unit])
    keys, nth = np.unique(key, return_inverse=True)
    counts = np.concatenate([old.count, np.full(len(term), weight, dtype=np.float32)])
    count = np.bincount(nth, weights=counts, minlength=len(keys)).astype(np.float32)
    number, owner = np.divmod(keys, max(len(table.units), 1))
    postings = _sorted_postings(hashes, number, owner, count)
    length = np.bincount(postings.unit, weights=postings.count, minlength=len(table.units)).astype(np.float32)
    return replace(table, postings=postings, units=replace(table.units, length=length))


def _members(owner: IntArray, wanted: LongArray, owners: int) -> LongArray:
    begin = np.searchsorted(owner, np.arange(owners + 1))
    return ranges(begin[wanted], begin[wanted + 1])


def ranges(start: LongArray, stop: LongArray) -> LongArray:
    """List the numbers of each range start..stop-1, one range after the other."""
    length = stop - start
    total = int(length.sum())
    if not total:
        return np.zeros(0, dtype=np.int64)
    shift = np.repeat(start - (np.cumsum(length) - length), length)
    return np.asarray(np.arange(total, dtype=np.int64) + shift)


def _pick_files(files: FileTable, wanted: LongArray) -> FileTable:
    rows = wanted.tolist()
    length = np.diff(files.text_offset)[wanted]
    slices = zip(files.text_offset[wanted].tolist(), files.text_offset[wanted + 1].tolist(), strict=True)
    text = np.concatenate([files.text[:0], *(files.text[start:stop] for start, stop in slices)])
    return FileTable(
        tuple(files.paths[i] for i in rows), tuple(files.languages[i] for i in rows),
        tuple(files.hashes[i] for i in rows), tuple(files.problems[i] for i in rows),
        files.kind[wanted], files.noise[wanted], text, offsets(length),
    )  # fmt: skip


def offsets(length: LongArray) -> LongArray:
    """Turn lengths into where each begins, and where the last ends."""
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64)


def _pick_units(units: ChunkTable, rows: LongArray, place: LongArray) -> ChunkTable:
    return ChunkTable(
        place[units.file[rows]].astype(np.int32), units.start[rows], units.end[rows], units.kind[rows],
        units.test[rows], units.length[rows], units.first_byte[rows], units.last_byte[rows],
    )  # fmt: skip


def _pick_postings(postings: Postings, place: LongArray) -> Postings:
    unit = place[postings.unit]
    stays = unit >= 0
    term = np.repeat(np.arange(len(postings.term)), np.diff(postings.offset))[stays]
    return _sorted_postings(postings.term, term, unit[stays], postings.count[stays])


def _sorted_postings(hashes: HashArray, term: LongArray, unit: LongArray, count: FloatArray) -> Postings:
    units = int(unit.max()) + 1 if len(unit) else 1
    key = term * units + unit
    if len(key) and bool(np.any(key[1:] <= key[:-1])):
        order = np.argsort(key, kind="stable")
        term, unit, count = term[order], unit[order], count[order]
    held = np.bincount(term, minlength=len(hashes))
    return Postings(hashes[held > 0], offsets(held[held > 0]), unit.astype(np.int32), count)


def _pick_names(names: NameTable, place: LongArray) -> NameTable:
    owner = place[names.owner]
    rows = np.flatnonzero(owner >= 0)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    length = np.diff(names.offset)[rows]
    part = names.part[ranges(names.offset[rows], names.offset[rows + 1])]
    used = np.unique(part)
    return NameTable(
        tuple(names.texts[i] for i in rows.tolist()) if names.texts else (),
        owner[rows].astype(np.int32), names.start[rows], names.end[rows], names.whole[rows], offsets(length),
        np.searchsorted(used, part).astype(np.int32), tuple(names.parts[i] for i in used.tolist()),
    )  # fmt: skip


def _pick_mentions(mentions: ReferenceTable, place: LongArray) -> ReferenceTable:
    file = place[mentions.file]
    rows = np.flatnonzero(file >= 0)
    rows = rows[np.argsort(file[rows], kind="stable")]
    return ReferenceTable(file[rows].astype(np.int32), mentions.name[rows])


def _join(tables: Sequence[IndexTable]) -> IndexTable:
    files = _starts([len(t.files) for t in tables])
    units = _starts([len(t.units) for t in tables])
    return IndexTable(
        _join_files([t.files for t in tables]),
        _join_units([t.units for t in tables], files),
        _join_postings([t.postings for t in tables], units),
        _join_names([t.own for t in tables], units),
        _join_names([t.scope for t in tables], units),
        _join_names([t.stem for t in tables], files),
        _join_mentions([t.defined for t in tables], files),
        _join_mentions([t.used for t in tables], files),
    )


def _starts(lengths: list[int]) -> list[int]:
    return [sum(lengths[:i]) for i in range(len(lengths))]


def _join_files(parts: Sequence[FileTable]) -> FileTable:
    return FileTable(
        tuple(path for part in parts for path in part.paths),
        tuple(language for part in parts for language in part.languages),
        tuple(sha for part in parts for sha in part.hashes),
        tuple(problem for part in parts for problem in part.problems),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.noise for part in parts]),
        np.concatenate([part.text for part in parts]),
        offsets(np.concatenate([np.diff(part.text_offset) for part in parts])),
    )


def _join_units(parts: Sequence[ChunkTable], starts: list[int]) -> ChunkTable:
    return ChunkTable(
        np.concatenate([part.file + start for part, start in zip(parts, starts, strict=True)]).astype(np.int32),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.test for part in parts]),
        np.concatenate([part.length for part in parts]),
        np.concatenate([part.first_byte for part in parts]),
        np.concatenate([part.last_byte for part in parts]),
    )


def _join_postings(parts: Sequence[Postings], starts: list[int]) -> Postings:
    hashes = np.unique(np.concatenate([part.term for part in parts]))
    term = [np.repeat(np.searchsorted(hashes, part.term), np.diff(part.offset)) for part in parts]
    unit = [part.unit.astype(np.int64) + start for part, start in zip(parts, starts, strict=True)]
    count = np.concatenate([part.count for part in parts])
    return _sorted_postings(hashes, np.concatenate(term), np.concatenate(unit), count)


def _join_names(parts: Sequence[NameTable], starts: list[int]) -> NameTable:
    words = sorted({word for part in parts for word in part.parts})
    number = {word: i for i, word in enumerate(words)}
    renumbered = [
        np.array([number[word] for word in part.parts], dtype=np.int32)[part.part] if len(part.part) else part.part
        for part in parts
    ]
    return NameTable(
        tuple(text for part in parts for text in part.texts),
        np.concatenate([part.owner + start for part, start in zip(parts, starts, strict=True)]).astype(np.int32),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.whole for part in parts]),
        offsets(np.concatenate([np.diff(part.offset) for part in parts])),
        np.concatenate(renumbered).astype(np.int32),
        tuple(words),
    )


def _join_mentions(parts: Sequence[ReferenceTable], starts: list[int]) -> ReferenceTable:
    return ReferenceTable(
        np.concatenate([part.file + start for part, start in zip(parts, starts, strict=True)]).astype(np.int32),
        np.concatenate([part.name for part in parts]),
    )


T = TypeVar("T")
Arrays = Mapping[str, NDArray[Any]]
_TEXTS = tuple[str, ...]


def table_arrays(table: IndexTable) -> dict[str, NDArray[Any]]:
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


def read_table(arrays: Arrays) -> IndexTable:
    """Make a table of named columns; missing ones are a KeyError."""
    hints = _hints(IndexTable)
    return IndexTable(**{group.name: _read_part(hints[group.name], group.name, arrays) for group in fields(IndexTable)})


def _read_part(record: type[T], group: str, arrays: Arrays) -> T:
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
    return get_type_hints(record)


def _read_texts(name: str, arrays: Arrays) -> tuple[str, ...]:
    return tuple(Strings(arrays[f"{name}.text"], arrays[f"{name}.offset"]).all())
