"""Dense retrieval, and the fusion of dense and lexical scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from assay.digests import digest_of
from assay.errors import ConfigError, SetupError, did_you_mean
from assay.records import dataclass
from assay.search.query import Per, QueryKind
from assay.search.table import FILE_KINDS, IndexTable, LongArray, Values, chunk_text, own_names, scope_text
from assay.search.vectors import Columns, Matrix, VectorFormat, Vectors, VectorScanConfig, best_rows
from assay.store.array_file import ArrayFile, IndexFormatError, read_store, write_store
from assay.store.kinds import EMBEDDINGS
from assay.store.store import Store, writer_lock

if TYPE_CHECKING:
    from assay.search.config import DenseSettings, FeedbackSettings
    from assay.search.embedders import Embedder, TextRole
    from assay.search.static import PathWords
    from assay.search.view import QueryMemo

Vector = NDArray[np.float32]

#: After feedback, `_AGAIN * reach` chunks are scored again: enough to include those nearest to the moved query.
_AGAIN: Final = 4
#: Increment when `passage_text` changes, so that stored vectors are recomputed.
PASSAGE: Final = 1
#: Texts embedded between two writes to the store. An interruption loses at most one batch: half a minute with a
#: network of six layers, or 64 requests to an API.
_BATCH: Final = 2_048


@dataclass(frozen=True, slots=True)
class DenseScores:
    settings: DenseSettings
    parts: tuple[DenseIndex, ...]
    chunk_count: int
    memo: QueryMemo | None = None  # shared by engines with different settings

    def weights(self, kind: QueryKind, per: Per) -> tuple[float, float]:
        """Return the weights of lexical and dense scores."""
        settings = self.settings
        if settings.alpha >= 0:
            return 1 - settings.alpha, settings.alpha
        weight: float = getattr(settings, kind)
        return settings.words, weight * settings.files if per == "file" else weight

    def similarity(self, query: str, per: Per) -> Values:
        """Return the similarity of each chunk to the query; 0 if the query has no vector."""
        similarity = np.zeros(self.chunk_count)
        for part in self.parts:
            near = part.first_scores(query, per, max(self.settings.reach, 1))[1]
            similarity[part.rows] = near if len(near) else 0.0
        return similarity

    def __call__(self, query: str, per: Per, words: Values, weight: float) -> Values:
        """Score every chunk from 0 to 1; each model is scaled separately, since scores of models are not comparable.

        `words` are the weighted lexical scores of the chunks, which help to choose the first results for feedback.
        """
        feedback, reach = self.settings.feedback, self.settings.reach
        scores = np.zeros(self.chunk_count)
        for part in self.parts:
            first = partial(part.first_scores, query, per, reach)
            vector, similarity, scaled = (
                first() if self.memo is None else self.memo.get(query, ("dense", id(part), per, reach), first)
            )
            if per == "span" and feedback.weight and scaled.any():
                moved = part.move(vector, words[part.rows] + weight * scaled, feedback)
                scaled = scale_nearest(part.rescore(moved, similarity, _AGAIN * reach), reach)
            scores[part.rows] = scaled
        return scores


@dataclass(frozen=True, slots=True)
class DenseIndex:
    embedder: Embedder
    rows: LongArray
    vectors: Vectors
    paths: PathWords | None = None  # path words, for static models only

    def first_scores(self, query: str, per: Per, reach: int) -> tuple[Vector, Vector, Values]:
        """Return the query vector, its similarity to each chunk (none if all scores are 0), and scores from 0 to 1."""
        vector = np.asarray(self.embedder.embed([replace_surrogates(query)], "query")[0])
        if not len(self.rows) or not reach or not vector.any():
            return vector, vector[:0], np.zeros(len(self.rows))
        similarity = self.vectors.scores(vector)
        if per == "file" and self.paths:
            similarity = self.paths(similarity, vector)
        return vector, similarity, scale_nearest(similarity, reach)

    def move(self, query: Vector, scores: Values, feedback: FeedbackSettings) -> Vector:
        first = best_rows(scores, feedback.units)
        total = (self.vectors.rows.vectors(first) * scores[first, None]).sum(axis=0, dtype=np.float64)
        return _unit_vector(query + feedback.weight * _unit_vector(total))

    def rescore(self, query: Vector, similarity: Vector, most: int) -> Vector:
        """Score the `most` previously nearest chunks for the query vector after relevance feedback; others get -1."""
        if most >= len(similarity):
            return self.vectors.rows.scores(query, slice(None))
        rows = best_rows(similarity, most)
        scores = np.full(len(similarity), -1, dtype=np.float32)
        scores[rows] = self.vectors.rows.scores(query, rows)
        return scores


def scale_nearest(similarity: Vector, reach: int) -> Values:
    """Scale the similarities of the `reach` nearest chunks to 0..1 and set all others to 0.

    Distant chunks are noise that grows with the corpus, so they must not affect the scale.
    """
    last = max(len(similarity) - reach, 0)
    low, high = max(float(np.partition(similarity, last)[last]), 0.0), float(similarity.max())
    if high <= low:  # all similarities equal, `reach` 1, or none positive
        return np.asarray((similarity >= high) & (high > 0), dtype=np.float64)
    return np.clip((similarity.astype(np.float64) - low) / (high - low), 0.0, 1.0)


def _unit_vector(vector: NDArray[Any]) -> Vector:
    length = float(np.sqrt(np.vecdot(vector, vector)))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


class ModelGroup(NamedTuple):
    model: str
    name: str
    rows: LongArray


def group_chunks(table: IndexTable, settings: DenseSettings) -> tuple[ModelGroup, ...]:
    """Group the chunks by model: all in one group, or documentation in a second group if it has another model."""
    if not settings.docs_model:
        return (ModelGroup(settings.model, "code", np.arange(len(table.chunks))),)
    docs = table.files.kind[table.chunks.file] == FILE_KINDS.index("docs")
    code = ModelGroup(settings.model, "code", np.flatnonzero(~docs))
    return code, ModelGroup(settings.docs_model, "docs", np.flatnonzero(docs))


def embed_table(table: IndexTable, settings: DenseSettings, directory: Path | None) -> DenseScores | None:
    if not settings.model:
        return None
    parts = (
        _embed_group(table, settings, group, directory and directory / f"vectors-{group.name}.assay")
        for group in group_chunks(table, settings)
    )
    return DenseScores(settings, tuple(parts), len(table.chunks))


def _embed_group(table: IndexTable, settings: DenseSettings, group: ModelGroup, path: Path | None) -> DenseIndex:
    embedder = open_embedder(settings, group.model)
    # the files determine the chunks, since all indexes of a directory have the same settings
    files = [table.files.paths, table.files.hashes, table.files.languages]
    digest = digest_of([PASSAGE, embedder.identity, settings.vectors, bool(settings.docs_model), *files])
    stored = None
    if path:
        with suppress(IndexFormatError):
            stored = read_store(path)
    if stored and stored.meta.get("digest") == digest:
        return dense_index(table, settings, group, embedder, stored.arrays)
    columns = embed_chunks(embedder, table, group, settings.vectors, stored, Store() if path else None)
    if path:
        with suppress(SetupError, OSError), writer_lock(path.parent):  # the directory may be read-only
            write_store(path, {"digest": digest, "model": embedder.identity}, columns)
    return dense_index(table, settings, group, embedder, columns)


def open_embedder(settings: DenseSettings, model: str) -> Embedder:
    kind, _, target = model.partition(":")
    if kind == "static":
        from assay.search.static import StaticEmbedder, open_static

        return StaticEmbedder(open_static(target or None))
    from assay.search.embedders import EmbedderConfig, make_embedder

    prefixes = (settings.query_prefix, settings.code_prefix, settings.docs_prefix)
    return make_embedder(model, EmbedderConfig(settings.token_env or None, *prefixes))


def embed_chunks(
    embedder: Embedder,
    table: IndexTable,
    group: ModelGroup,
    kind: VectorFormat,
    stored: ArrayFile | None = None,
    store: Store | None = None,
) -> Columns:
    """Return the vectors of chunks as columns to store."""
    from assay.search.static import ChunkVectors, StaticEmbedder, chunk_vectors

    if isinstance(embedder, StaticEmbedder):
        known = None
        if stored and stored.meta.get("model") == embedder.identity and "float32" in stored.arrays:
            known = ChunkVectors.from_columns(stored.arrays["float32"], stored.arrays)
        made = chunk_vectors(embedder, table, known if known and known.is_consistent else None).of(group.rows)
        return {**Vectors.build(made.matrix, kind).columns(), **made.columns()}
    docs = table.files.kind[table.chunks.file[group.rows]] == FILE_KINDS.index("docs")
    matrix = np.zeros((len(group.rows), embedder.dimension), dtype=np.float32)
    roles: tuple[tuple[TextRole, NDArray[np.bool_]], ...] = (("code", ~docs), ("docs", docs))
    for role, mask in roles:
        files = groupby(group.rows[mask].tolist(), key=table.chunks.file.__getitem__)
        passages = [[passage_text(table, row) for row in rows] for _, rows in files]
        matrix[mask] = embed_parts(embedder, passages, role, store)
    return Vectors.build(matrix, kind).columns()


def embed_parts(
    embedder: Embedder, parts: Sequence[Sequence[str]], role: TextRole, store: Store | None, batch: int = _BATCH
) -> Matrix:
    """Return one vector per text; `store` caches the vectors of each part."""
    keys = [digest_of([embedder.identity, embedder.dimension, role, *texts]) for texts in parts]
    known = {key: store and store.get(EMBEDDINGS.name, key) for key in keys}
    missing = {key: texts for key, texts in zip(keys, parts, strict=True) if known[key] is None}
    ends = accumulate(len(texts) for texts in missing.values())
    for _, batch_parts in groupby(zip(missing, ends, strict=True), key=lambda part: (part[1] - 1) // batch):
        batch_keys = [key for key, _ in batch_parts]
        rows = embedder.embed([text for key in batch_keys for text in missing[key]], role)
        sizes = [len(missing[key]) for key in batch_keys]
        for key, vectors in zip(batch_keys, np.split(rows, np.cumsum(sizes)[:-1]), strict=True):
            known[key] = data = vectors.astype(np.float32).tobytes()
            if store:
                with suppress(SetupError):  # the store may be read-only
                    store.put(EMBEDDINGS.name, key, data)
    data = b"".join(known[key] or b"" for key in keys)
    return np.frombuffer(data, dtype=np.float32).reshape(-1, embedder.dimension)


def dense_index(
    table: IndexTable, settings: DenseSettings, group: ModelGroup, embedder: Embedder, columns: Columns
) -> DenseIndex:
    from assay.search.static import ChunkVectors, path_words

    scan = VectorScanConfig(rescored=max(VectorScanConfig().rescored, 2 * settings.reach))
    chunks = ChunkVectors.from_columns(np.zeros((0, 0), np.float32), columns) if settings.path else None
    paths = path_words(chunks, table.chunks.file[group.rows], settings.path) if chunks else None
    return DenseIndex(embedder, group.rows, Vectors.from_columns(columns, scan), paths)


def passage_text(table: IndexTable, chunk: int) -> str:
    """Return the text to embed for a chunk: path, scopes, defined names, then the lines of the chunk."""
    file = int(table.chunks.file[chunk])
    header = [table.files.paths[file], scope_text(table, chunk), *own_names(table, chunk)]
    return replace_surrogates(f"{' '.join(filter(None, header))}\n{chunk_text(table, file, chunk, chunk)}")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which come from undecodable paths and broken terminals; tokenizers reject them."""
    return text.encode("utf-8", "replace").decode("utf-8")


