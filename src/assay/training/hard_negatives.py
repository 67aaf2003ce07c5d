"""Wrong answers that a lexical ranker takes for right ones: code of the repository that shares the query's words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.search.store.format import read_store, write_store
from assay.training.bags import join_rows, take_rows
from assay.training.config import HardConfig, SameFile
from assay.training.pairs import TF_POWER, Pairs
from assay.training.pooling import as_matrix
from assay.training.shards import Bags

_NONE: Final = -1


@dataclass(frozen=True, slots=True)
class Lexical:
    """The ranker whose confusions are learned from: BM25 with the numbers of Robertson and Zaragoza (2009)."""

    k1: float = 1.2
    b: float = 0.75


LEXICAL: Final = Lexical()
_STREAM: Final = 2  # of the seed; batches draw from another


@dataclass(frozen=True, slots=True)
class HardNegatives:
    """Rows that have some, rising, and the rows whose codes they are; -1 fills up."""

    rows: NDArray[np.int64]
    wrong: NDArray[np.int64]

    def draw(self, rows: NDArray[np.int64], count: int, draw: np.random.Generator) -> NDArray[np.int64]:
        """Draw one for each of at most `count` of some rows."""
        if not len(self.rows):
            return rows[:0]
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        places = draw.permutation(places[self.rows[places] == rows])[:count]
        sizes = np.count_nonzero(self.wrong[places] != _NONE, axis=1)
        found: NDArray[np.int64] = self.wrong[places, (draw.random(len(places)) * sizes).astype(np.int64)]
        return found


def find_hard(pairs: Pairs, same_file: SameFile, config: HardConfig, seed: int) -> HardNegatives:
    """Rank each repository's codes for some of its queries, and keep the best that are no answers."""
    draw = np.random.default_rng((seed, _STREAM))
    rows: list[NDArray[np.int64]] = []
    wrong: list[NDArray[np.int64]] = []
    edges = np.searchsorted(pairs.repository, np.arange(len(pairs.repositories) + 1))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        asked = np.sort(draw.permutation(end - begin)[: config.queries]) + begin
        if pairs.held_out[begin:end].all():
            continue
        found = np.array(list(_confusions(pairs, begin, end, asked[~pairs.held_out[asked]], same_file, config)))
        some = found[:, 0] != _NONE if len(found) else np.zeros(0, dtype=np.bool_)
        rows.append(asked[~pairs.held_out[asked]][some])
        wrong.append(found[some].reshape(-1, config.depth))
    return HardNegatives(np.concatenate(rows), np.concatenate(wrong))


def _confusions(
    pairs: Pairs, begin: int, end: int, asked: NDArray[np.int64], same_file: SameFile, config: HardConfig
) -> Iterator[NDArray[np.int64]]:
    """Give the wrong rows of each query, the best first."""
    codes = _weighed(pairs, np.arange(begin, end), config.common)
    scores = (as_matrix(take_rows(pairs.query, asked), codes.shape[0]) @ codes).tocsr()
    for place, row in enumerate(asked.tolist()):
        low, high = scores.indptr[place], scores.indptr[place + 1]
        best = _best(scores.indices[low:high] + begin, scores.data[low:high], 4 * config.depth)
        yield _filled(best[~_may_be_right(pairs, row, best, same_file)][: config.depth], config.depth)


def _best(rows: NDArray[np.int64], scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Order the best rows by falling score, then by place."""
    return rows[np.lexsort((rows, -scores))[:count]].astype(np.int64)


def _may_be_right(pairs: Pairs, row: int, others: NDArray[np.int64], same_file: SameFile) -> NDArray[np.bool_]:
    """Say which rows are no safe wrong answers: the batch would mask them."""
    right = (pairs.query_key[others] == pairs.query_key[row]) | (pairs.code_key[others] == pairs.code_key[row])
    near = pairs.file[others] == pairs.file[row]
    if same_file == "kinds":
        near &= pairs.kind[others] != pairs.kind[row]
    found: NDArray[np.bool_] = right | pairs.held_out[others] | (near if same_file != "none" else others == row)
    return found


def _filled(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Fill a list up to a size."""
    return np.concatenate((rows, np.full(size - len(rows), _NONE, dtype=np.int64)))


def _weighed(pairs: Pairs, rows: NDArray[np.int64], common: float) -> Any:  # noqa: ANN401 - scipy has no stubs
    """Weigh the terms of codes and paths as BM25 does; terms x codes, common terms left out."""
    code, path = take_rows(pairs.code, rows), take_rows(pairs.path, rows)
    bags = join_rows(Bags(code.offset, code.term, code.count ** (1 / TF_POWER)), path)
    width = int(max(bags.term.max(initial=0), pairs.query.term.max(initial=0))) + 1
    matrix = as_matrix(bags, width)
    matrix.sum_duplicates()
    uses = np.bincount(matrix.indices, minlength=width)
    rarity = np.log1p((len(rows) - uses + 0.5) / (uses + 0.5)) * (uses <= max(1.0, common * len(rows)))
    length = np.asarray(matrix.sum(axis=1)).ravel()
    norm = np.repeat(1 - LEXICAL.b + LEXICAL.b * length / max(length.mean(), 1e-9), np.diff(matrix.indptr))
    matrix.data = rarity[matrix.indices] * matrix.data / (matrix.data + LEXICAL.k1 * norm)
    matrix.eliminate_zeros()
    return matrix.T.tocsr().astype(np.float32)


def write_hard(path: Path, hard: HardNegatives) -> None:
    """Keep hard negatives in a file."""
    write_store(path, {}, {"rows": hard.rows, "wrong": hard.wrong})


def read_hard(path: Path) -> HardNegatives:
    """Map the hard negatives of a file into memory."""
    return HardNegatives(**read_store(path).arrays)
