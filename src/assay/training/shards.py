"""Draw the pairs of one repository within the caps, and store and report them."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.corpus.file_types import LANGUAGES
from assay.files import write_atomic
from assay.search.query import directory_names, find_words, parse_query, stem_name, word_terms
from assay.store.array_file import Array, IndexFormatError, StringColumn, pack_strings, read_store, write_store
from assay.training.config import MiningConfig

_CACHED: Final = 300_000  # words: enough for the largest repositories, about 100 MB
_LONGEST: Final = 64  # characters of a word; longer ones are hashes or base64


@dataclass(frozen=True, slots=True)
class PairCandidate:
    kind: str
    rank: int  # from `draw_rank`
    query: str
    code: Counter[str]
    path: tuple[str, ...]
    language: str
    file: int
    text: str = ""  # of the code, for encoders


@dataclass(frozen=True, slots=True)
class TextCodePair:
    kind: str
    rank: int
    query: tuple[str, ...]
    code: Mapping[str, int]
    path: tuple[str, ...]
    language: str
    file: int
    key: int
    question: str
    text: str


class Collection:
    def __init__(self, config: MiningConfig) -> None:
        self._config = config
        self._heaps: dict[str, list[tuple[int, int]]] = {}  # kind -> (minus rank, key)
        self._pairs: dict[int, TextCodePair] = {}
        self.dropped: Counter[str] = Counter()

    def has_room_for(self, kind: str, rank: int) -> bool:
        """Return whether a pair of this rank is within the cap of its kind so far; count the pair as dropped if not."""
        heap = self._heaps.get(kind, [])
        room = len(heap) < getattr(self._config.caps, kind) or rank < -heap[0][0]
        self.dropped["over the cap"] += not room
        return room

    def offer(self, candidate: PairCandidate, taint: str | None) -> None:
        """Add a pair unless it is tainted, has too few terms, is over the cap or equals a pair of a lower rank."""
        query = parse_query(candidate.query).terms
        code: dict[str, int] = {}
        for run, count in () if taint else candidate.code.items():
            for term in _TERMS[run]:
                code[term] = code.get(term, 0) + count
        if taint is not None or not query or len(code) < self._config.pairs.code_terms:
            self.dropped[taint or "little code"] += 1
            return
        key = _hash("\n".join(sorted(query)) + "\0" + "\n".join([f"{term} {code[term]}" for term in sorted(code)]))
        same = self._pairs.get(key)
        if same is not None:
            self.dropped["duplicate"] += 1
            if same.rank <= candidate.rank:
                return
            self._heaps[same.kind].remove((-same.rank, key))
            heapq.heapify(self._heaps[same.kind])
        heap = self._heaps.setdefault(candidate.kind, [])
        self._pairs[key] = TextCodePair(
            candidate.kind, candidate.rank, query, code, candidate.path, candidate.language, candidate.file, key,
            candidate.query, candidate.text[: self._config.texts],
        )  # fmt: skip
        heapq.heappush(heap, (-candidate.rank, key))
        if len(heap) > getattr(self._config.caps, candidate.kind):
            del self._pairs[heapq.heappop(heap)[1]]
            self.dropped["over the cap"] += 1

    def pairs(self) -> list[TextCodePair]:
        """Return the pairs sorted by file and rank, with a limit on pairs of the same kind and query."""
        uses: Counter[tuple[str, tuple[str, ...]]] = Counter()
        pairs = []
        for pair in sorted(self._pairs.values(), key=lambda pair: (pair.rank, pair.key)):
            uses[pair.kind, pair.query] += 1
            if uses[pair.kind, pair.query] <= self._config.pairs.same:
                pairs.append(pair)
        self.dropped["repeated query"] = len(self._pairs) - len(pairs)
        return sorted(pairs, key=lambda pair: (pair.file, pair.rank, pair.key))


def draw_rank(seed: int, *key: object) -> int:
    """Return a rank: a hash of the seed and the key. The pairs or files with the lowest ranks are drawn."""
    return _hash("\0".join(map(str, (seed, *key))))


def path_terms(path: str) -> tuple[str, ...]:
    words = find_words(f"{stem_name(path)} {directory_names(path)}")
    return tuple(dict.fromkeys(term for run in words for term in _TERMS[run]))


class _TermCache(dict[str, tuple[str, ...]]):
    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(run) > _LONGEST:
            return ()
        if len(self) >= _CACHED:
            self.clear()
        split = self[run] = word_terms(run)
        return split


_TERMS: Final = _TermCache()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


#: Sources of the text of a pair; `PairShard.kind` is an index into this tuple.
KINDS: Final = ("doc", "name", "commit", "path", "heading")
#: Incremented when the meaning of a shard changes; shards of another format are mined again.
FORMAT: Final = 1
_BAGS: Final = ("query", "code", "path")
_PARTS: Final = ("offset", "term", "count")
_STRINGS: Final = ("words", "question", "text")
_COLUMNS: Final = ("kind", "language", "key", "file")


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Rows of term numbers and their counts; row i is from `offset[i]` to `offset[i + 1]`."""

    offset: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offset) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PairShard:
    repository: str  # owner/name
    words: tuple[str, ...]  # the terms that occur, sorted; term numbers are indexes into this tuple
    kind: NDArray[np.uint8]  # indexes into KINDS
    query: Bags  # each term counts once
    code: Bags  # the terms of the code, counted, without the text of the query
    path: Bags  # the terms of the file's name and directories; each counts once
    language: NDArray[np.uint8]  # indexes into LANGUAGES
    key: NDArray[np.uint64]  # equal for pairs of equal query and code, across repositories
    file: NDArray[np.int32]  # the number of the file within the repository
    question: Sequence[str] = ()  # the texts of the queries; with `MiningConfig.texts` only
    text: Sequence[str] = ()  # the texts of the code; with `MiningConfig.texts` only

    def __len__(self) -> int:
        return len(self.kind)


