"""Which pairs are kept where there are more than a cap allows: decided by hashes, never by the order they came in."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from assay.training.config import MiningConfig
from assay.training.text import code_terms, query_terms


def draw_rank(seed: int, *key: object) -> int:
    """Give something its place in the draw."""
    return _hashed("\0".join(map(str, (seed, *key))))


@dataclass(frozen=True, slots=True)
class PairCandidate:
    """A pair that is offered: what is asked, and the words of the code as they stand."""

    kind: str
    rank: int
    asked: str
    code: Counter[str]
    path: tuple[str, ...]
    language: str
    file: int


@dataclass(frozen=True, slots=True)
class TextCodePair:
    """A pair that was taken in: what somebody might type, and the code that it is about, both in terms."""

    kind: str
    rank: int
    query: tuple[str, ...]
    code: Mapping[str, int]
    path: tuple[str, ...]
    language: str
    file: int
    key: int


class Collection:
    """The pairs of a repository, as far as the caps allow, and what was left out, by reason."""

    def __init__(self, config: MiningConfig) -> None:
        self._config = config
        self._heaps: dict[str, list[tuple[int, int]]] = {}  # kind -> (minus rank, key)
        self._pairs: dict[int, TextCodePair] = {}
        self.dropped: Counter[str] = Counter()

    def wants(self, kind: str, rank: int) -> bool:
        """Tell whether a pair of this place in the draw could be kept; it need not be made otherwise."""
        heap = self._heaps.get(kind, [])
        wanted = len(heap) < getattr(self._config.caps, kind) or rank < -heap[0][0]
        self.dropped["over the cap"] += not wanted
        return wanted

    def offer(self, one: PairCandidate, taint: str | None) -> None:
        """Take a pair in, unless it is tainted or there is too little on one of its sides."""
        query, code = query_terms(one.asked), {} if taint else code_terms(one.code)
        if taint is not None:
            self.dropped[taint] += 1
        elif not query or len(code) < self._config.pairs.code_terms:
            self.dropped["little code"] += 1
        else:
            key = pair_key(query, code)
            self._put(TextCodePair(one.kind, one.rank, query, code, one.path, one.language, one.file, key))

    def _put(self, pair: TextCodePair) -> None:
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
        """Give the pairs by file, then by their place in the draw; of those that ask the same, a few."""
        asked: Counter[tuple[str, tuple[str, ...]]] = Counter()
        kept = []
        for pair in sorted(self._pairs.values(), key=lambda pair: (pair.rank, pair.key)):
            asked[pair.kind, pair.query] += 1
            if asked[pair.kind, pair.query] <= self._config.pairs.same:
                kept.append(pair)
        self.dropped["asked too often"] = len(self._pairs) - len(kept)
        return sorted(kept, key=lambda pair: (pair.file, pair.rank, pair.key))


def pair_key(query: tuple[str, ...], code: Mapping[str, int]) -> int:
    """Name a pair by its content, the same in every repository."""
    counted = "\n".join([f"{term} {code[term]}" for term in sorted(code)])
    return _hashed("\n".join(sorted(query)) + "\0" + counted)


def _hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
