"""What queries need of a table, computed at first use and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, is_dataclass
from math import log1p
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.search.names import Graph, GraphConfig, NameIndex, build_graph
from assay.search.noise import NOISE
from assay.search.query import QueryKind, Translator
from assay.search.table import UNIT_KINDS, IndexTable, LongArray, Values
from assay.search.words import term_hash
from assay.syntax.outline import LineSpan

if TYPE_CHECKING:
    from assay.search.dense import DenseScores

T = TypeVar("T")


class TableCache(Generic[T]):
    """A property that the table alone decides: computed once, and shared by all views of the table."""

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
    """The numbers of a term and its translations in the corpus, and the weight of each."""

    number: LongArray
    worth: NDArray[np.float32]


class CorpusView:
    """A table as queries read it; nothing here depends on one query."""

    def __init__(
        self,
        table: IndexTable,
        graph: GraphConfig,
        dense: DenseScores | None = None,
        translator: Translator | None = None,
        known: dict[Hashable, Any] | None = None,
        memo: Memo | None = None,
    ) -> None:
        """Create a view; views of one table may share `known`, and `memo` for queries in progress."""
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
        self._lookups: dict[tuple[str, QueryKind | None], Lookup] = self.known.setdefault(
            ("lookups", translator and translator.settings), {}
        )

    def recall(self, question: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value of a query from the memo, or compute it; `key` holds all that decides it."""
        return make() if self.memo is None else self.memo.of(question, key, make)

    def term(self, term: str) -> int:
        """Return the number of a term; -1 when no chunk holds it."""
        found = self._terms.get(term)
        if found is None:
            found = self._terms[term] = self.number(term_hash(term))
        return found

    def number(self, wanted: int) -> int:
        """Return the number of a term by its hash; -1 when no chunk holds it."""
        hashes = self.table.postings.term
        at = int(hashes.searchsorted(np.uint64(wanted)))
        return at if at < len(hashes) and hashes[at] == wanted else -1

    def lookup(self, term: str, kind: QueryKind | None) -> Lookup:
        """Return what to look up for a term of a kind of query; without a kind, the term alone."""
        known = self._lookups.get((term, kind))
        if known is not None:
            return known
        others = self.translator(term, kind) if self.translator and kind else ()
        number = np.array([self.term(term), *(self.number(one.term) for one in others)], dtype=np.int64)
        rarity = np.array([self.idf(one) for one in number.tolist()])
        share = np.array([1.0, *(one.strength for one in others)])
        worth = (share * np.minimum(rarity, rarity[0])).astype(np.float32)
        found = self._lookups[term, kind] = Lookup(number[number >= 0], worth[number >= 0])
        return found

    def idf(self, number: int) -> float:
        """Return the inverse document frequency ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative."""
        offset = self.table.postings.offset
        holders = int(offset[number + 1] - offset[number]) if number >= 0 else 0
        return log1p((self.units - holders + 0.5) / (holders + 0.5))

    def holds(self, unit: int, term: str) -> bool:
        """Return whether a chunk holds a term."""
        number = self.term(term)
        if number < 0:
            return False
        begin, end = self.table.postings.offset[number : number + 2].tolist()
        at = begin + int(self.table.postings.unit[begin:end].searchsorted(unit))
        return at < end and int(self.table.postings.unit[at]) == unit

    def norm(self, k1: float, b: float) -> NDArray[np.float32]:
        """Return BM25's k1 · (1 - b + b · length / mean length) of each chunk."""
        found = self._norms.get((k1, b))
        if found is None:
            length = self.table.units.length
            mean = float(length.mean(dtype=np.float64)) if self.units else 1.0
            relative = length / np.float32(mean or 1.0)
            found = self._norms[k1, b] = np.float32(k1) * (np.float32(1 - b) + np.float32(b) * relative)
        return found

    @TableCache
    def own(self) -> NameIndex:
        """Names that chunks define."""
        return NameIndex(self.table.own)

    @TableCache
    def scope(self) -> NameIndex:
        """Names around chunks."""
        return NameIndex(self.table.scope)

    @TableCache
    def stem(self) -> NameIndex:
        """Names of files."""
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
        """Which chunks are documentation."""
        return np.asarray(self.table.files.kind[self.table.units.file] == 1)

    @TableCache
    def declares(self) -> NDArray[np.bool_]:
        """Which chunks only declare: text between definitions, constants, fields of a class."""
        quiet = [UNIT_KINDS.index(kind) for kind in ("gap", "constant", "property")]
        return np.isin(self.table.units.kind, quiet)

    @TableCache
    def follows(self) -> NDArray[np.bool_]:
        """Which chunks follow another chunk of the same file."""
        file = self.table.units.file
        return np.concatenate([[False], file[1:] == file[:-1]])

    @TableCache
    def beside(self) -> Values:
        """How many neighbors each chunk has in its file, at least one."""
        return np.maximum(self.follows + np.append(self.follows[1:], [False]).astype(np.float64), 1.0)[: self.units]

    @TableCache
    def apart(self) -> bool:
        """Whether no two chunks of a file share a line, as when they are cut by syntax."""
        units = self.table.units
        return not bool(np.any(self.follows[1:] & (units.start[1:] <= units.end[:-1])))

    @TableCache
    def surroundings(self) -> NDArray[np.uint8]:
        """The role of each chunk: twice the noise of its file, one more if its name is that of a test."""
        noise = 2 * self.table.files.noise[self.table.units.file] + self.table.units.test
        return np.where(self.docs, 2 * NOISE.index("docs"), noise).astype(np.uint8)  # documentation in any folder

    @TableCache
    def first_unit(self) -> LongArray:
        """The first chunk of each file, and the number of chunks."""
        return np.searchsorted(self.table.units.file, np.arange(self.files + 1))

    def units_of(self, file: int) -> tuple[int, int]:
        """Return the first chunk of a file, and the one after its last."""
        first, stop = self.first_unit[file : file + 2].tolist()
        return first, stop

    @TableCache
    def _by_whole(self) -> tuple[NDArray[np.uint64], LongArray]:
        order = np.argsort(self.table.own.whole, kind="stable")
        return self.table.own.whole[order], order

    def definers(self, name: int, text: str = "") -> LongArray:
        """Return the chunks that define a name, given by its hash; only those spelled like `text` if there are any."""
        rows = self._named(name)
        as_written = [row for row in rows.tolist() if self.table.own.texts[row] == text]
        return np.unique(self.table.own.owner[as_written or rows]).astype(np.int64)

    def definitions(self, name: int, text: str) -> dict[int, LineSpan]:
        """Return the lines at which chunks define a name; in one chunk an exact spelling wins, then the longest."""
        own = self.table.own
        order = sorted(
            self._named(name).tolist(),
            key=lambda row: (own.texts[row] == text, int(own.end[row]) - int(own.start[row]), -row),
        )
        return {int(own.owner[row]): LineSpan(int(own.start[row]), int(own.end[row])) for row in order}

    def _named(self, name: int) -> LongArray:
        hashes, order = self._by_whole
        wanted = np.array([name], np.uint64)
        begin, end = hashes.searchsorted(wanted, "left")[0], hashes.searchsorted(wanted, "right")[0]
        return order[begin:end]


