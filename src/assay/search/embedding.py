"""Vectors for the units of a table: embedded where they are new, remembered where they are not.

Embedders are imported when a model is set, and not before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.corpus.cache import cache_dir
from assay.errors import EnvironmentFailure
from assay.search.filters import scope_text, unit_text
from assay.search.meaning import Dense, Meaning, readable
from assay.search.models import DenseSettings
from assay.search.store.format import JSON, Stored, StoreProblem, read_store, write_store
from assay.search.store.lock import writer_lock
from assay.search.tables import FILE_KINDS, LongArray, Table

if TYPE_CHECKING:
    from assay.search.dense import Embedder, EmbedderConfig, Role, VectorConfig
    from assay.search.static import UnitVectors

    Embed: TypeAlias = Callable[[Sequence[str], Role], NDArray[np.float32]]


#: Raised when a unit is written in another way for a model to read, so that kept vectors are made anew.
_PASSAGE: Final = 1


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


def _scan(settings: DenseSettings) -> VectorConfig:
    """Score exactly what a meaning is told by: an estimate at its edge would set the scale."""
    from assay.search.dense import VectorConfig

    return VectorConfig(rescored=max(VectorConfig().rescored, 2 * settings.reach))


def _part(table: Table, settings: DenseSettings, spec: str, rows: LongArray, place: Path | None) -> Meaning:
    """Embed units, or read their vectors if nothing changed since they were written."""
    from assay.search.dense import Vectors, make_embedder

    embedder = make_embedder(spec, _embedder_config(settings))
    digest = _digest(embedder, settings, table)
    stored = _read(place) if place else None
    if stored and stored.meta.get("digest") == digest:
        vectors = Vectors.from_columns(stored.arrays, _scan(settings))
        return _meaning(table, settings, Meaning(embedder, rows, vectors), stored.arrays)
    made = _made(embedder, table, rows, stored, cached=place is not None)
    vectors = Vectors.build(made.matrix, settings.vectors, _scan(settings))
    if place:
        meta: dict[str, JSON] = {"digest": digest, "model": embedder.identity}
        with suppress(EnvironmentFailure, OSError), writer_lock(place.parent):  # unwritable: it only costs time
            write_store(place, meta, {**vectors.columns(), **made.columns})
    return _meaning(table, settings, Meaning(embedder, rows, vectors), made.columns)


def _meaning(table: Table, settings: DenseSettings, plain: Meaning, columns: Mapping[str, NDArray[Any]]) -> Meaning:
    """Add the words of paths, where they are known and wanted."""
    from assay.search.static import UnitVectors, path_words

    units = UnitVectors.from_columns(np.zeros((0, 0), np.float32), columns) if settings.path else None
    file = table.units.file[plain.rows]
    return replace(plain, paths=path_words(units, file, settings.path)) if units else plain


@dataclass(frozen=True, slots=True)
class _Made:
    """Vectors, and what is kept beside them so that fewer need be made next time."""

    matrix: NDArray[np.float32]
    columns: Mapping[str, NDArray[Any]]


def _made(embedder: Embedder, table: Table, rows: LongArray, stored: Stored | None, *, cached: bool) -> _Made:
    """Embed units: from the words of the index where the model knows them, else from their text."""
    from assay.search.dense import EmbeddingCache
    from assay.search.static import StaticEmbedder, unit_vectors

    if not isinstance(embedder, StaticEmbedder):
        embed = partial(EmbeddingCache(cache_dir() / "embeddings").embed, embedder) if cached else embedder.embed
        return _Made(_matrix(table, rows, embed, embedder.dimension), {})
    known = _known(embedder, stored) if len(rows) == len(table.units) else None  # what is kept of some has gaps
    made = unit_vectors(embedder, table, known).of(rows)
    return _Made(made.matrix, made.columns())


def _known(embedder: Embedder, stored: Stored | None) -> UnitVectors | None:
    """Take what was embedded by the same model before; rounded numbers are not good enough to be kept."""
    from assay.search.static import UnitVectors

    if stored is None or stored.meta.get("model") != embedder.identity or "float32" not in stored.arrays:
        return None
    return UnitVectors.from_columns(stored.arrays["float32"], stored.arrays)


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
    return readable(f"{' '.join(filter(None, header))}\n{unit_text(table, file, unit, unit)}")


def _digest(embedder: Embedder, settings: DenseSettings, table: Table) -> str:
    """Name what decides the vectors: the model, and the files, for in a folder of one shape they decide the units."""
    files = [table.files.paths, table.files.hashes, table.files.languages]
    facts = [_PASSAGE, embedder.identity, settings.vectors, bool(settings.docs_model), *files]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _read(place: Path) -> Stored | None:
    """Read what is kept, if it can be read."""
    try:
        return read_store(place)
    except StoreProblem:
        return None
