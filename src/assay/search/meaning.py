"""How near in meaning is each unit to a query? Asked once of files, twice of spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.corpus.cache import cache_dir
from assay.digests import digest_of
from assay.errors import SetupError
from assay.search.filters import scope_text, unit_text
from assay.search.index_files import writer_lock
from assay.search.memo import Memo
from assay.search.models import DenseSettings, Feedback, Kind
from assay.search.query import Per, QueryKind
from assay.search.table import FILE_KINDS, IndexTable, LongArray
from assay.store.array_file import JSON, IndexFormatError, Stored, read_store, write_store
from assay.store.paths import EMBEDDINGS

if TYPE_CHECKING:
    from assay.search.embedders import Embedder, Role
    from assay.search.static import ChunkVectors, PathWords
    from assay.search.vectors import EmbedderConfig, Vectors, VectorScanConfig

    Embed: TypeAlias = Callable[[Sequence[str], Role], NDArray[np.float32]]


Values = NDArray[np.float64]
Vector = NDArray[np.float32]

#: How many times `reach` units are compared again with a query that learned from its first results: the nearest of the
#: moved query are among them.
_AGAIN: Final = 4


@dataclass(frozen=True, slots=True)
class DenseIndex:
    """Units, all or those that a model of their own reads, with their vectors."""

    embedder: Embedder
    rows: LongArray
    vectors: Vectors
    paths: PathWords | None = None  # what their files are called, where the model tells it apart

    def ask(self, query: str) -> Vector:
        """Embed a query."""
        return np.asarray(self.embedder.embed([readable(query)], "query")[0])

    def near(self, query: Vector, per: Per) -> Vector:
        """Compare a query with every unit: 1 for the same direction."""
        found = self.vectors.scores(query)
        return self.paths(found, query) if per == "file" and self.paths else found

    def ask_again(self, query: Vector, found: Values, feedback: Feedback) -> Vector:
        """Move a query towards what it found first (Rocchio, 1971), which says in the corpus' words what is meant."""
        from assay.search.vectors import best_rows

        first = best_rows(found, feedback.units)
        said = (self.vectors.rows.vectors(first) * found[first, None]).sum(axis=0, dtype=np.float64)
        return _unit(query + feedback.weight * _unit(said))

    def near_again(self, query: Vector, near: Vector, most: int) -> Vector:
        """Compare a query that was moved a little with the units that were nearest before; a second scan costs more."""
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


def _scaled(near: Vector, reach: int) -> Values:
    """Give the nearest unit 1 and all but the `reach` nearest 0.

    What lies far away is noise, and there is more of it the larger the corpus: it must not set the scale.
    """
    last = max(len(near) - reach, 0)
    low, high = max(float(np.partition(near, last)[last]), 0.0), float(near.max())
    if high <= low:  # all alike, just the nearest wanted, or nothing that points the same way
        return np.asarray((near >= high) & (high > 0), dtype=np.float64)
    return np.clip((near.astype(np.float64) - low) / (high - low), 0.0, 1.0)


class _Look(NamedTuple):
    """What one model says of a query at first sight."""

    query: Vector
    near: Vector
    found: Values


