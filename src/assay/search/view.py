"""Data derived from an index table for queries."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from math import log1p
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assay.corpus.file_types import ROLES
from assay.records import dataclass
from assay.search.query import QueryKind, stem_name, term_hash
from assay.search.table import (
    CHUNK_KINDS,
    FILE_KINDS,
    IndexTable,
    IntArray,
    LongArray,
    NameRow,
    NameTable,
    ReferenceTable,
    Values,
    concatenate_ranges,
    names_table,
    range_offsets,
)
from assay.settings import setting
from assay.syntax.outline import LineSpan

if TYPE_CHECKING:
    from assay.search.config import TranslationSettings
    from assay.search.dense import DenseScores
    from assay.search.encoder import EncoderScores
    from assay.search.static import Translator

T = TypeVar("T")


class TableCache(Generic[T]):
    """A cached property of a view that depends only on the table."""

    def __init__(self, make: Callable[[CorpusView], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, _owner: type[CorpusView], name: str) -> None:
        self._name = name

    def __get__(self, view: CorpusView, _owner: type[CorpusView]) -> T:
        value = view.cached(self._name, lambda: self._make(view))
        view.__dict__[self._name] = value  # later reads bypass this descriptor
        return value


class TermLookup(NamedTuple):
    number: LongArray
    weight: NDArray[np.float32]


class CorpusView:
    def __init__(
        self,
        table: IndexTable,
        graph: GraphConfig,
        dense: DenseScores | None = None,
        translator: Translator | None = None,
        known: dict[Hashable, Any] | None = None,
        memo: QueryMemo | None = None,
        encoder: EncoderScores | None = None,
    ) -> None:
        """Create a view; views of one table may share the caches `known` and `memo`."""
        self.table = table
        self.dense = dense
        self.encoder = encoder
        self.translator = translator
        self.memo = memo
        self.file_count = len(table.files)
        self.chunk_count = len(table.chunks)
        self._known: dict[Hashable, Any] = {} if known is None else known
        self._graph = graph

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = make()
        return cast(T, self._known[key])

    def recall(self, query: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return a memoized value of a query, or compute it; `key` must identify every input of `make`."""
        return make() if self.memo is None else self.memo.get(query, key, make)

    def term(self, term: str) -> int:
        return self.cached(("term", term), lambda: self.number(term_hash(term)))

    def number(self, wanted: int) -> int:
        hashes = self.table.postings.term
        at = int(hashes.searchsorted(np.uint64(wanted)))
        return at if at < len(hashes) and hashes[at] == wanted else -1

    def lookup(self, term: str, kind: QueryKind | None) -> TermLookup:
        def find() -> TermLookup:
            translations = self.translator(term, kind) if self.translator and kind else ()
            number = np.array([self.term(term), *(self.number(hash_) for hash_, _ in translations)], dtype=np.int64)
            idf = np.array([self.idf(row) for row in number.tolist()])
            share = np.array([1.0, *(strength for _, strength in translations)])
            weight = (share * np.minimum(idf, idf[0])).astype(np.float32)
            return TermLookup(number[number >= 0], weight[number >= 0])

        return self.cached(("lookup", term, kind, self.translator and self.translator.settings), find)

    def idf(self, number: int) -> float:
        """Return the inverse document frequency of a term in n of N chunks: ln(1 + (N - n + 0.5) / (n + 0.5))."""
        offset = self.table.postings.offset
        holders = int(offset[number + 1] - offset[number]) if number >= 0 else 0
        return log1p((self.chunk_count - holders + 0.5) / (holders + 0.5))

    def holding(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Return the mask of the chunks that contain all terms."""
        postings, count = self.table.postings, np.zeros(self.chunk_count, dtype=np.int64)
        for number in filter(lambda number: number >= 0, map(self.term, terms)):
            count[postings.chunk[slice(*postings.offset[number : number + 2].tolist())]] += 1
        return np.asarray(count == len(terms))

    def holds(self, chunk: int, term: str) -> bool:
        number, postings = self.term(term), self.table.postings
        return number >= 0 and chunk in postings.chunk[slice(*postings.offset[number : number + 2].tolist())]

    def coverage(self, chunk: int, terms: Sequence[str]) -> float:
        """Return the share of the terms, by inverse document frequency, that a chunk contains; 1 without terms."""
        idf = {term: self.idf(self.term(term)) for term in terms}
        total = sum(idf.values())
        return sum(idf[term] for term in idf if self.holds(chunk, term)) / total if total else 1.0

    def norm(self, k1: float, b: float) -> NDArray[np.float32]:
        """Return the BM25 length normalization of every chunk: k1 · (1 - b + b · length / mean length)."""

        def compute() -> NDArray[np.float32]:
            length = self.table.chunks.length
            mean = float(length.mean(dtype=np.float64)) if self.chunk_count else 1.0
            return np.float32(k1) * (np.float32(1 - b) + np.float32(b) * (length / np.float32(mean or 1.0)))

        return self.cached(("norm", k1, b), compute)

    def file_norm(self, k1: float, b: float) -> Values:
        """Return the BM25 length normalization of every file."""

        def compute() -> Values:
            length = np.bincount(self.table.chunks.file, self.table.chunks.length, self.file_count)
            return np.asarray(k1 * (1 - b + b * length / (length.mean() or 1.0)))

        return self.cached(("file norm", k1, b), compute)

    own = TableCache(lambda view: NameIndex(view.table.own))  # names that chunks define
    scope = TableCache(lambda view: NameIndex(view.table.scope))  # names of the scopes around chunks
    stem = TableCache(lambda view: NameIndex(view.table.stem))  # names of files

    @TableCache
    def stem_as_written(self) -> NameIndex:
        rows = [NameRow(row, stem_name(path)) for row, path in enumerate(self.table.files.paths)]
        return NameIndex(names_table(rows, as_written=True))

    @TableCache
    def files_by_name(self) -> dict[int, list[int]]:
        files: dict[int, list[int]] = {}
        for file, name in zip(self.table.stem.owner.tolist(), self.table.stem.whole.tolist(), strict=True):
            files.setdefault(name, []).append(file)
        return files

    @property
    def graph(self) -> ReferenceGraph:
        table, config = self.table, self._graph
        return self.cached(("graph", config), lambda: build_graph(table.defined, table.used, self.file_count, config))

    #: Mask of the chunks of documentation.
    docs = TableCache(
        lambda view: np.asarray(view.table.files.kind[view.table.chunks.file] == FILE_KINDS.index("docs"))
    )

    @TableCache
    def declares(self) -> NDArray[np.bool_]:
        kinds = [CHUNK_KINDS.index(kind) for kind in ("gap", "constant", "property")]
        return np.isin(self.table.chunks.kind, kinds)

    @TableCache
    def follows(self) -> NDArray[np.bool_]:
        file = self.table.chunks.file
        return np.concatenate([[False], file[1:] == file[:-1]])

    @TableCache
    def neighbor_count(self) -> Values:
        is_followed = np.append(self.follows[1:], [False])
        return np.maximum(self.follows + is_followed.astype(np.float64), 1.0)[: self.chunk_count]

    @TableCache
    def disjoint(self) -> bool:
        """Whether no two chunks share a line, as when files are split by syntax."""
        chunks = self.table.chunks
        return not bool(np.any(self.follows[1:] & (chunks.start[1:] <= chunks.end[:-1])))

    def role_factors(self, factors: Sequence[float], test: float) -> Values:
        """Return the factor of each chunk by its role; a chunk named like a test gets `test` if its factor is 1."""
        by_code = [value for factor in factors for value in (factor, test if factor == 1.0 else factor)]
        return np.array(by_code)[self._role_code]

    @TableCache
    def _role_code(self) -> NDArray[np.uint8]:  # one number per chunk, so that a query needs one lookup per chunk
        code = 2 * self.table.files.role[self.table.chunks.file] + self.table.chunks.test
        return np.where(self.docs, 2 * ROLES.index("docs"), code).astype(np.uint8)  # regardless of its directory

    #: Index of each file's first chunk, then the total number of chunks.
    first_chunk = TableCache(lambda view: np.searchsorted(view.table.chunks.file, np.arange(view.file_count + 1)))

    def chunk_range(self, file: int) -> tuple[int, int]:
        first, stop = self.first_chunk[file : file + 2].tolist()
        return first, stop

    @TableCache
    def _by_whole(self) -> tuple[NDArray[np.uint64], LongArray]:
        order = np.argsort(self.table.own.whole, kind="stable")
        return self.table.own.whole[order], order

    def definers(self, name: int, text: str = "") -> LongArray:
        """Return the chunks that define the name with this hash; if any spell the name like `text`, only those."""
        rows = self._named(name)
        as_written = [row for row in rows.tolist() if self.table.own.texts[row] == text]
        return np.unique(self.table.own.owner[as_written or rows]).astype(np.int64)

    def definitions(self, name: int, text: str) -> dict[int, LineSpan]:
        """Return for each chunk the lines of its definition of a name, preferring exact spelling, then the longest."""
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


def make_translator(settings: TranslationSettings) -> Translator | None:
    if not settings.model:
        return None
    from assay.search.static import Translator, open_static

    return Translator(settings, open_static(settings.directory))


class QueryMemo:
    """A thread-safe memo of intermediate values, shared by engines that differ in a few settings.

    The memo holds two queries: the current one, and one that an abandoned thread may still compute. The limit per query
    fits 30 arrays of a million chunks; values beyond the limit are not memoized.
    """

    def __init__(self, queries: int = 2, most_bytes: int = 256_000_000) -> None:
        self._queries, self._most_bytes = queries, most_bytes
        self._values: OrderedDict[str, dict[Hashable, object]] = OrderedDict()
        self._bytes: dict[str, int] = {}
        self._lock = threading.Lock()

    def get(self, query: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return a memoized value, or compute it; arrays in the value become read-only."""
        with self._lock:
            if query not in self._values:
                self._values[query], self._bytes[query] = {}, 0
                if len(self._values) > self._queries:
                    del self._bytes[self._values.popitem(last=False)[0]]
            self._values.move_to_end(query)
            known = self._values[query]
            if key in known:
                return cast(T, known[key])
        made = make()
        size = _freeze(made)
        with self._lock:
            if query in self._bytes and self._bytes[query] + size <= self._most_bytes:
                self._values[query][key] = made
                self._bytes[query] += size
        return made


def _freeze(value: Any) -> int:  # noqa: ANN401 - any value of a stage
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value.nbytes
    if isinstance(value, tuple):
        return sum(map(_freeze, value))
    if is_dataclass(value):
        return sum(_freeze(getattr(value, field.name)) for field in fields(value))
    return 0


_LAST: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class PrefixRules:
    inside: int = 4  # minimum common characters if one is a prefix of the other
    apart: int = 5  # minimum common characters if their endings differ
    weight: float = 0.9  # factor on the share of common characters; 0 disables prefix matches


@dataclass(frozen=True, slots=True)
class NameMatches:
    """Names that match at least one word of a query."""

    owner: IntArray
    precision: Values  # matched share of the name's characters
    word: LongArray  # index of the matched word, for each match of a word with a part
    row: LongArray  # index of the matched name in `owner`, for each match
    fit: Values  # quality of each match, from 0 to 1

    def recall(self, weights: Values) -> Values:
        """Return the weighted share of query words that each name matches; a word adds the `fit` of its best match."""
        flat = np.zeros(len(weights) * len(self.owner))
        np.maximum.at(flat, self.word * len(self.owner) + self.row, self.fit)
        best = flat.reshape(len(weights), len(self.owner))
        total = float(weights.sum())
        shares: Values = weights @ best / total if total else best.sum(axis=0)
        return shares


class NameIndex:
    def __init__(self, names: NameTable) -> None:
        self._parts = names.parts
        self._owner = names.owner
        length = np.array([len(part) for part in names.parts], dtype=np.float64)
        row = np.repeat(np.arange(len(names.owner)), np.diff(names.offset))
        order = np.argsort(names.part, kind="stable")
        self._row: LongArray = row[order]
        self._begin: list[int] = np.searchsorted(names.part[order], np.arange(len(names.parts) + 1)).tolist()
        self._total = np.bincount(row, weights=length[names.part], minlength=len(names.owner))

    def match(self, words: Sequence[str], prefixes: PrefixRules) -> NameMatches:
        matches = [(w, part, fit) for w, word in enumerate(words) for part, fit in self._similar(word, prefixes)]
        if not matches:
            return NameMatches(self._owner[:0], np.zeros(0), self._row[:0], self._row[:0], np.zeros(0))
        rows_by_match = [self._row[self._begin[part] : self._begin[part + 1]] for _, part, _ in matches]
        times = np.array([len(part_rows) for part_rows in rows_by_match])
        owned = np.concatenate(rows_by_match)
        present = np.zeros(len(self._owner), dtype=bool)
        present[owned] = True
        rows = present.nonzero()[0]
        position = np.empty(len(self._owner), dtype=np.int64)
        position[rows] = np.arange(len(rows))
        row = position[owned]
        best: dict[int, float] = {}
        for _, part, fit in matches:
            best[part] = max(fit, best.get(part, 0.0))
        characters = np.array([best.pop(part, 0.0) * len(self._parts[part]) for _, part, _ in matches])
        matched = np.bincount(row, weights=characters.repeat(times), minlength=len(rows))
        return NameMatches(
            self._owner[rows],
            np.minimum(matched / self._total[rows], 1.0),
            np.array([word for word, _, _ in matches]).repeat(times),
            row,
            np.array([fit for _, _, fit in matches]).repeat(times),
        )

    def _similar(self, word: str, prefixes: PrefixRules) -> Iterator[tuple[int, float]]:
        parts = self._parts
        if not prefixes.weight or len(word) < prefixes.inside:
            at = bisect_left(parts, word)
            if at < len(parts) and parts[at] == word:
                yield at, 1.0
            return
        head = word[: prefixes.inside]
        for number in range(bisect_left(parts, head), bisect_left(parts, head + _LAST)):
            part = parts[number]
            if part == word:
                yield number, 1.0
                continue
            shorter = min(len(part), len(word))
            common = next((i for i in range(shorter) if part[i] != word[i]), shorter)
            if common == shorter or common >= prefixes.apart:
                yield number, prefixes.weight * common / max(len(part), len(word))


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """Conditions for an edge between two files in the reference graph."""

    # a name that more files define is a common word
    definers: int = setting(3, "maximum number of files that define a name; references to other names are ignored")
    # below this value two files share only common names
    strength: float = setting(0.2, "minimum weight of an edge; a name counts 1 / (definers x log2(2 + users))")


@dataclass(frozen=True, slots=True)
class ReferenceGraph:
    begin: LongArray
    target: LongArray
    incoming: LongArray

    def votes(self, scores: Values, least: float) -> Values:
        """Return for each file the sum of its users' scores above `least`, damped by the number of users."""
        voters = np.flatnonzero(scores > least)
        begin, end = self.begin[voters], self.begin[voters + 1]
        target = self.target[concatenate_ranges(begin, end)]
        given = np.bincount(target, weights=np.repeat(scores[voters], end - begin), minlength=len(scores))
        return np.asarray(given / np.sqrt(self.incoming + 3.0))


def build_graph(defined: ReferenceTable, used: ReferenceTable, files: int, config: GraphConfig) -> ReferenceGraph:
    names, name = np.unique(defined.name, return_inverse=True)
    definers = np.bincount(name, minlength=len(names))
    at = np.minimum(np.searchsorted(names, used.name), max(len(names) - 1, 0))
    known = names[at] == used.name if len(names) else np.zeros(len(used.name), dtype=bool)
    user, name_row = used.file[known].astype(np.int64), at[known]
    mentioners = np.bincount(name_row, minlength=len(names))
    weight = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + mentioners))
    rare = definers[name_row] <= config.definers
    user, name_row = user[rare], name_row[rare]
    by_name = defined.file[np.argsort(name, kind="stable")].astype(np.int64)
    begin = range_offsets(definers)
    target = by_name[concatenate_ranges(begin[name_row], begin[name_row + 1])]
    times = definers[name_row]
    source, weights = np.repeat(user, times), np.repeat(weight[name_row], times)
    other = source != target
    key, nth = np.unique(source[other] * files + target[other], return_inverse=True)
    tie = np.bincount(nth, weights=weights[other], minlength=len(key))
    source, target = np.divmod(key[tie > config.strength], max(files, 1))
    return ReferenceGraph(np.searchsorted(source, np.arange(files + 1)), target, np.bincount(target, minlength=files))