def pack(repository: str, pairs: Sequence[TextCodePair], *, texts: bool = False) -> PairShard:
    words = sorted({term for pair in pairs for side in (pair.query, pair.code, pair.path) for term in side})
    number = {word: i for i, word in enumerate(words)}
    return PairShard(
        repository,
        tuple(words),
        np.array([KINDS.index(pair.kind) for pair in pairs], dtype=np.uint8),
        _pack_bags([dict.fromkeys(pair.query, 1) for pair in pairs], number),
        _pack_bags([pair.code for pair in pairs], number),
        _pack_bags([dict.fromkeys(pair.path, 1) for pair in pairs], number),
        np.array([LANGUAGES.index(pair.language) for pair in pairs], dtype=np.uint8),
        np.array([pair.key for pair in pairs], dtype=np.uint64),
        np.array([pair.file for pair in pairs], dtype=np.int32),
        *(([pair.question for pair in pairs], [pair.text for pair in pairs]) if texts else ()),
    )


def _pack_bags(rows: Sequence[Mapping[str, int]], number: Mapping[str, int]) -> Bags:
    offset = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offset[1:])
    term = np.fromiter(map(number.__getitem__, chain.from_iterable(rows)), np.int32, offset[-1])
    count = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float32, offset[-1])
    owner = np.repeat(np.arange(len(rows)), np.diff(offset))
    order = np.lexsort((term, owner))
    return Bags(offset, term[order], count[order])


def write_shard(path: Path, shard: PairShard) -> None:
    """Write a shard atomically; equal shards have equal bytes."""
    arrays: dict[str, Array] = {}
    for name in _STRINGS if shard.text else _STRINGS[:1]:
        arrays[f"{name}.blob"], arrays[f"{name}.offset"] = pack_strings(getattr(shard, name))
    arrays |= {name: getattr(shard, name) for name in _COLUMNS}
    arrays |= {f"{name}.{part}": getattr(getattr(shard, name), part) for name in _BAGS for part in _PARTS}
    write_store(path, {"shard": FORMAT, "repository": shard.repository}, arrays)


def read_shard(path: Path) -> PairShard:
    """Read a shard by memory map; raise IndexFormatError for any other file."""
    stored = read_store(path)
    if stored.meta.get("shard") != FORMAT:
        message = f"expected mined pairs in format {FORMAT}, got {stored.meta.get('shard')!r}"
        raise IndexFormatError("old", message, file=path, hint="delete the file and run the command again")
    arrays = stored.arrays
    columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
    columns |= {name: Bags(*(arrays[f"{name}.{part}"] for part in _PARTS)) for name in _BAGS}
    for name in _STRINGS if "text.blob" in arrays else _STRINGS[:1]:
        columns[name] = tuple(StringColumn(arrays[f"{name}.blob"], arrays[f"{name}.offset"]).all())
    return PairShard(cast(str, stored.meta["repository"]), **columns)


@dataclass(frozen=True, slots=True)
class RepoReport:
    """The result of mining a repository; `reason` is empty, or states why there are no pairs."""

    repository: str
    url: str
    commit: str
    licence: str = ""
    pairs: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    reason: str = ""  # `excluded: ...`, `license: ...` or `failed: ...`


def write_report(path: Path, report: RepoReport, identity: str) -> None:
    write_atomic(path, json.dumps({"identity": identity, **asdict(report)}, indent=1, ensure_ascii=False) + "\n")


def read_report(path: Path, identity: str | None = None) -> RepoReport | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if identity is not None and data["identity"] != identity:
            return None
        return RepoReport(**{each.name: data[each.name] for each in fields(RepoReport)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