@dataclass(frozen=True, slots=True)
class DenseScores:
    """How near in meaning each unit is to a query."""

    settings: DenseSettings
    parts: tuple[DenseIndex, ...]
    units: int
    memo: Memo | None = None  # of what other settings found out about the same question

    def weight(self, kind: QueryKind, per: Per) -> float:
        """Choose the weight by the kind of the query and by what is ranked."""
        settings = self.settings
        plain = {"symbol": settings.symbol, "keywords": settings.keywords, "language": settings.language}[kind]
        return plain * settings.files if per == "file" else plain

    def __call__(self, query: str, per: Per, words: Values, weight: float) -> Values:
        """Score every unit from 0 to 1, those of each model apart: what two models say cannot be compared.

        `words` is how well the words of each unit match; with it, the first results are found that a query learns from.
        """
        scores = np.zeros(self.units)
        for part in self.parts:
            scores[part.rows] = self._scores(part, query, per, words[part.rows], weight)
        return scores

    def _scores(self, part: DenseIndex, query: str, per: Per, words: Values, weight: float) -> Values:
        look, feedback = self._seen(part, query, per), self.settings.feedback
        if per == "file" or not feedback.weight or not look.found.any():
            return look.found
        again = part.ask_again(look.query, self.settings.words * words + weight * look.found, feedback)
        return _scaled(part.near_again(again, look.near, _AGAIN * self.settings.reach), self.settings.reach)

    def _seen(self, part: DenseIndex, query: str, per: Per) -> _Look:
        if self.memo is None:
            return self._look(part, query, per)
        return self.memo.of(query, ("look", id(part), per, self.settings.reach), partial(self._look, part, query, per))

    def _look(self, part: DenseIndex, query: str, per: Per) -> _Look:
        vector = part.ask(query)
        if not len(part.rows) or not self.settings.reach or not vector.any():
            return _Look(vector, vector[:0], np.zeros(len(part.rows)))
        near = part.near(vector, per)
        return _Look(vector, near, _scaled(near, self.settings.reach))


def readable(text: str) -> str:
    """Replace halves of characters, as an undecodable path or a broken terminal gives them: tokenizers refuse them."""
    return text.encode("utf-8", "replace").decode("utf-8")


Columns: TypeAlias = Mapping[str, NDArray[Any]]

#: Raised when a unit is written in another way for a model to read, so that kept vectors are made anew.
_PASSAGE: Final = 1


class ModelGroup(NamedTuple):
    """Units that one model reads."""

    model: str
    name: str
    rows: LongArray


def groups(table: IndexTable, settings: DenseSettings) -> tuple[ModelGroup, ...]:
    """Say which model reads which units; none when no model is set."""
    if not settings.model:
        return ()
    docs = table.files.kind[table.units.file] == FILE_KINDS.index("docs")
    every = np.ones(len(table.units), dtype=bool)
    code = ModelGroup(settings.model, "code", np.flatnonzero(~docs if settings.docs_model else every))
    return (code, ModelGroup(settings.docs_model, "docs", np.flatnonzero(docs))) if settings.docs_model else (code,)


def embed_table(table: IndexTable, settings: DenseSettings, folder: Path | None) -> DenseScores | None:
    """Give every unit its vector; None when no model is set. With a folder, vectors are kept there and reused."""
    if not settings.model:
        return None
    parts = (
        _part(table, settings, group, folder and folder / f"vectors-{group.name}.assay")
        for group in groups(table, settings)
    )
    return DenseScores(settings, tuple(parts), len(table.units))


def _embedder_config(settings: DenseSettings) -> EmbedderConfig:
    from assay.search.vectors import EmbedderConfig

    return EmbedderConfig(
        token_env=settings.token_env or None,
        query_prefix=settings.query_prefix,
        code_prefix=settings.code_prefix,
        docs_prefix=settings.docs_prefix,
    )


def _scan(settings: DenseSettings) -> VectorScanConfig:
    from assay.search.vectors import VectorScanConfig

    return VectorScanConfig(rescored=max(VectorScanConfig().rescored, 2 * settings.reach))


def open_embedder(settings: DenseSettings, model: str) -> Embedder:
    """Open a model with what it is told."""
    from assay.search.embedders import make_embedder

    return make_embedder(model, _embedder_config(settings))


def _part(table: IndexTable, settings: DenseSettings, group: ModelGroup, place: Path | None) -> DenseIndex:
    embedder = open_embedder(settings, group.model)
    digest = vectors_digest(embedder, settings, table)
    stored = _read(place) if place else None
    if stored and stored.meta.get("digest") == digest:
        return meaning_of(table, settings, group, embedder, stored.arrays)
    columns = embed_units(embedder, table, group, settings.vectors, stored, cached=place is not None)
    if place:
        meta: dict[str, JSON] = {"digest": digest, "model": embedder.identity}
        with suppress(SetupError, OSError), writer_lock(place.parent):  # unwritable: it only costs time
            write_store(place, meta, columns)
    return meaning_of(table, settings, group, embedder, columns)


