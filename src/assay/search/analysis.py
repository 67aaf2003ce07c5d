"""Convert a batch of files to an index table.

Unless parsing times out, every column depends only on the files and settings, so an updated index equals a rebuilt one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import chain
from typing import Final

import numpy as np

from assay.corpus.file_types import ROLES, file_role, is_test_name
from assay.records import dataclass
from assay.search.chunking import Chunk, ChunkedFile, SourceText, chunk_file
from assay.search.config import IndexConfig
from assay.search.query import (
    Tokenizer,
    directory_names,
    find_words,
    stem_name,
    term_hash,
    word_tokens,
)
from assay.search.table import (
    CHUNK_KINDS,
    FILE_KINDS,
    ChunkTable,
    FileTable,
    FloatArray,
    IndexTable,
    LongArray,
    NameRow,
    Postings,
    ReferenceTable,
    concatenate_ranges,
    names_table,
    range_offsets,
)
from assay.syntax.identifiers import CACHE_LIMITS
from assay.syntax.outline import LineSpan

_NEWLINE: Final = 0  # number of the newline among the distinct words
_LINE_END: Final = b"\1"  # stands for the newline, which `bytes.split` would drop
#: Bytes of words as in `query.find_words`, the others replaced: splitting bytes takes a fifth of the time of a regex.
_SEPARATED: Final = bytes(
    byte if byte > 127 or chr(byte).isalnum() or byte == ord("_") else 1 if byte == ord("\n") else ord(" ")
    for byte in range(256)
)
#: Bytes of source whose words are counted at a time: numpy calls take longer than the words of a single file.
_COUNTED_BYTES: Final = 300_000
_SHIFT: Final = 32  # a key is chunk << 32 | word; both are far below 2**31
_CHUNK_KIND: Final = {kind: number for number, kind in enumerate(CHUNK_KINDS)}
_FILE_KIND: Final = {kind: number for number, kind in enumerate(FILE_KINDS)}
_hash = lru_cache(100_000)(term_hash)  # of terms, and of names that a file uses or defines


@lru_cache(100_000)  # of a large repository, about 25 MB; most words occur in many batches
def _word_hashes(word: str, tokenizer: Tokenizer) -> tuple[int, ...]:
    return tuple(map(_hash, word_tokens(word, tokenizer)))


def analyze(sources: Iterable[SourceText], config: IndexConfig) -> IndexTable:
    """Split files into chunks and count the terms of each chunk; `sources` must be in path order."""
    batch = _Batch(config)
    for source in sources:
        batch.add_file(source)
    return batch.build_table()


@dataclass(slots=True)
class _Batch:
    config: IndexConfig
    sources: list[SourceText] = field(default_factory=list)
    files: list[ChunkedFile] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    uncounted: int = 0  # bytes of the files whose words are not counted yet
    line_counts: list[int] = field(default_factory=list)  # of the counted files
    chunk_count: int = 0  # of the counted files
    first_byte: list[LongArray] = field(default_factory=list)
    last_byte: list[LongArray] = field(default_factory=list)
    keys: list[LongArray] = field(default_factory=list)  # one per occurrence of a word in a chunk
    weights: list[FloatArray] = field(default_factory=list)  # of each occurrence
    numbers: defaultdict[bytes, int] = field(default_factory=defaultdict)  # of distinct words

    def __post_init__(self) -> None:
        self.numbers.default_factory = self.numbers.__len__
        self.numbers[_LINE_END] = _NEWLINE

    def add_file(self, source: SourceText) -> None:
        self.sources.append(source)
        self.files.append(chunk_file(source, self.config.chunks))
        self.texts.append(source.text.encode("utf-8", "surrogatepass"))
        self.uncounted += len(self.texts[-1])
        if self.uncounted > _COUNTED_BYTES:
            self._count_words()

    def _count_words(self) -> None:
        """Count the words of new files: of each chunk's lines and fields, and of the file's path for every chunk."""
        first_file, fields = len(self.line_counts), self.config.fields
        sources, texts = self.sources[first_file:], self.texts[first_file:]
        chunked = [file.chunks for file in self.files[first_file:]]
        # lines of a file: its name and directory, the four fields of its chunks, column by column, and its text
        blocks: list[bytes] = []
        for source, chunks, text in zip(sources, chunked, texts, strict=True):
            lines = [stem_name(source.path).replace("\n", " "), directory_names(source.path).replace("\n", " ")]
            lines += [" ".join(chunk.names) for chunk in chunks]
            lines += [" ".join(chunk.scopes) for chunk in chunks]
            lines += [chunk.signature for chunk in chunks]
            lines += [chunk.doc for chunk in chunks]
            blocks += ("\n".join(lines).encode("utf-8", "surrogatepass"), text)
        data = b"\n".join(blocks)
        line, words = self._number_lines(data)
        count = np.array([len(chunks) for chunks in chunked], dtype=np.int64)
        self.line_counts += [text.count(b"\n") + 1 for text in texts]
        before = 2 + 4 * count  # lines of the path and of the fields
        begin = range_offsets(before + np.array(self.line_counts[first_file:]))[:-1]
        owner = np.repeat(np.arange(len(count)), count)
        chunk = np.arange(len(owner))
        nth = chunk - (np.cumsum(count) - count)[owner]
        starts = np.array([chunk.start for chunks in chunked for chunk in chunks], dtype=np.int64)
        ends = np.array([chunk.end for chunks in chunked for chunk in chunks], dtype=np.int64)
        path, body, per_file = begin[owner], (begin + before)[owner], count[owner]
        field_line = path + 2 + nth
        ranges = (
            (body + starts - 1, body + ends - 1, fields.body),
            (path, path, fields.stem),
            (path + 1, path + 1, fields.folder),
            (field_line, field_line, fields.name),
            (field_line + per_file, field_line + per_file, fields.scope),
            (field_line + 2 * per_file, field_line + 2 * per_file, fields.signature),
            (field_line + 3 * per_file, field_line + 3 * per_file, fields.doc),
        )
        for first_line, last_line, weight in ranges:
            if weight:
                first = np.searchsorted(line, first_line)
                stop = np.maximum(np.searchsorted(line, last_line, side="right"), first)
                found = words[concatenate_ranges(first, stop)]
                self.keys.append((np.repeat(chunk + self.chunk_count, stop - first) << _SHIFT) | found)
                self.weights.append(np.full(len(found), weight, dtype=np.float32))
        newlines = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n")) + 1
        line_bytes = np.concatenate([[0], newlines, [len(data) + 1]])
        text_bytes = line_bytes[body]
        sizes = np.array([len(text) for text in texts], dtype=np.int64)[owner]
        self.first_byte.append(line_bytes[body + starts - 1] - text_bytes)
        self.last_byte.append(np.minimum(line_bytes[body + ends] - text_bytes, sizes))
        self.chunk_count += len(chunk)
        self.uncounted = 0

    def _number_lines(self, text: bytes) -> tuple[LongArray, LongArray]:
        """Return the 0-based line and the term number of each word of a text."""
        words = text.translate(_SEPARATED).replace(_LINE_END, b" %b " % _LINE_END).split()
        numbers = np.fromiter(map(self.numbers.__getitem__, words), np.int64, len(words))
        newline = numbers == _NEWLINE
        return np.cumsum(newline)[~newline], numbers[~newline]

    def build_table(self) -> IndexTable:
        if self.uncounted or len(self.line_counts) < len(self.files):  # the last files may be empty
            self._count_words()
        postings = self._postings()
        chunks = [chunk for file in self.files for chunk in file.chunks]
        length = np.bincount(postings.chunk, weights=postings.count, minlength=self.chunk_count)
        own = [
            NameRow(row, name, lines)
            for row, chunk in enumerate(chunks)
            for name, lines in zip(
                chunk.names, chunk.name_lines or (LineSpan(chunk.start, chunk.end),) * len(chunk.names), strict=True
            )
        ]
        scope = [NameRow(row, " ".join(chunk.scopes)) for row, chunk in enumerate(chunks) if chunk.scopes]
        stems = [NameRow(row, stem_name(source.path)) for row, source in enumerate(self.sources)]
        defined: list[list[str]] = [[] for _ in self.files]
        used: list[list[str]] = [[] for _ in self.files]
        for row, file in enumerate(self.files):
            if file.outline is not None:
                defined[row] = [definition.name for definition in file.outline.definitions]
                imported = chain.from_iterable(map(find_words, file.outline.imports))
                used[row] = [*file.outline.references, *imported]
        return IndexTable(
            self._files(),
            self._chunks(chunks, length.astype(np.float32)),
            postings,
            names_table(own, keep_texts=True),
            names_table(scope, keep_texts=True),
            names_table(stems),
            _references(defined),
            _references(used),
        )

    def _postings(self) -> Postings:
        keys = np.concatenate(self.keys) if self.keys else np.zeros(0, np.int64)
        weights = np.concatenate(self.weights) if self.weights else np.zeros(0, np.float32)
        key, count = _sum_by(keys, weights)
        chunk, word = key >> _SHIFT, key & ((1 << _SHIFT) - 1)
        word_hashes = [self._hash_terms(text) for text in self.numbers]
        hashes, term_of = np.unique(np.fromiter(chain.from_iterable(word_hashes), np.uint64), return_inverse=True)
        length = np.array([len(terms) for terms in word_hashes], dtype=np.int64)
        begin = np.cumsum(length) - length
        rows = concatenate_ranges(begin[word], begin[word] + length[word])
        chunks = max(self.chunk_count, 1)
        term_key = term_of[rows] * chunks + np.repeat(chunk, length[word])
        key, count = _sum_by(term_key, np.repeat(count, length[word]))
        term, chunk = np.divmod(key, chunks)
        holders = np.bincount(term, minlength=len(hashes))
        return Postings(hashes[holders > 0], range_offsets(holders[holders > 0]), chunk.astype(np.int32), count)

    def _hash_terms(self, word: bytes) -> tuple[int, ...]:
        if word == _LINE_END or (len(word) > self.config.longest_word and word.isascii()):
            return ()
        text = word.decode("utf-8", "surrogatepass")
        hash_terms = _word_hashes if len(text) <= CACHE_LIMITS.characters else _word_hashes.__wrapped__
        return hash_terms(text, self.config.tokenizer)

    def _files(self) -> FileTable:
        sources = self.sources
        pairs = zip(sources, self.files, strict=True)
        roles = [file_role(source.path, source.text, source.kind, file.outline) for source, file in pairs]
        return FileTable(
            tuple(source.path for source in sources),
            tuple(source.language or "" for source in sources),
            tuple(source.sha256 for source in sources),
            tuple(file.problem or "" for file in self.files),
            np.array([_FILE_KIND[source.kind] for source in sources], dtype=np.uint8),
            np.array([ROLES.index(role) for role in roles], dtype=np.uint8),
            np.frombuffer(b"".join(self.texts), dtype=np.uint8),
            range_offsets(np.array([len(text) for text in self.texts], dtype=np.int64)),
        )

    def _chunks(self, chunks: Sequence[Chunk], length: FloatArray) -> ChunkTable:
        return ChunkTable(
            np.repeat(np.arange(len(self.files)), [len(file.chunks) for file in self.files]).astype(np.int32),
            np.array([chunk.start for chunk in chunks], dtype=np.int32),
            np.array([chunk.end for chunk in chunks], dtype=np.int32),
            np.array([_CHUNK_KIND[chunk.kind] for chunk in chunks], dtype=np.uint8),
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
    hashes = [np.unique(np.array([_hash(name) for name in listed], dtype=np.uint64)) for listed in names]
    file = np.repeat(np.arange(len(hashes)), [len(file_hashes) for file_hashes in hashes])
    return ReferenceTable(file.astype(np.int32), np.concatenate(hashes or [np.zeros(0, np.uint64)]).astype(np.uint64))
