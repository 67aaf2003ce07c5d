"""What a query needs to know of a table, computed when it is first asked for and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import log1p
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.search.meaning import DenseScores
from assay.search.memo import Memo
from assay.search.names import Graph, GraphConfig, NameIndex, build_graph
from assay.search.noise import NOISE
from assay.search.query import QueryKind, Translator
from assay.search.table import UNIT_KINDS, IndexTable, LongArray
from assay.search.words import term_hash
from assay.syntax.outline import LineSpan

T = TypeVar("T")
Values = NDArray[np.float64]


class TableCache(Generic[T]):
    """What a table alone decides: computed when it is first asked for, and known to all views of the table."""

    def __init__(self, make: Callable[[CorpusView], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, view: CorpusView, _owner: type[CorpusView]) -> T:
        """Look it up; from then on Python finds it in the view itself."""
        if self._name not in view.known:
            view.known[self._name] = self._make(view)
        found: T = view.known[self._name]
        view.__dict__[self._name] = found
        return found


class Lookup(NamedTuple):
    """A term of a query as the corpus has it: itself and what it is called there, and how telling each is."""

    number: LongArray
    worth: NDArray[np.float32]


class CorpusView:
    """A table, seen from a query. Nothing here depends on one."""

    def __init__(
        self,
        table: IndexTable,
        graph: GraphConfig,
        dense: DenseScores | None = None,
        translator: Translator | None = None,
        known: dict[Hashable, Any] | None = None,
        memo: Memo | None = None,
    ) -> None:
        """Look at a table; `dense` knows what its units mean, `translator` what its words do.

        Views of one table may share what is `known` of it, and what was found out about a question.
        """
        self.table = table
        self.dense = dense
        self.translator = translator
        self.memo = memo
        self.files = len(table.files)
        self.units = len(table.units)
        self.known: dict[Hashable, Any] = {} if known is None else known
        self._graph = graph
        self._terms: dict[str, int] = self.known.setdefault("terms", {})
        self._norms: dict[tuple[float, float], NDArray[np.float32]] = self.known.setdefault("norms", {})
        spoken = translator and translator.settings
        self._lookups: dict[tuple[str, QueryKind | None], Lookup] = self.known.setdefault(("lookups", spoken), {})

    def recall(self, question: str, key: Hashable, make: Callable[[], T]) -> T:
        """Compute something for a question, or take it from a view that did; `key` is all that decides it."""
        return make() if self.memo is None else self.memo.of(question, key, make)

    def term(self, term: str) -> int:
        """Number a term; -1 when nobody holds it."""
        found = self._terms.get(term)
        if found is None:
            found = self._terms[term] = self.number(term_hash(term))
        return found

    def number(self, wanted: int) -> int:
        """Number a term by its hash; -1 when nobody holds it."""
        hashes = self.table.postings.term
        at = int(hashes.searchsorted(np.uint64(wanted)))
        return at if at < len(hashes) and hashes[at] == wanted else -1

    def lookup(self, term: str, kind: QueryKind | None) -> Lookup:
        """Find what to look up for a term of a kind of query, kept; without a kind, the term alone."""
        found = self._lookups.get((term, kind))
        if found is None:
            found = self._lookups[term, kind] = self._looked_up(term, kind)
        return found

    def _looked_up(self, term: str, kind: QueryKind | None) -> Lookup:
        others = self.translator(term, kind) if self.translator and kind else ()
        number = np.array([self.term(term), *(self.number(one.term) for one in others)], dtype=np.int64)
        rarity = np.array([self.idf(one) for one in number.tolist()])
        share = np.array([1.0, *(one.strength for one in others)])
        worth = (share * np.minimum(rarity, rarity[0])).astype(np.float32)
        return Lookup(number[number >= 0], worth[number >= 0])

    def idf(self, number: int) -> float:
        """Weigh a term by how few units hold it: ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative."""
        offset = self.table.postings.offset
        holders = int(offset[number + 1] - offset[number]) if number >= 0 else 0
        return log1p((self.units - holders + 0.5) / (holders + 0.5))

    def holds(self, unit: int, term: str) -> bool:
        """Tell whether a unit holds a term."""
        number = self.term(term)
        if number < 0:
            return False
        begin, end = self.table.postings.offset[number : number + 2].tolist()
        at = begin + int(self.table.postings.unit[begin:end].searchsorted(unit))
        return at < end and int(self.table.postings.unit[at]) == unit

    def norm(self, k1: float, b: float) -> NDArray[np.float32]:
        """Give BM25's k1 · (1 - b + b · length / mean length) of each unit, kept by its settings."""
        found = self._norms.get((k1, b))
        if found is None:
            length = self.table.units.length
            mean = float(length.mean(dtype=np.float64)) if self.units else 1.0
            relative = length / np.float32(mean or 1.0)
            found = self._norms[k1, b] = np.float32(k1) * (np.float32(1 - b) + np.float32(b) * relative)
        return found

    @TableCache
    def own(self) -> NameIndex:
        """What units define."""
        return NameIndex(self.table.own)

    @TableCache
    def scope(self) -> NameIndex:
        """What is around units."""
        return NameIndex(self.table.scope)

    @TableCache
    def stem(self) -> NameIndex:
        """What files are called."""
        return NameIndex(self.table.stem)

    @property
    def graph(self) -> Graph:
        """Which file uses which."""
        key = ("graph", self._graph)
        if key not in self.known:
            self.known[key] = build_graph(self.table.defined, self.table.used, self.files, self._graph)
        found: Graph = self.known[key]
        return found

    @TableCache
    def docs(self) -> NDArray[np.bool_]:
        """Which units are documentation."""
        return np.asarray(self.table.files.kind[self.table.units.file] == 1)

    @TableCache
    def declares(self) -> NDArray[np.bool_]:
        """Which units do nothing: what lies between definitions, constants, and the fields of a class."""
        quiet = [UNIT_KINDS.index(kind) for kind in ("gap", "constant", "property")]
        return np.isin(self.table.units.kind, quiet)

    @TableCache
    def follows(self) -> NDArray[np.bool_]:
        """Which units have the unit before them in the same file."""
        file = self.table.units.file
        return np.concatenate([[False], file[1:] == file[:-1]])

    @TableCache
    def beside(self) -> Values:
        """How many units each unit has beside it in its file, at least one."""
        return np.maximum(self.follows + np.append(self.follows[1:], [False]).astype(np.float64), 1.0)[: self.units]

    @TableCache
    def apart(self) -> bool:
        """Whether no two units of a file share a line, as when they are cut by syntax."""
        units = self.table.units
        return not bool(np.any(self.follows[1:] & (units.start[1:] <= units.end[:-1])))

    @TableCache
    def surroundings(self) -> NDArray[np.uint8]:
        """What each unit is besides the real thing: twice the noise of its file, one more if called like a test."""
        noise = 2 * self.table.files.noise[self.table.units.file] + self.table.units.test
        return np.where(self.docs, 2 * NOISE.index("docs"), noise).astype(np.uint8)  # wherever documentation lies

    @TableCache
    def first_unit(self) -> LongArray:
        """The first unit of each file, and the number of units."""
        return np.searchsorted(self.table.units.file, np.arange(self.files + 1))

    @TableCache
    def _by_whole(self) -> tuple[NDArray[np.uint64], LongArray]:
        order = np.argsort(self.table.own.whole, kind="stable")
        return self.table.own.whole[order], order

    def definers(self, name: int, text: str = "") -> LongArray:
        """List the units that define a name, given by its hash; those that write it as in `text` if any do."""
        rows = self._named(name)
        as_written = [row for row in rows.tolist() if self.table.own.texts[row] == text]
        return np.unique(self.table.own.owner[as_written or rows]).astype(np.int64)

    def definitions(self, name: int, text: str) -> dict[int, LineSpan]:
        """Give the lines at which units define a name: of several in a unit the one written so, then the longest."""
        own = self.table.own
        order = sorted(
            self._named(name).tolist(),
            key=lambda row: (own.texts[row] == text, int(own.end[row]) - int(own.start[row]), -row),
        )
        return {int(own.owner[row]): LineSpan(int(own.start[row]), int(own.end[row])) for row in order}

    def _named(self, name: int) -> LongArray:
        hashes, order = self._by_whole
        begin, end = (
            np.searchsorted(hashes, np.array([name], np.uint64), "left")[0],
            np.searchsorted(hashes, np.array([name], np.uint64), "right")[0],
        )
        return order[begin:end]
