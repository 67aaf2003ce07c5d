"""Dense retrieval: the vectors of chunks, and how near each is to a query."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.corpus.cache import cache_dir
from assay.digests import digest_of
from assay.errors import SetupError
from assay.search.index_files import writer_lock
from assay.search.query import Per, QueryKind
from assay.search.table import FILE_KINDS, IndexTable, LongArray, Values, own_names, scope_text, unit_text
from assay.store.array_file import JSON, IndexFormatError, Stored, read_store, write_store
from assay.store.paths import EMBEDDINGS

if TYPE_CHECKING:
    from assay.search.config import DenseSettings, Feedback
    from assay.search.embedders import Embedder
    from assay.search.static import ChunkVectors, PathWords
    from assay.search.vectors import Kind, Vectors
    from assay.search.view import Memo


Vector = NDArray[np.float32]
Columns: TypeAlias = Mapping[str, NDArray[Any]]

#: After feedback, this many times `reach` chunks are compared again: the nearest of the moved query are among them.
_AGAIN: Final = 4
#: Raised when `passage` changes, so that stored vectors are made again.
_PASSAGE: Final = 1


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Scores of all chunks by their distance to a query."""

    settings: DenseSettings
    parts: tuple[DenseIndex, ...]
    units: int
    memo: Memo | None = None  # shared with engines of other settings

    def weight(self, kind: QueryKind, per: Per) -> float:
        """Return the weight for a kind of query and what is ranked."""
        settings = self.settings
        plain = {"symbol": settings.symbol, "keywords": settings.keywords, "language": settings.language}[kind]
        return plain * settings.files if per == "file" else plain

    def __call__(self, query: str, per: Per, words: Values, weight: float) -> Values:
        """Score every chunk from 0 to 1, each model on its own scale, since scores of two models are not comparable.

        `words` has the lexical scores, which choose the first results for feedback.
        """
        scores = np.zeros(self.units)
        for part in self.parts:
            scores[part.rows] = self._scores(part, query, per, words[part.rows], weight)
        return scores

    def _scores(self, part: DenseIndex, query: str, per: Per, words: Values, weight: float) -> Values:
        feedback, reach = self.settings.feedback, self.settings.reach
        look = partial(_look, part, query, per, reach)
        vector, near, found = look() if self.memo is None else self.memo.of(query, ("look", id(part), per, reach), look)
        if per == "file" or not feedback.weight or not found.any():
            return found
        moved = part.move(vector, self.settings.words * words + weight * found, feedback)
        return _scale(part.near_again(moved, near, _AGAIN * reach), reach)


def _look(part: DenseIndex, query: str, per: Per, reach: int) -> tuple[Vector, Vector, Values]:
    """Return the vector of a query, its similarity to each chunk, and the scaled scores."""
    vector = np.asarray(part.embedder.embed([_readable(query)], "query")[0])
    if not len(part.rows) or not reach or not vector.any():
        return vector, vector[:0], np.zeros(len(part.rows))
    near = part.near(vector, per)
    return vector, near, _scale(near, reach)


