"""Vectors for the units of a table: embedded where they are new, remembered where they are not.

Embedders are imported when a model is set, and not before: most searches are by words alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.corpus.cache import cache_dir
from assay.errors import EnvironmentFailure
from assay.search.filters import scope_text, unit_text
from assay.search.models import DenseSettings
from assay.search.question import QueryKind
from assay.search.store.format import StoreProblem, read_store, write_store
from assay.search.store.lock import writer_lock
from assay.search.tables import FILE_KINDS, LongArray, Table

if TYPE_CHECKING:
    from assay.search.dense import Embedder, EmbedderConfig, Role, Vectors

    Embed: TypeAlias = Callable[[Sequence[str], Role], NDArray[np.float32]]

Values = NDArray[np.float64]

#: Raised when a unit is written in another way for a model to read, so that kept vectors are made anew.
_PASSAGE: Final = 1


@dataclass(frozen=True, slots=True)
class Meaning:
    """Units, all or those that a model of their own reads, with their vectors."""

    embedder: Embedder
    rows: LongArray
    vectors: Vectors

    def scores(self, query: str) -> Values:
        """Compare a query with every unit: 1 for the nearest, 0 for the farthest."""
        vector = self.embedder.embed([_readable(query)], "query")[0]
        found = self.vectors.scores(vector).astype(np.float64)
        low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 0.0)
        return (found - low) / (high - low) if high > low else np.full(len(found), float(high > 0))


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
            scores[part.rows] = part.scores(query)
        return scores


def embed_table(table: Table, settings: DenseSettings, folder: Path | None) -> Dense | None:
    """Give every unit its vector; None when no model is set. With a folder, vectors are kept there and reused."""
    if not settings.model:
        return None
    docs = table.files.kind[table.units.file] == FILE_KINDS.index("docs")
    every = np.ones(len(table.units), dtype=bool)
    groups = [(settings.model, "code", ~docs if settings.docs_model else every)]
    groups += [(settings.docs_model, "docs", docs)] if settings.docs_model else []
    parts = (
        _part(table, settings, spec, np.flatnonzero(chosen), folder and folder / f"vectors-{name}.assay")
        for spec, name, chosen in groups
    )
    return Dense(settings, tuple(parts), len(table.units))


def _embedder_config(settings: DenseSettings) -> EmbedderConfig:
    """Pass on what an embedder is told."""
    from assay.search.dense import EmbedderConfig

    return EmbedderConfig(
        token_env=settings.token_env or None,
        query_prefix=settings.query_prefix,
        code_prefix=settings.code_prefix,
        docs_prefix=settings.docs_prefix,
    )


def _part(table: Table, settings: DenseSettings, spec: str, rows: LongArray, place: Path | None) -> Meaning:
    """Embed units, or read their vectors if nothing changed since they were written."""
    from assay.search.dense import EmbeddingCache, Vectors, make_embedder

    embedder = make_embedder(spec, _embedder_config(settings))
    if place is None:
        matrix = _matrix(table, rows, embedder.embed, embedder.dimension)
        return Meaning(embedder, rows, Vectors.build(matrix, settings.vectors))
    digest = _digest(embedder, settings, table)
    vectors = _read(place, digest)
    if vectors is None:
        embed = partial(EmbeddingCache(cache_dir() / "embeddings").embed, embedder)
        vectors = Vectors.build(_matrix(table, rows, embed, embedder.dimension), settings.vectors)
        with suppress(EnvironmentFailure, OSError), writer_lock(place.parent):  # unwritable: it only costs time
            write_store(place, {"digest": digest}, vectors.columns())
    return Meaning(embedder, rows, vectors)


def _matrix(table: Table, rows: LongArray, embed: Embed, dimension: int) -> NDArray[np.float32]:
    """Embed units, documentation as such."""
    matrix = np.zeros((len(rows), dimension), dtype=np.float32)
    for role, chosen in _roles(table, rows):
        matrix[chosen] = embed([passage(table, row) for row in rows[chosen].tolist()], role)
    return matrix


def _roles(table: Table, rows: LongArray) -> Iterator[tuple[Role, NDArray[np.bool_]]]:
    """Tell code from documentation; a role that nobody has is left out."""
    docs = table.files.kind[table.units.file[rows]] == FILE_KINDS.index("docs")
    if not docs.all():
        yield "code", ~docs
    if docs.any():
        yield "docs", docs


def passage(table: Table, unit: int) -> str:
    """Write a unit as a model reads it: its file, what is around it, what it defines, then its lines."""
    file = int(table.units.file[unit])
    begin, end = np.searchsorted(table.own.owner, [unit, unit + 1]).tolist()
    header = [table.files.paths[file], scope_text(table, unit), *table.own.texts[begin:end]]
    return _readable(f"{' '.join(filter(None, header))}\n{unit_text(table, file, unit, unit)}")


def _readable(text: str) -> str:
    """Replace halves of characters, as an undecodable path or a broken terminal gives them: tokenizers refuse them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(embedder: Embedder, settings: DenseSettings, table: Table) -> str:
    """Name what decides the vectors: the model, and the files, for in a folder of one shape they decide the units."""
    files = [table.files.paths, table.files.hashes, table.files.languages]
    facts = [_PASSAGE, embedder.identity, settings.vectors, bool(settings.docs_model), *files]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _read(place: Path, digest: str) -> Vectors | None:
    """Read vectors, if they are those of these files."""
    from assay.search.dense import Vectors

    try:
        stored = read_store(place)
    except StoreProblem:
        return None
    return Vectors.from_columns(stored.arrays) if stored.meta.get("digest") == digest else None
