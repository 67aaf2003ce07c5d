"""Vectors for the units of a table: embedded where they are new, remembered where they are not.

Embedders are imported when a model is set, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.artefacts.kinds import EMBEDDINGS
from assay.corpus.cache import cache_dir
from assay.digests import digest_of
from assay.errors import EnvironmentFailure
from assay.search.filters import scope_text, unit_text
from assay.search.meaning import Dense, Meaning, readable
from assay.search.models import DenseSettings, Kind
from assay.search.store.format import JSON, Stored, StoreProblem, read_store, write_store
from assay.search.store.lock import writer_lock
from assay.search.tables import FILE_KINDS, LongArray, Table

if TYPE_CHECKING:
    from assay.search.dense import Embedder, EmbedderConfig, Role, VectorConfig
    from assay.search.static import UnitVectors

    Embed: TypeAlias = Callable[[Sequence[str], Role], NDArray[np.float32]]


Columns: TypeAlias = Mapping[str, NDArray[Any]]

#: Raised when a unit is written in another way for a model to read, so that kept vectors are made anew.
_PASSAGE: Final = 1


class Group(NamedTuple):
    """Units that one model reads."""

    model: str
    name: str
    rows: LongArray


def groups(table: Table, settings: DenseSettings) -> tuple[Group, ...]:
    """Say which model reads which units; none when no model is set."""
    if not settings.model:
        return ()
    docs = table.files.kind[table.units.file] == FILE_KINDS.index("docs")
    every = np.ones(len(table.units), dtype=bool)
    code = Group(settings.model, "code", np.flatnonzero(~docs if settings.docs_model else every))
    return (code, Group(settings.docs_model, "docs", np.flatnonzero(docs))) if settings.docs_model else (code,)


def embed_table(table: Table, settings: DenseSettings, folder: Path | None) -> Dense | None:
    """Give every unit its vector; None when no model is set. With a folder, vectors are kept there and reused."""
    if not settings.model:
        return None
    parts = (
        _part(table, settings, group, folder and folder / f"vectors-{group.name}.assay")
        for group in groups(table, settings)
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


def open_embedder(settings: DenseSettings, model: str) -> Embedder:
    """Open a model with what it is told."""
    from assay.search.dense import make_embedder

    return make_embedder(model, _embedder_config(settings))


def _part(table: Table, settings: DenseSettings, group: Group, place: Path | None) -> Meaning:
    """Embed units, or read their vectors if nothing changed since they were written."""
    embedder = open_embedder(settings, group.model)
    digest = vectors_digest(embedder, settings, table)
    stored = _read(place) if place else None
    if stored and stored.meta.get("digest") == digest:
        return meaning_of(table, settings, group, embedder, stored.arrays)
    columns = embed_units(embedder, table, group, settings.vectors, stored, cached=place is not None)
    if place:
        meta: dict[str, JSON] = {"digest": digest, "model": embedder.identity}
        with suppress(EnvironmentFailure, OSError), writer_lock(place.parent):  # unwritable: it only costs time
            write_store(place, meta, columns)
    return meaning_of(table, settings, group, embedder, columns)


def embed_units(
    embedder: Embedder,
    table: Table,
    group: Group,
    kind: Kind,
    stored: Stored | None = None,
    *,
    cached: bool = False,
) -> Columns:
    """Embed units, and give the vectors and what is kept beside them as columns."""
    from assay.search.dense import Vectors

    made = _made(embedder, table, group.rows, stored, cached=cached)
    return {**Vectors.build(made.matrix, kind).columns(), **made.columns}


def meaning_of(table: Table, settings: DenseSettings, group: Group, embedder: Embedder, columns: Columns) -> Meaning:
    """Put a model and the vectors of its units together."""
    from assay.search.dense import Vectors

    vectors = Vectors.from_columns(columns, _scan(settings))
    return _meaning(table, settings, Meaning(embedder, group.rows, vectors), columns)


def _meaning(table: Table, settings: DenseSettings, plain: Meaning, columns: Columns) -> Meaning:
    """Add the words of paths, where they are known and wanted."""
    from assay.search.static import UnitVectors, path_words

    units = UnitVectors.from_columns(np.zeros((0, 0), np.float32), columns) if settings.path else None
    file = table.units.file[plain.rows]
    return replace(plain, paths=path_words(units, file, settings.path)) if units else plain


@dataclass(frozen=True, slots=True)
class _Made:
    """Vectors, and what is kept beside them so that fewer need be made next time."""

    matrix: NDArray[np.float32]
    columns: Columns


def _made(embedder: Embedder, table: Table, rows: LongArray, stored: Stored | None, *, cached: bool) -> _Made:
    """Embed units: from the words of the index where the model knows them, else from their text."""
    from assay.search.dense import EmbeddingCache
    from assay.search.static import StaticEmbedder, unit_vectors

    if not isinstance(embedder, StaticEmbedder):
        embed = partial(EmbeddingCache(cache_dir() / EMBEDDINGS.name).embed, embedder) if cached else embedder.embed
        return _Made(_matrix(table, rows, embed, embedder.dimension), {})
    made = unit_vectors(embedder, table, _known(embedder, stored)).of(rows)
    return _Made(made.matrix, made.columns())


def _known(embedder: Embedder, stored: Stored | None) -> UnitVectors | None:
    """Return what the same model embedded before; rounded numbers are not exact enough to be reused."""
    from assay.search.static import UnitVectors

    if stored is None or stored.meta.get("model") != embedder.identity or "float32" not in stored.arrays:
        return None
    units = UnitVectors.from_columns(stored.arrays["float32"], stored.arrays)
    return units if units and units.is_consistent else None


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


def vectors_digest(embedder: Embedder, settings: DenseSettings, table: Table) -> str:
    """Name what decides the vectors: the model, and the files, for in a folder of one shape they decide the units."""
    files = [table.files.paths, table.files.hashes, table.files.languages]
    facts = [_PASSAGE, embedder.identity, settings.vectors, bool(settings.docs_model), *files]
    return digest_of(facts)


def _read(place: Path) -> Stored | None:
    """Read what is kept, if it can be read."""
    try:
        return read_store(place)
    except StoreProblem:
        return None
