"""Analysis of a batch of files: chunks, terms and names as columns.

Every column is a pure function of path, text and configuration, so an updated index equals a rebuilt one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np

from assay.corpus.roles import ROLES, file_role, is_test_name
from assay.search.chunking import Chunk, ChunkedFile, SourceText, chunk_file
from assay.search.config import IndexConfig
from assay.search.query import (
    WORD_OR_NEWLINE,
    directory_names,
    find_words,
    stem_name,
    term_hash,
    whole_hash,
    word_terms,
)
from assay.search.table import (
    CHUNK_KINDS,
    FILE_KINDS,
    ChunkTable,
    FileTable,
    FloatArray,
    IndexTable,
    LongArray,
    NameTable,
    Postings,
    ReferenceTable,
    concatenate_ranges,
    range_offsets,
)
from assay.syntax.identifiers import split, stem
from assay.syntax.outline import LineSpan

_NEWLINE: Final = 0  # index of the newline in the list of distinct words
_SHIFT: Final = 32  # a key is chunk << 32 | run; both are far below 2**31
_KIND: Final = {kind: number for number, kind in enumerate(CHUNK_KINDS)}
_FILE_KIND: Final = {kind: number for number, kind in enumerate(FILE_KINDS)}
_NOWHERE: Final = LineSpan(0, 0)
_hash = cache(term_hash)


def analyze(sources: Iterable[SourceText], config: IndexConfig) -> IndexTable:
    """Split files into chunks and count the terms of each chunk; `sources` must be in path order."""
    batch = _Batch(config)
    for source in sources:
        batch.read(source)
    return batch.table()


@dataclass(slots=True)
class _Batch:
    config: IndexConfig
    sources: list[SourceText] = field(default_factory=list)
    cuts: list[ChunkedFile] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    chunk_count: int = 0
    first_byte: list[LongArray] = field(default_factory=list)
    last_byte: list[LongArray] = field(default_factory=list)
    keys: list[LongArray] = field(default_factory=list)
    weights: list[FloatArray] = field(default_factory=list)
    runs: defaultdict[str, int] = field(default_factory=defaultdict)

    def __post_init__(self) -> None:
        self.runs.default_factory = self.runs.__len__
        self.runs["\n"] = _NEWLINE

    def read(self, source: SourceText) -> None:
        found = chunk_file(source, self.config.chunks)
        text = source.text.encode("utf-8", "surrogatepass")
        starts = np.array([chunk.start for chunk in found.chunks], dtype=np.int64)
        ends = np.array([chunk.end for chunk in found.chunks], dtype=np.int64)
        newlines = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 10) + 1
        line = np.concatenate([[0], newlines, [len(text)]])
        self.first_byte.append(line[np.minimum(starts - 1, len(line) - 1)])
        self.last_byte.append(line[np.minimum(ends, len(line) - 1)])
        self._count(source, found.chunks, starts, ends)
        self.sources.append(source)
        self.cuts.append(found)
        self.texts.append(text)
        self.chunk_count += len(found.chunks)

    def _count(self, source: SourceText, chunks: Sequence[Chunk], starts: LongArray, ends: LongArray) -> None:
        fields = self.config.fields
        run = self._numbers(WORD_OR_NEWLINE.findall(source.text))
        newline = run == _NEWLINE
        line, run = np.cumsum(newline)[~newline] + 1, run[~newline]
        low, high = np.searchsorted(line, starts), np.searchsorted(line, ends, side="right")
        rows = concatenate_ranges(low, np.maximum(high, low))
        every = np.arange(len(chunks)) + self.chunk_count
        self._add(np.repeat(every, np.maximum(high - low, 0)), run[rows], fields.body)
        path = source.path
        for text, weight in ((stem_name(path), fields.stem), (directory_names(path), fields.folder)):
            found = self._numbers(find_words(text))
            self._add(np.repeat(every, len(found)), np.tile(found, len(every)), weight)
        for weight, texts in (
            (fields.name, [" ".join(chunk.names) for chunk in chunks]),
            (fields.scope, [" ".join(chunk.scopes) for chunk in chunks]),
            (fields.signature, [chunk.signature for chunk in chunks]),
            (fields.doc, [chunk.doc if fields.doc else "" for chunk in chunks]),
        ):
            listed = [find_words(text) for text in texts]
            length = np.array([len(one) for one in listed], dtype=np.int64)
            self._add(np.repeat(every, length), self._numbers([run for one in listed for run in one]), weight)

    def _numbers(self, found: list[str]) -> LongArray:
        return np.fromiter(map(self.runs.__getitem__, found), np.int64, len(found))

    def _add(self, chunk: LongArray, run: LongArray, weight: float) -> None:
        if weight and len(run):
            self.keys.append((chunk << _SHIFT) | run)
            self.weights.append(np.full(len(run), weight, dtype=np.float32))

    def table(self) -> IndexTable:
        postings = self._postings()
        length = np.bincount(postings.chunk, weights=postings.count, minlength=self.chunk_count)
        chunks = [chunk for one in self.cuts for chunk in one.chunks]
        own = [
            NameRow(number, name, place)
            for number, chunk in enumerate(chunks)
            for name, place in zip(
                chunk.names, chunk.places or (LineSpan(chunk.start, chunk.end),) * len(chunk.names), strict=True
            )
        ]
        scope = [NameRow(number, " ".join(chunk.scopes)) for number, chunk in enumerate(chunks) if chunk.scopes]
        stems = [NameRow(i, stem_name(source.path)) for i, source in enumerate(self.sources)]
        outlines = [one.outline for one in self.cuts]
        used = [
            [*o.references, *(run for text in o.imports for run in find_words(text))] if o is not None else []
            for o in outlines
        ]
        return IndexTable(
            self._files(),
            self._chunks(chunks, length.astype(np.float32)),
            postings,
            names_table(own, keep_texts=True),
            names_table(scope, keep_texts=True),
            names_table(stems),
            _references([[one.name for one in o.definitions] if o is not None else [] for o in outlines]),
            _references(used),
        )

    def _postings(self) -> Postings:
        keys = np.concatenate(self.keys) if self.keys else np.zeros(0, np.int64)
        weights = np.concatenate(self.weights) if self.weights else np.zeros(0, np.float32)
        key, count = _sum_by(keys, weights)
        longest = self.config.longest_word
        spelled = [
            [] if run == "\n" or (len(run) > longest and run.isascii()) else [_hash(term) for term in word_terms(run)]
            for run in self.runs
        ]
        hashes, term_of = np.unique(
            np.fromiter((h for found in spelled for h in found), np.uint64), return_inverse=True
        )
        length = np.array([len(found) for found in spelled], dtype=np.int64)
        begin = np.cumsum(length) - length
        run = key & ((1 << _SHIFT) - 1)
        rows = concatenate_ranges(begin[run], begin[run] + length[run])
        chunks = max(self.chunk_count, 1)
        spelled_key = term_of[rows] * chunks + np.repeat(key >> _SHIFT, length[run])
        key, count = _sum_by(spelled_key, np.repeat(count, length[run]))
        term, chunk = np.divmod(key, chunks)
        held = np.bincount(term, minlength=len(hashes))
        return Postings(hashes[held > 0], range_offsets(held[held > 0]), chunk.astype(np.int32), count)

    def _files(self) -> FileTable:
        sources = self.sources
        noise = [
            ROLES.index(file_role(s.path, s.text, s.kind, c.outline)) for s, c in zip(sources, self.cuts, strict=True)
        ]
        return FileTable(
            tuple(source.path for source in sources),
            tuple(source.language or "" for source in sources),
            tuple(source.sha256 for source in sources),
            tuple(one.problem or "" for one in self.cuts),
            np.array([_FILE_KIND[source.kind] for source in sources], dtype=np.uint8),
            np.array(noise, dtype=np.uint8),
            np.frombuffer(b"".join(self.texts), dtype=np.uint8),
            range_offsets(np.array([len(text) for text in self.texts], dtype=np.int64)),
        )

    def _chunks(self, chunks: Sequence[Chunk], length: FloatArray) -> ChunkTable:
        return ChunkTable(
            np.repeat(np.arange(len(self.cuts)), [len(one.chunks) for one in self.cuts]).astype(np.int32),
            np.array([chunk.start for chunk in chunks], dtype=np.int32),
            np.array([chunk.end for chunk in chunks], dtype=np.int32),
            np.array([_KIND[chunk.kind] for chunk in chunks], dtype=np.uint8),
            np.array([any(map(is_test_name, chunk.names[:1] + chunk.scopes)) for chunk in chunks], dtype=np.uint8),
            length,
            np.concatenate(self.first_byte or [np.zeros(0, np.int64)]).astype(np.int32),
            np.concatenate(self.last_byte or [np.zeros(0, np.int64)]).astype(np.int32),
        )


def _sum_by(keys: LongArray, values: FloatArray) -> tuple[LongArray, FloatArray]:
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    summed = np.add.reduceat(values, first) if len(first) else values
    return keys[first], summed.astype(np.float32)


def _references(names: list[list[str]]) -> ReferenceTable:
    found = [np.unique(np.array([_hash(name) for name in listed], dtype=np.uint64)) for listed in names]
    file = np.repeat(np.arange(len(found)), [len(one) for one in found])
    return ReferenceTable(file.astype(np.int32), np.concatenate(found or [np.zeros(0, np.uint64)]).astype(np.uint64))


class NameRow(NamedTuple):
    owner: int
    text: str
    lines: LineSpan = _NOWHERE


def names_table(rows: Sequence[NameRow], *, keep_texts: bool = False) -> NameTable:
    parts = [_stems(row.text) for row in rows]
    words = sorted({part for found in parts for part in found})
    number = {word: i for i, word in enumerate(words)}
    return NameTable(
        tuple(row.text for row in rows) if keep_texts else (),
        np.array([row.owner for row in rows], dtype=np.int32),
        np.array([row.lines.start for row in rows], dtype=np.int32),
        np.array([row.lines.end for row in rows], dtype=np.int32),
        np.array([whole_hash(row.text) for row in rows], dtype=np.uint64),
        range_offsets(np.array([len(found) for found in parts], dtype=np.int64)),
        np.array([number[part] for found in parts for part in found], dtype=np.int32),
        tuple(words),
    )


@lru_cache(maxsize=20_000)  # the methods of a class share their scope; about 5 MB
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(part) for run in find_words(text) for part in split(run))