FusionMethod = Literal["relative", "max", "zscore", "rrf"]


@dataclass(frozen=True, slots=True, repr=False)
class Fusion:
    """A weighted sum of signals, each normalized over the candidates; `parse_fusion` parses the repr.

    `relative`: min-max: the worst candidate of a signal gets 0, the best 1 (Weaviate's relativeScoreFusion).
    `max`: divided by the best candidate's score; negative scores count as 0.
    `zscore`: standard deviations from the mean.
    `rrf`: 1 / (k + rank) (Cormack, Clarke and Büttcher, SIGIR 2009), from the order alone. Tied candidates get the last
    of their ranks, so candidates without a score come last.

    With six lexical signals, file rankings reached nDCG@10 0.891 with `max`, 0.876 with `zscore`, and 0.833 (k = 60) to
    0.870 (k = 5) with `rrf`.
    """

    method: FusionMethod
    k: int = 60  # for rrf only; 60 as in the paper, smaller values favor the first ranks

    def __repr__(self) -> str:
        return f"rrf(k={self.k})" if self.method == "rrf" else self.method

    def __call__(self, signals: Sequence[Values], weights: Sequence[float]) -> Values:
        total = np.zeros(len(signals[0]) if signals else 0)
        for signal, weight in zip(signals, weights, strict=True):
            if weight and len(signal):
                total += weight * self._normalize(signal)
        return total

    def _normalize(self, signal: Values) -> Values:
        if self.method == "rrf":
            return 1 / (self.k + (len(signal) - np.searchsorted(np.sort(signal), signal)).astype(np.float64))
        if self.method == "max":
            shifted, scale = np.maximum(signal, 0), signal.max()
        elif self.method == "relative":
            shifted, scale = signal - signal.min(), signal.max() - signal.min()
        else:  # rounding may give equal values a nonzero standard deviation
            shifted, scale = signal - signal.mean(), signal.std() if signal.max() != signal.min() else 0.0
        return shifted / scale if scale > 0 else np.zeros_like(signal)


def parse_fusion(text: str) -> Fusion:
    methods: tuple[FusionMethod, ...] = get_args(FusionMethod)
    for method in methods:
        if text == method:
            return Fusion(method)
    if ranked := re.fullmatch(r"rrf\(k=([0-9]+)\)", text):
        return Fusion("rrf", int(ranked[1]))
    message = f"unknown fusion {text!r}; expected {', '.join(methods)} or rrf(k=20)"
    raise ConfigError(message, hint=did_you_mean(text, methods) or "set dense.fusion to 'max'")
