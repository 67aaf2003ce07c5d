"""Static models, which consist of term vectors and translations, and chunk vectors computed with them.

The index has the same terms, so chunks are embedded from the postings without reading their text again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.records import dataclass
from assay.search.query import QueryKind, directory_names, find_words, parse_query, stem_name, term_hash, word_terms
from assay.search.table import IndexTable, IntArray, LongArray, Postings, concatenate_ranges, range_offsets
from assay.search.vectors import unit_rows
from assay.store.array_file import IndexFormatError, read_store

if TYPE_CHECKING:
    from assay.search.config import TranslationSettings
    from assay.search.embedders import TextRole

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]
Matrix = NDArray[np.float32]

WEIGHTS: Final = "weights.assay"
VOCABULARY: Final = "vocabulary.txt"
_BUNDLED: Final = Path(__file__).parents[1] / "data" / "model"
#: Increment when the meaning of the arrays changes.
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class StaticModel:
    """Vectors and weights of terms, sorted by term hash, and translations from query terms to code terms."""

    identity: str
    term: Hashes
    vector: NDArray[np.int8]
    scale: Matrix
    asked: Matrix  # weight of a term in a query
    said: Matrix  # weight of a term in code
    source: Hashes  # query terms that have translations
    offset: Rows  # index in `target` of the first translation of each source term
    target: Hashes  # translated code terms, strongest first
    strength: NDArray[np.uint8]  # strength of each translation; 255 is the maximum

    @property
    def dimension(self) -> int:
        return int(self.vector.shape[1])

    def rows(self, hashes: Hashes) -> Rows:
        at = np.minimum(self.term.searchsorted(hashes), len(self.term) - 1)
        return np.where(self.term[at] == hashes, at, -1)

    def vectors(self, rows: Rows) -> Matrix:
        return np.asarray(self.vector[rows] * self.scale[rows][:, None], dtype=np.float32)


def read_words(directory: str | Path | None = None) -> dict[int, str]:
    """Return the words of a model by hash; empty if the model has no vocabulary file."""
    path = Path(directory).expanduser() if directory else _BUNDLED
    vocabulary = path / VOCABULARY
    words = vocabulary.read_text(encoding="utf-8").splitlines() if vocabulary.is_file() else []
    return {term_hash(word): word for word in words}


def open_static(directory: str | Path | None = None) -> StaticModel:
    path = Path(directory).expanduser().resolve() if directory else _BUNDLED
    return _open(path / WEIGHTS)


@lru_cache(maxsize=4)  # a comparison may use several models
def _open(path: Path) -> StaticModel:
    hint = "pass a directory written by `assay train`; for the bundled model, reinstall Assay"
    try:
        stored = read_store(path)
    except IndexFormatError as problem:
        reason = "no model found" if problem.kind == "missing" else f"invalid model file ({problem.kind})"
        raise ConfigError(reason, file=path, hint=hint) from problem
    if (version := stored.meta.get("format")) != FORMAT:
        message = f"expected model format {FORMAT}, got {version!r}"
        raise ConfigError(message, file=path, hint="train the model again with `assay train`")
    names = [column.name for column in fields(StaticModel)[1:]]
    if missing := [name for name in names if name not in stored.arrays]:
        raise ConfigError(f"the model file lacks the arrays {', '.join(missing)}", file=path, hint=hint)
    model = StaticModel(f"static/{FORMAT} {stored.meta.get('identity')}", *(stored.arrays[name] for name in names))
    words = len(model.term)
    fits = all(len(each) == words for each in (model.vector, model.scale, model.asked, model.said))
    fits = fits and model.vector.ndim == 2 and words > 0 and len(model.offset) == len(model.source) + 1
    if not fits or not int(model.offset[-1]) == len(model.target) == len(model.strength):
        raise ConfigError("the arrays of the model have inconsistent shapes", file=path, hint="train the model again")
    return model


#: Vectors summed at a time: 2,048 rows of 256 numbers are 2 MB, which fit in the L2 cache of a core.
_BLOCK: Final = 2_048
#: Longest range that pairwise summation does not halve, as in numpy.
_LEAF: Final = 128
#: Minimum number of terms per thread; they take 10 ms.
_SHARE: Final = 20_000


@dataclass(frozen=True, slots=True)
class StaticEmbedder:
    """An embedder that sums weighted term vectors."""

    model: StaticModel

    @property
    def identity(self) -> str:
        return self.model.identity

    @property
    def dimension(self) -> int:
        return self.model.dimension

    def embed(self, texts: Sequence[str], role: TextRole) -> Matrix:
        if role != "query":
            return unit_rows(self.sum_texts(texts))
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            row = self.model.rows(np.array([term_hash(term) for term in parse_query(text).terms], np.uint64))
            row = row[row >= 0]
            factor = self.model.asked[row] * self.model.scale[row]
            total = (self.model.vector[row] * factor[:, None]).sum(axis=0)
            length = np.sqrt(np.vecdot(total, total))
            rows[number] = total / length if length > 0 else total
        return rows

    def sum_texts(self, texts: Sequence[str]) -> Matrix:
        bags = [Counter(term for run in find_words(text) for term in word_terms(run)) for text in texts]
        spelled = np.fromiter((term_hash(term) for bag in bags for term in bag), np.uint64)
        counts = np.fromiter((count for bag in bags for count in bag.values()), np.float32)
        return self._sum(
            range_offsets(np.array([len(bag) for bag in bags], np.int64)), self.model.rows(spelled), counts
        )

    def sum_chunks(self, postings: Postings, wanted: LongArray) -> Matrix:
        """Compute from the postings what `sum_texts` returns for the texts of the distinct chunks `wanted`."""
        position = np.full(max(int(postings.chunk.max(initial=0)), int(wanted.max(initial=0))) + 1, -1, dtype=np.int64)
        position[wanted] = np.arange(len(wanted))
        chunk = position[postings.chunk]
        held = np.flatnonzero(chunk >= 0)
        # numpy sorts 16-bit integers in linear time
        narrow = chunk[held].astype(np.uint16 if len(wanted) <= 1 << 16 else np.int64)
        held = held[narrow.argsort(kind="stable")]
        begin = range_offsets(np.bincount(narrow, minlength=len(wanted)).astype(np.int64))
        row = np.repeat(self.model.rows(postings.term), np.diff(postings.offset))[held]
        return self._sum(begin, row, postings.count[held])

    def _sum(self, begin: LongArray, row: Rows, count: Matrix) -> Matrix:
        """Sum the weighted vectors of model rows, with -1 for unknown terms, in ranges that start at `begin`."""
        known = np.flatnonzero(row >= 0)
        begin, row, count = np.searchsorted(known, begin), row[known], count[known]
        weight = np.sqrt(count) * self.model.said[row] * self.model.scale[row]
        sums = np.zeros((len(begin) - 1, self.dimension), dtype=np.float32)

        def vectors(at: LongArray) -> Matrix:
            return np.asarray(self.model.vector.take(row.take(at), axis=0) * weight.take(at)[..., None])

        def fill(part: LongArray) -> None:
            start = begin[part]
            sums[part] = vectors(start) + _pairwise_sums(vectors, start + 1, begin[part + 1] - start - 1)

        rows = np.flatnonzero(np.diff(begin))
        shares = np.array_split(rows, min(len(os.sched_getaffinity(0)), len(row) // _SHARE + 1))
        if len(shares) == 1:
            fill(rows)
        else:
            from concurrent.futures import ThreadPoolExecutor  # lazy: 10 ms

            with ThreadPoolExecutor(len(shares)) as pool:  # numpy releases the lock of the interpreter
                list(pool.map(fill, shares))
        return sums


def _pairwise_sums(vectors: Callable[[LongArray], Matrix], start: LongArray, length: LongArray) -> Matrix:
    """Sum consecutive vectors, range by range, in numpy's order of pairwise summation, but many ranges at a time."""
    sums = np.zeros((len(start), vectors(start[:0]).shape[1]), dtype=np.float32)
    long = length > _LEAF
    if long.any():
        half = length[long] // 16 * 8
        sums[long] = _pairwise_sums(vectors, start[long], half)
        sums[long] += _pairwise_sums(vectors, start[long] + half, length[long] - half)
    for eights in np.unique(length[~long] // 8).tolist():
        group = np.flatnonzero((length // 8 == eights) & ~long)
        group = group[np.argsort(-(length[group] % 8), kind="stable")]
        for part in np.split(group, range(_BLOCK // 8, len(group), _BLOCK // 8)):
            at, rest = start[part], length[part] % 8
            total = np.zeros((len(part), sums.shape[1]), dtype=np.float32)
            if eights:
                lanes = vectors(at[:, None] + np.arange(8))
                for first in range(8, 8 * eights, 8):
                    lanes += vectors(at[:, None] + np.arange(first, first + 8))
                for _ in range(3):
                    lanes = lanes[:, ::2] + lanes[:, 1::2]
                total = lanes[:, 0]
            for nth in range(int(rest.max())):
                more = int(np.count_nonzero(rest > nth))
                total[:more] += vectors(at[:more] + (8 * eights + nth))
            sums[part] = total
    return sums


class Translation(NamedTuple):
    term: int
    strength: float


@dataclass(frozen=True, slots=True)
class Translator:
    settings: TranslationSettings
    model: StaticModel

    def __call__(self, term: str, kind: QueryKind) -> tuple[Translation, ...]:
        weight: float = getattr(self.settings, kind)
        model, wanted = self.model, np.uint64(term_hash(term))
        at = int(model.source.searchsorted(wanted))
        if not weight or at >= len(model.source) or model.source[at] != wanted:
            return ()
        begin, end = model.offset[at : at + 2].tolist()
        rows = slice(begin, min(end, begin + self.settings.most))
        pairs = zip(model.target[rows].tolist(), model.strength[rows].tolist(), strict=True)
        return tuple(Translation(target, weight * (strength / 255)) for target, strength in pairs)


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Chunk vectors of a static model, with the values needed for updates and for path words."""

    matrix: Matrix  # unit vectors, one row per chunk
    file: Hashes  # hash of each file's path, contents and language
    offset: LongArray  # index of each file's first chunk, then the total number of chunks
    size: Matrix  # length of the sum of each chunk's terms
    path: Matrix  # sum of the terms of each file's path
    along: Matrix  # inner product of each chunk with the sum of its path

    def columns(self) -> dict[str, NDArray[Any]]:
        return {f"static.{column.name}": getattr(self, column.name) for column in fields(self)[1:]}

    def of(self, rows: LongArray) -> Self:
        owner = self.offset[1:].searchsorted(rows, side="right")
        offset = range_offsets(np.bincount(owner, minlength=len(self.file)).astype(np.int64))
        return replace(self, matrix=self.matrix[rows], offset=offset, size=self.size[rows], along=self.along[rows])

    @property
    def is_consistent(self) -> bool:
        """Whether the offsets match the vectors; earlier versions stored a subset of the vectors with all offsets."""
        chunks = len(self.matrix)
        return len(self.offset) == len(self.file) + 1 and int(self.offset[-1]) == chunks == len(self.size)

    @classmethod
    def from_columns(cls, matrix: Matrix, columns: Mapping[str, NDArray[Any]]) -> Self | None:
        """Read chunk vectors from stored arrays; return None if an array is missing."""
        names = [f"static.{column.name}" for column in fields(cls)[1:]]
        return cls(matrix, *(columns[name] for name in names)) if columns.keys() >= set(names) else None


def chunk_vectors(embedder: StaticEmbedder, table: IndexTable, known: ChunkVectors | None = None) -> ChunkVectors:
    identities = zip(table.files.paths, table.files.hashes, table.files.languages, strict=True)
    keys = ("\0".join(identity).encode("utf-8", "surrogatepass") for identity in identities)
    hashes = [int.from_bytes(blake2b(key, digest_size=8).digest(), "little") for key in keys]
    file = np.array(hashes, dtype=np.uint64)
    held = np.bincount(table.chunks.file, minlength=len(file)).astype(np.int64)
    offset = range_offsets(held)
    sums = np.zeros((len(table.chunks), embedder.dimension), dtype=np.float32)
    size = np.zeros(len(table.chunks), dtype=np.float32)
    old = np.full(len(file), -1, dtype=np.int64)
    if known is not None and len(known.file):
        order = known.file.argsort(kind="stable")
        at = order[np.minimum(known.file[order].searchsorted(file), len(order) - 1)]
        old = np.where((known.file[at] == file) & (np.diff(known.offset)[at] == held), at, -1)
    known_files, new_files = np.flatnonzero(old >= 0), np.flatnonzero(old < 0)
    fresh, copied = (concatenate_ranges(offset[some], offset[some + 1]) for some in (new_files, known_files))
    sums[fresh] = embedder.sum_chunks(table.postings, fresh)
    size[fresh] = np.sqrt(np.vecdot(sums[fresh], sums[fresh]))
    sums[fresh] = unit_rows(sums[fresh])
    paths = [table.files.paths[row] for row in new_files.tolist()]
    path = np.zeros((len(file), embedder.dimension), dtype=np.float32)
    along = np.zeros(len(table.chunks), dtype=np.float32)
    path[new_files] = embedder.sum_texts([f"{stem_name(each)} {directory_names(each)}" for each in paths])
    along[fresh] = np.vecdot(sums[fresh], path[table.chunks.file[fresh]])
    if known is not None:
        files = old[known_files]
        rows = concatenate_ranges(known.offset[files], known.offset[files + 1])
        sums[copied], size[copied], along[copied] = known.matrix[rows], known.size[rows], known.along[rows]
        path[known_files] = known.path[files]
    return ChunkVectors(sums, file, offset, size, path, along)


@dataclass(frozen=True, slots=True)
class PathWords:
    """A correction of chunk scores as if each chunk also contained the words of its path, with weight w.

    The vector of a chunk would then be u + w p, where u is the sum of its terms and p that of its path. It is never
    computed: q · (u + w p) / |u + w p| follows from q · u, q · p, and lengths that do not depend on the query q.
    """

    file: IntArray  # file of each chunk
    size: Matrix  # |u|
    path: Matrix  # p of each file
    length: Matrix  # |u + w p|
    weight: float

    def __call__(self, scores: Matrix, query: Matrix) -> Matrix:
        along = np.vecdot(self.path, query)[self.file]
        return np.asarray((self.size * scores + np.float32(self.weight) * along) / self.length, dtype=np.float32)


def path_words(chunks: ChunkVectors, file: IntArray, weight: float) -> PathWords:
    """Precompute the lengths |u + w p| for `PathWords`; 1 instead of 0, so that chunks without known terms score 0."""
    own = np.vecdot(chunks.path, chunks.path)[file]
    square = chunks.size**2 + 2 * weight * chunks.size * chunks.along + weight**2 * own
    length = np.sqrt(np.maximum(square, 0), dtype=np.float32)
    return PathWords(file, chunks.size, chunks.path, np.where(length > 0, length, 1).astype(np.float32), weight)