def _scale(near: Vector, reach: int) -> Values:
    """Scale the `reach` nearest chunks to 0..1 and set the others to 0.

    Distant chunks are noise, and more of it the larger the corpus: they must not set the scale.
    """
    last = max(len(near) - reach, 0)
    low, high = max(float(np.partition(near, last)[last]), 0.0), float(near.max())
    if high <= low:  # all alike, only the nearest wanted, or no positive similarity
        return np.asarray((near >= high) & (high > 0), dtype=np.float64)
    return np.clip((near.astype(np.float64) - low) / (high - low), 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class DenseIndex:
    """The chunks of one model, with their vectors."""

    embedder: Embedder
    rows: LongArray
    vectors: Vectors
    paths: PathWords | None = None  # vectors of their paths, for models that keep them apart

    def near(self, query: Vector, per: Per) -> Vector:
        """Return the cosine of a query with every chunk."""
        found = self.vectors.scores(query)
        return self.paths(found, query) if per == "file" and self.paths else found

    def move(self, query: Vector, found: Values, feedback: Feedback) -> Vector:
        """Move a query towards its first results (Rocchio, 1971), which use the words of the corpus."""
        from assay.search.vectors import best_rows

        first = best_rows(found, feedback.units)
        total = (self.vectors.rows.vectors(first) * found[first, None]).sum(axis=0, dtype=np.float64)
        return _unit(query + feedback.weight * _unit(total))

    def near_again(self, query: Vector, near: Vector, most: int) -> Vector:
        """Compare a moved query with the chunks that were nearest before; a second full scan costs more."""
        from assay.search.vectors import best_rows

        if most >= len(near):
            return self.vectors.rows.scores(query, slice(None))
        rows = best_rows(near, most)
        found = np.full(len(near), -1, dtype=np.float32)
        found[rows] = self.vectors.rows.scores(query, rows)
        return found


def _unit(vector: NDArray[Any]) -> Vector:
    length = float(np.sqrt(np.vecdot(vector, vector)))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


class ModelGroup(NamedTuple):
    """The chunks that one model embeds."""

    model: str
    name: str
    rows: LongArray


def groups(table: IndexTable, settings: DenseSettings) -> tuple[ModelGroup, ...]:
    """Return which model embeds which chunks; none when no model is set."""
    if not settings.model:
        return ()
    if not settings.docs_model:
        return (ModelGroup(settings.model, "code", np.arange(len(table.units))),)
    docs = table.files.kind[table.units.file] == FILE_KINDS.index("docs")
    code = ModelGroup(settings.model, "code", np.flatnonzero(~docs))
    return code, ModelGroup(settings.docs_model, "docs", np.flatnonzero(docs))


def embed_table(table: IndexTable, settings: DenseSettings, folder: Path | None) -> DenseScores | None:
    """Embed every chunk; None when no model is set. With a folder, vectors are stored there and reused."""
    if not settings.model:
        return None
    parts = (
        _embed_group(table, settings, group, folder and folder / f"vectors-{group.name}.assay")
        for group in groups(table, settings)
    )
    return DenseScores(settings, tuple(parts), len(table.units))


def _embed_group(table: IndexTable, settings: DenseSettings, group: ModelGroup, place: Path | None) -> DenseIndex:
    embedder = open_embedder(settings, group.model)
    # the files decide the chunks, since a folder holds indexes of one shape
    files = [table.files.paths, table.files.hashes, table.files.languages]
    digest = digest_of([_PASSAGE, embedder.identity, settings.vectors, bool(settings.docs_model), *files])
    stored = None
    if place:
        with suppress(IndexFormatError):
            stored = read_store(place)
    if stored and stored.meta.get("digest") == digest:
        return dense_index(table, settings, group, embedder, stored.arrays)
    columns = embed_units(embedder, table, group, settings.vectors, stored, cached=place is not None)
    if place:
        meta: dict[str, JSON] = {"digest": digest, "model": embedder.identity}
        with suppress(SetupError, OSError), writer_lock(place.parent):  # not writable: it only costs time
            write_store(place, meta, columns)
    return dense_index(table, settings, group, embedder, columns)


def open_embedder(settings: DenseSettings, model: str) -> Embedder:
    """Open a model with the settings for it."""
    from assay.search.embedders import EmbedderConfig, make_embedder

    prefixes = (settings.query_prefix, settings.code_prefix, settings.docs_prefix)
    return make_embedder(model, EmbedderConfig(settings.token_env or None, *prefixes))


def embed_units(
    embedder: Embedder,
    table: IndexTable,
    group: ModelGroup,
    kind: Kind,
    stored: Stored | None = None,
    *,
    cached: bool = False,
) -> Columns:
    """Return the vectors of chunks as columns, with what static models store beside them."""
    from assay.search.embedders import EmbeddingCache
    from assay.search.static import StaticEmbedder, unit_vectors
    from assay.search.vectors import Vectors

    if isinstance(embedder, StaticEmbedder):
        made = unit_vectors(embedder, table, _reusable(embedder, stored)).of(group.rows)
        return {**Vectors.build(made.matrix, kind).columns(), **made.columns()}
    embed = partial(EmbeddingCache(cache_dir() / EMBEDDINGS.name).embed, embedder) if cached else embedder.embed
    docs = table.files.kind[table.units.file[group.rows]] == FILE_KINDS.index("docs")
    matrix = np.zeros((len(group.rows), embedder.dimension), dtype=np.float32)
    if not docs.all():
        matrix[~docs] = embed([passage(table, row) for row in group.rows[~docs].tolist()], "code")
    if docs.any():
        matrix[docs] = embed([passage(table, row) for row in group.rows[docs].tolist()], "docs")
    return Vectors.build(matrix, kind).columns()


def _reusable(embedder: Embedder, stored: Stored | None) -> ChunkVectors | None:
    from assay.search.static import ChunkVectors

    if stored is None or stored.meta.get("model") != embedder.identity or "float32" not in stored.arrays:
        return None
    units = ChunkVectors.from_columns(stored.arrays["float32"], stored.arrays)
    return units if units and units.is_consistent else None


def dense_index(
    table: IndexTable, settings: DenseSettings, group: ModelGroup, embedder: Embedder, columns: Columns
) -> DenseIndex:
    """Return the index of a model and the vectors of its chunks."""
    from assay.search.static import ChunkVectors, path_words
    from assay.search.vectors import Vectors, VectorScanConfig

    scan = VectorScanConfig(rescored=max(VectorScanConfig().rescored, 2 * settings.reach))
    units = ChunkVectors.from_columns(np.zeros((0, 0), np.float32), columns) if settings.path else None
    paths = path_words(units, table.units.file[group.rows], settings.path) if units else None
    return DenseIndex(embedder, group.rows, Vectors.from_columns(columns, scan), paths)


def passage(table: IndexTable, unit: int) -> str:
    """Return the text of a chunk for a model: path, scope, defined names, then its lines."""
    file = int(table.units.file[unit])
    header = [table.files.paths[file], scope_text(table, unit), *own_names(table, unit)]
    return _readable(f"{' '.join(filter(None, header))}\n{unit_text(table, file, unit, unit)}")


def _readable(text: str) -> str:
    # tokenizers refuse lone surrogates, which undecodable paths and broken terminals produce
    return text.encode("utf-8", "replace").decode("utf-8")
