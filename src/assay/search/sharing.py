"""Indexes of one corpus that differ in settings: each part is made once, and kept where there is a place to keep it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from assay.artefacts import Artefacts
from assay.artefacts.kinds import TABLES, VECTORS
from assay.errors import EnvironmentFailure
from assay.search.building import build_table
from assay.search.columns import read_table, table_arrays
from assay.search.config import SearchConfig
from assay.search.embedding import Columns, Group, embed_units, groups, meaning_of, open_embedder
from assay.search.index import Index
from assay.search.meaning import Dense, Meaning
from assay.search.memo import Memo
from assay.search.models import DenseSettings
from assay.search.refreshing import is_stale
from assay.search.store.format import StoreProblem, read_store, write_store
from assay.search.tables import Table
from assay.search.translating import make_translator
from assay.search.view import View
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.search.dense import Embedder

T = TypeVar("T")


class Shelf(Protocol):
    """What is shared in one process, and beyond it where there are artefacts."""

    artefacts: Artefacts | None
    made: Counter[str]
    moved: bool  # whether a file was seen that is not what the corpus says it is

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Give what stands under a key, made by whoever asks first."""


class Keys(NamedTuple):
    """What names the parts of an index, by all that decides them: corpus, settings, code and models."""

    table: str
    vectors: str


def share_index(corpus: Corpus, config: SearchConfig, shelf: Shelf, keys: Keys) -> Index:
    """Give the index that `Index.build` would, of parts that others made or will use."""
    table = shelf.once(f"table {keys.table}", lambda: _table(corpus, config, shelf, keys))
    known: dict[Hashable, Any] = shelf.once(f"known {keys.table}", dict)
    memo = shelf.once(f"memo {keys.table}", Memo)
    dense = _dense(table, config.dense, shelf, keys, memo)
    view = View(table, config.graph, dense, make_translator(config.translation), known, memo)
    return Index.around(corpus, view, config)


def _table(corpus: Corpus, config: SearchConfig, shelf: Shelf, keys: Keys) -> Table:
    """Take the table from the artefacts or make it, in this process alone: others have their own work to do."""

    def make() -> Table:
        return build_table(corpus, corpus.files, config.index, workers=1)

    def write(folder: Path, table: Table) -> None:
        if is_stale(table, corpus):  # a file changed while it was read: true for now, and never to be found again
            shelf.moved = True
            raise _NotKept
        write_store(folder / "table.assay", {}, table_arrays(table))

    def read(folder: Path) -> Table:
        table = read_table(read_store(folder / "table.assay").arrays)
        if is_stale(table, corpus):  # the same bytes under the same names, and yet of another language
            raise _NotKept
        return table

    return _Kept("chunks", TABLES.name, keys.table, make, write, read).get(shelf)


def _dense(table: Table, settings: DenseSettings, shelf: Shelf, keys: Keys, memo: Memo) -> Dense | None:
    """Put together what models say of units; only settings that shape vectors make others."""
    if not settings.model:
        return None
    read = shelf.once(f"vectors {keys.vectors}", lambda: _vectors(table, settings, shelf, keys))
    # of a question, and yet part of what is made ready for one
    ready = f"{settings.path} {settings.reach if settings.vectors == 'binary' else ''}"
    parts = shelf.once(f"meaning {keys.vectors} {ready}", lambda: tuple(_meanings(table, settings, read)))
    return Dense(settings, parts, len(table.units), memo)


class _Read(NamedTuple):
    """Units that a model has read."""

    group: Group
    embedder: Embedder
    columns: Columns


def _vectors(table: Table, settings: DenseSettings, shelf: Shelf, keys: Keys) -> tuple[_Read, ...]:
    """Take vectors from the artefacts or make them."""
    among = groups(table, settings)
    embedders = [open_embedder(settings, group.model) for group in among]

    def make() -> list[Columns]:
        pairs = zip(among, embedders, strict=True)
        return [embed_units(embedder, table, group, settings.vectors) for group, embedder in pairs]

    def write(folder: Path, made: list[Columns]) -> None:
        for group, columns in zip(among, made, strict=True):
            write_store(folder / f"{group.name}.assay", {}, columns)

    def read(folder: Path) -> list[Columns]:
        return [read_store(folder / f"{group.name}.assay").arrays for group in among]

    columns = _Kept("vectors", VECTORS.name, keys.vectors, make, write, read).get(shelf)
    return tuple(map(_Read, among, embedders, columns))


def _meanings(table: Table, settings: DenseSettings, read: Sequence[_Read]) -> Iterator[Meaning]:
    """Make vectors ready for questions."""
    for one in read:
        yield meaning_of(table, settings, one.group, one.embedder, one.columns)


class _NotKept(Exception):
    """What was made, or found, is not what its key says."""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    """A step whose result is kept: what it is called, how it is made, written and read."""

    step: str
    kind: str
    key: str
    make: Callable[[], T]
    write: Callable[[Path, T], None]
    read: Callable[[Path], T]

    def get(self, shelf: Shelf) -> T:
        """Find it or make it; where it cannot be kept, that only costs time."""
        made: list[T] = []

        def fill(folder: Path) -> None:
            made.append(self._made(shelf))
            self.write(folder, made[0])

        if shelf.artefacts is None:
            return self._made(shelf)
        before = shelf.made[self.step]
        try:
            folder = shelf.artefacts.obtain(self.kind, self.key, fill)
            return made[0] if made else self.read(folder)
        except (_NotKept, StoreProblem, KeyError, TypeError, ValueError):
            return made[0] if made else self._made(shelf)
        except EnvironmentFailure as failure:
            if not made and shelf.made[self.step] > before:
                raise  # it was the making that failed
            shelf.artefacts.troubles.append(f"{failure.message} ({failure.file}); the {self.step} are not kept")
            return made[0] if made else self._made(shelf)
        finally:
            shelf.artefacts.release(self.kind, self.key)  # what is mapped stays, whatever is pruned

    def _made(self, shelf: Shelf) -> T:
        """Make it, and count that."""
        shelf.made[self.step] += 1
        return self.make()
