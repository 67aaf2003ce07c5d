"""Vectors for the units of a table: embedded where they are new, remembered where they are not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.corpus.cache import cache_dir
from assay.search.dense import Embedder, EmbedderConfig, EmbeddingCache, Vectors, make_embedder
from assay.search.dense.embedders import Role
from assay.search.filters import unit_text
from assay.search.models import DenseSettings
from assay.search.question import QueryKind
from assay.search.store.format import StoreProblem, read_store, write_store
from assay.search.store.lock import writer_lock
from assay.search.tables import FILE_KINDS, Table

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The units of one role (code, or docs when it has a model of its own) with their vectors."""

    embedder: Embedder
    rows: NDArray[np.int64]
    vectors: Vectors

    def scores(self, query: str) -> Values:
        """Compare a query with every unit of the role."""
        vector = self.embedder.embed([query], "query")[0]
        return self.vectors.scores(vector).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Dense:
    """How near in meaning each unit is to a query."""

    settings: DenseSettings
    parts: tuple[Meaning, ...]
    units: int

    def weight(self, kind: QueryKind) -> float:
        """Choose the weight by the kind of the query."""
        settings = self.settings
        return {"symbol": settings.symbol, "keywords": settings.keywords, "language": settings.language}[kind]

    def __call__(self, query: str) -> Values:
        """Score every unit from 0 to 1, those of each model apart: what two models say cannot be compared."""
        scores = np.zeros(self.units)
        for part in self.parts:
            found = part.scores(query)
            low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 0.0)
            scores[part.rows] = (found - low) / (high - low) if high > low else 0.0
        return scores


def embed_table(table: Table, settings: DenseSettings, folder: Path | None) -> Dense | None:
    """Give every unit its vector; None when no model is set. With a folder, vectors are kept there and reused."""
    if not settings.model:
        return None
    is_docs = table.files.kind[table.units.file] == FILE_KINDS.index("docs")
    groups: list[tuple[str, Role, NDArray[np.bool_]]]
    if settings.docs_model:
        groups = [(settings.model, "code", ~is_docs), (settings.docs_model, "docs", is_docs)]
    else:
        groups = [(settings.model, "code", np.ones(len(table.units), dtype=bool))]
    parts = tuple(
        _part(table, make_embedder(spec, _embedder_config(settings)), role, np.flatnonzero(chosen), settings, folder)
        for spec, role, chosen in groups
    )
    return Dense(settings, parts, len(table.units))


def _embedder_config(settings: DenseSettings) -> EmbedderConfig:
    """Pass on what an embedder is told."""
    return EmbedderConfig(
        token_env=settings.token_env or None,
        query_prefix=settings.query_prefix,
        code_prefix=settings.code_prefix,
        docs_prefix=settings.docs_prefix,
    )


def _part(
    table: Table, embedder: Embedder, role: Role, rows: NDArray[np.int64], settings: DenseSettings, folder: Path | None
) -> Meaning:
    """Embed the units of one role, or read their vectors if nothing changed since they were written."""
    texts = [passage(table, int(row)) for row in rows.tolist()]
    if folder is None:
        return Meaning(embedder, rows, Vectors.build(embedder.embed(texts, role), settings.vectors))
    place = folder / f"{role}.vectors"
    digest = _digest(embedder, settings, texts)
    vectors = _read(place, digest)
    if vectors is None:
        matrix = EmbeddingCache(cache_dir() / "embeddings").embed(embedder, texts, role)
        vectors = Vectors.build(matrix, settings.vectors)
        with writer_lock(folder):
            write_store(place, {"digest": digest}, vectors.columns())
    return Meaning(embedder, rows, vectors)


def passage(table: Table, unit: int) -> str:
    """Write a unit as a model reads it: its file, what is around it, then its lines."""
    file = int(table.units.file[unit])
    begin, end = np.searchsorted(table.own.owner, [unit, unit + 1]).tolist()
    header = " ".join([table.files.paths[file], *table.own.texts[begin:end]])
    return f"{header}\n{unit_text(table, file, unit, unit)}"


def _digest(embedder: Embedder, settings: DenseSettings, texts: Sequence[str]) -> str:
    """Name what decides the vectors of a role."""
    sha = hashlib.sha256(f"{embedder.identity}\0{settings.vectors}\0".encode())
    for text in texts:
        sha.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return sha.hexdigest()


def _read(place: Path, digest: str) -> Vectors | None:
    """Read vectors, if they are those of these texts."""
    try:
        stored = read_store(place)
    except StoreProblem:
        return None
    return Vectors.from_columns(stored.arrays) if stored.meta.get("digest") == digest else None
