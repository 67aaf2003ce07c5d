"""Pairs of a repository within the caps: hashes decide which are kept, never the order in which they were found."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from assay.search.query import folder_name, parse_query, runs, stem_name, terms
from assay.training.config import MiningConfig

_CACHED: Final = 300_000  # runs; those of the largest repositories, some 100 MB
_LONGEST: Final = 64  # characters of a run; longer ones are data: hashes, base64


@dataclass(frozen=True, slots=True)
class PairCandidate:
    """A query text and the words of the code it describes, not yet split into terms."""

    kind: str
    rank: int  # from `draw_rank`
    query: str
    code: Counter[str]
    path: tuple[str, ...]
    language: str
    file: int


@dataclass(frozen=True, slots=True)
class TextCodePair:
    """A query and the code it describes, both in terms."""

    kind: str
    rank: int
    query: tuple[str, ...]
    code: Mapping[str, int]
    path: tuple[str, ...]
    language: str
    file: int
    key: int


class Collection:
    """The pairs of a repository within the caps, and how many were dropped, by reason."""

    def __init__(self, config: MiningConfig) -> None:
        self._config = config
        self._heaps: dict[str, list[tuple[int, int]]] = {}  # kind -> (minus rank, key)
        self._pairs: dict[int, TextCodePair] = {}
        self.dropped: Counter[str] = Counter()

    def has_room_for(self, kind: str, rank: int) -> bool:
        """Return whether a pair of this rank could be kept; otherwise it need not be built."""
        heap = self._heaps.get(kind, [])
        room = len(heap) < getattr(self._config.caps, kind) or rank < -heap[0][0]
        self.dropped["over the cap"] += not room
        return room

    def offer(self, one: PairCandidate, taint: str | None) -> None:
        """Add a pair, unless it is tainted or has too few terms."""
        query, code = parse_query(one.query).terms, {} if taint else _count_terms(one.code)
        if taint is not None:
            self.dropped[taint] += 1
        elif not query or len(code) < self._config.pairs.code_terms:
            self.dropped["little code"] += 1
        else:
            key = _hash("\n".join(sorted(query)) + "\0" + "\n".join([f"{term} {code[term]}" for term in sorted(code)]))
            self._add(TextCodePair(one.kind, one.rank, query, code, one.path, one.language, one.file, key))

    def _add(self, pair: TextCodePair) -> None:
        same = self._pairs.get(pair.key)
        if same is not None:
            self.dropped["duplicate"] += 1
            if same.rank <= pair.rank:
                return
            self._heaps[same.kind].remove((-same.rank, same.key))
            heapq.heapify(self._heaps[same.kind])
        heap = self._heaps.setdefault(pair.kind, [])
        self._pairs[pair.key] = pair
        heapq.heappush(heap, (-pair.rank, pair.key))
        if len(heap) > getattr(self._config.caps, pair.kind):
            del self._pairs[heapq.heappop(heap)[1]]
            self.dropped["over the cap"] += 1

    def pairs(self) -> list[TextCodePair]:
        """Return the pairs by file and rank, a few at most of those with the same query."""
        seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
        kept = []
        for pair in sorted(self._pairs.values(), key=lambda pair: (pair.rank, pair.key)):
            seen[pair.kind, pair.query] += 1
            if seen[pair.kind, pair.query] <= self._config.pairs.same:
                kept.append(pair)
        self.dropped["asked too often"] = len(self._pairs) - len(kept)
        return sorted(kept, key=lambda pair: (pair.file, pair.rank, pair.key))


def draw_rank(seed: int, *key: object) -> int:
    """Return the rank of something in the draw; the lowest ranks are kept."""
    return _hash("\0".join(map(str, (seed, *key))))


def path_terms(path: str) -> tuple[str, ...]:
    """Return the terms of a file's name and directories, each once."""
    words = runs(f"{stem_name(path)} {folder_name(path)}")
    return tuple(dict.fromkeys(term for run in words for term in _TERMS[run]))


def _count_terms(counted: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for run, count in counted.items():
        for term in _TERMS[run]:
            found[term] = found.get(term, 0) + count
    return found


class _TermCache(dict[str, tuple[str, ...]]):
    """The terms of runs, bounded."""

    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(run) > _LONGEST:
            return ()
        if len(self) >= _CACHED:
            self.clear()
        found = self[run] = terms(run)
        return found


_TERMS: Final = _TermCache()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