def embed_units(
    embedder: Embedder,
    table: IndexTable,
    group: ModelGroup,
    kind: Kind,
    stored: Stored | None = None,
    *,
    cached: bool = False,
) -> Columns:
    """Embed units, and give the vectors and what is kept beside them as columns."""
    from assay.search.vectors import Vectors

    made = _made(embedder, table, group.rows, stored, cached=cached)
    return {**Vectors.build(made.matrix, kind).columns(), **made.columns}


def meaning_of(
    table: IndexTable, settings: DenseSettings, group: ModelGroup, embedder: Embedder, columns: Columns
) -> DenseIndex:
    """Put a model and the vectors of its units together."""
    from assay.search.vectors import Vectors

    vectors = Vectors.from_columns(columns, _scan(settings))
    return _meaning(table, settings, DenseIndex(embedder, group.rows, vectors), columns)


def _meaning(table: IndexTable, settings: DenseSettings, plain: DenseIndex, columns: Columns) -> DenseIndex:
    from assay.search.static import ChunkVectors, path_words

    units = ChunkVectors.from_columns(np.zeros((0, 0), np.float32), columns) if settings.path else None
    file = table.units.file[plain.rows]
    return replace(plain, paths=path_words(units, file, settings.path)) if units else plain


@dataclass(frozen=True, slots=True)
class _Made:
    """Vectors, and what is kept beside them so that fewer need be made next time."""

    matrix: NDArray[np.float32]
    columns: Columns


def _made(embedder: Embedder, table: IndexTable, rows: LongArray, stored: Stored | None, *, cached: bool) -> _Made:
    from assay.search.embedders import EmbeddingCache
    from assay.search.static import StaticEmbedder, unit_vectors

    if not isinstance(embedder, StaticEmbedder):
        embed = partial(EmbeddingCache(cache_dir() / EMBEDDINGS.name).embed, embedder) if cached else embedder.embed
        return _Made(_matrix(table, rows, embed, embedder.dimension), {})
    made = unit_vectors(embedder, table, _known(embedder, stored)).of(rows)
    return _Made(made.matrix, made.columns())


def _known(embedder: Embedder, stored: Stored | None) -> ChunkVectors | None:
    from assay.search.static import ChunkVectors

    if stored is None or stored.meta.get("model") != embedder.identity or "float32" not in stored.arrays:
        return None
    units = ChunkVectors.from_columns(stored.arrays["float32"], stored.arrays)
    return units if units and units.is_consistent else None


def _matrix(table: IndexTable, rows: LongArray, embed: Embed, dimension: int) -> NDArray[np.float32]:
    matrix = np.zeros((len(rows), dimension), dtype=np.float32)
    for role, chosen in _roles(table, rows):
        matrix[chosen] = embed([passage(table, row) for row in rows[chosen].tolist()], role)
    return matrix


def _roles(table: IndexTable, rows: LongArray) -> Iterator[tuple[Role, NDArray[np.bool_]]]:
    docs = table.files.kind[table.units.file[rows]] == FILE_KINDS.index("docs")
    if not docs.all():
        yield "code", ~docs
    if docs.any():
        yield "docs", docs


def passage(table: IndexTable, unit: int) -> str:
    """Write a unit as a model reads it: its file, what is around it, what it defines, then its lines."""
    file = int(table.units.file[unit])
    begin, end = np.searchsorted(table.own.owner, [unit, unit + 1]).tolist()
    header = [table.files.paths[file], scope_text(table, unit), *table.own.texts[begin:end]]
    return readable(f"{' '.join(filter(None, header))}\n{unit_text(table, file, unit, unit)}")


def vectors_digest(embedder: Embedder, settings: DenseSettings, table: IndexTable) -> str:
    """Name what decides the vectors: the model, and the files, for in a folder of one shape they decide the units."""
    files = [table.files.paths, table.files.hashes, table.files.languages]
    facts = [_PASSAGE, embedder.identity, settings.vectors, bool(settings.docs_model), *files]
    return digest_of(facts)


def _read(place: Path) -> Stored | None:
    try:
        return read_store(place)
    except IndexFormatError:
        return None