@dataclass(frozen=True, slots=True)
class MemoLimits:
    """How much is kept; no effect on results."""

    questions: int = 2  # the current one, and one that an abandoned thread may still compute
    bytes: int = 256_000_000  # per query: 30 arrays of a million chunks; what exceeds it is computed every time


class Memo:
    """Intermediate values of the current queries, shared by engines that differ in a few settings; thread-safe."""

    def __init__(self, limits: MemoLimits | None = None) -> None:
        self._limits = limits or MemoLimits()
        self._values: OrderedDict[str, dict[Hashable, object]] = OrderedDict()
        self._bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, question: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made if it is missing; arrays in it become read-only."""
        with self._lock:
            known = self._of_question(question)
            if key in known:
                return cast(T, known[key])
        made = make()
        size = _freeze(made)
        with self._lock:
            if question in self._bytes and self._bytes[question] + size <= self._limits.bytes:
                self._values[question][key] = made
                self._bytes[question] += size
        return made

    def _of_question(self, question: str) -> dict[Hashable, object]:
        if question not in self._values:
            self._values[question], self._bytes[question] = {}, 0
            if len(self._values) > self._limits.questions:
                del self._bytes[self._values.popitem(last=False)[0]]
        self._values.move_to_end(question)
        return self._values[question]


def _freeze(value: Any) -> int:  # noqa: ANN401 - whatever stages make
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value.nbytes
    if isinstance(value, tuple):
        return sum(map(_freeze, value))
    if is_dataclass(value):
        return sum(_freeze(getattr(value, field.name)) for field in fields(value))
    return 0
