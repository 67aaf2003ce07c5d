"""Comments as questions, for which a model has to find the code that they were taken from.

The code that may answer is every documented or named definition of the code base, each without its comment. It is
scored as a search scores it: by the angle between the sums of its words' vectors and of the question's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.training.bags import join_rows, take_rows
from assay.training.pairs import TF_POWER, Pairs
from assay.training.pooling import as_matrix, pool
from assay.training.shards import KINDS, Bags
from assay.training.sparse import Products
from assay.training.vectors import Table

DEPTH = 10
_DOC, _NAME = KINDS.index("doc"), KINDS.index("name")


@dataclass(frozen=True, slots=True)
class Questions:
    """Rows that ask, and rows whose code may answer, in the pairs of a whole code base."""

    pairs: Pairs
    asked: NDArray[np.int64]
    codes: NDArray[np.int64]

    @property
    def files(self) -> NDArray[np.int32]:
        """The file of each question."""
        found: NDArray[np.int32] = self.pairs.file[self.asked]
        return found


def find_questions(pairs: Pairs, files: Collection[int], learned: Pairs) -> Questions:
    """Ask with the comments of some files; what was learned from elsewhere word for word is no question."""
    known = np.isin(pairs.query_key, learned.query_key) | np.isin(pairs.code_key, learned.code_key)
    asks = (pairs.kind == _DOC) & np.isin(pairs.file, sorted(files)) & ~known
    return Questions(pairs, np.flatnonzero(asks), np.flatnonzero(np.isin(pairs.kind, (_DOC, _NAME))))


def grade(questions: Questions, table: Table, products: Products) -> NDArray[np.float64]:
    """Give nDCG@10 of each question, which has one answer: 1 / log2(1 + its rank)."""
    pairs, asked, codes = questions.pairs, questions.asked, questions.codes
    size = len(table.vectors)
    query = pool(as_matrix(take_rows(pairs.query, asked), size), table.asked, table.vectors, products).unit
    code = pool(as_units(pairs, codes, size), table.said, table.vectors, products).unit
    scores = query @ code.T
    own = scores[np.arange(len(asked)), np.searchsorted(codes, asked)][:, None]
    wrong = ~_may_be_right(pairs, asked, codes)
    rank = 1 + ((scores > own) & wrong).sum(axis=1) + ((scores == own) & wrong).sum(axis=1) / 2
    found: NDArray[np.float64] = np.where(rank <= DEPTH, 1 / np.log2(1 + rank), 0.0)
    return found


def as_units(pairs: Pairs, rows: NDArray[np.int64], terms: int) -> Any:  # noqa: ANN401 - scipy has no stubs
    """Count the words of codes and their paths together, as an index does, and weigh the counts as a search does."""
    code = take_rows(pairs.code, rows)
    counts = Bags(code.offset, code.term, code.count ** (1 / TF_POWER))
    found = as_matrix(join_rows(counts, take_rows(pairs.path, rows)), terms)
    found.sum_duplicates()
    found.data = found.data**TF_POWER
    return found


def _may_be_right(pairs: Pairs, asked: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which codes are no wrong answers: the same code, one of the same comment, or the same lines by their name."""
    right: NDArray[np.bool_] = pairs.code_key[asked][:, None] == pairs.code_key[codes][None, :]
    right |= pairs.query_key[asked][:, None] == pairs.query_key[codes][None, :]
    right |= (pairs.file[asked][:, None] == pairs.file[codes][None, :]) & (pairs.kind[codes] == _NAME)[None, :]
    return right
