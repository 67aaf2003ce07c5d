"""From pairs to a shard: terms become numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from assay.training.mining.drawing import Pair
from assay.training.shards import KINDS, LANGUAGES, Bags, Shard


def pack(repository: str, pairs: Sequence[Pair]) -> Shard:
    """Number the terms of pairs and put them into columns."""
    words = sorted({term for pair in pairs for side in (pair.query, pair.code, pair.path) for term in side})
    number = {word: i for i, word in enumerate(words)}
    return Shard(
        repository,
        tuple(words),
        np.array([KINDS.index(pair.kind) for pair in pairs], dtype=np.uint8),
        _bags([dict.fromkeys(pair.query, 1) for pair in pairs], number),
        _bags([pair.code for pair in pairs], number),
        _bags([dict.fromkeys(pair.path, 1) for pair in pairs], number),
        np.array([LANGUAGES.index(pair.language) for pair in pairs], dtype=np.uint8),
        np.array([pair.key for pair in pairs], dtype=np.uint64),
        np.array([pair.file for pair in pairs], dtype=np.int32),
    )


def _bags(rows: Sequence[Mapping[str, int]], number: Mapping[str, int]) -> Bags:
    """Put rows of counted terms one after the other, each by rising number."""
    offset = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offset[1:])
    term = np.fromiter(map(number.__getitem__, chain.from_iterable(rows)), np.int32, offset[-1])
    count = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float32, offset[-1])
    owner = np.repeat(np.arange(len(rows)), np.diff(offset))
    order = np.lexsort((term, owner))
    return Bags(offset, term[order], count[order])
