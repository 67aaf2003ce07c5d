"""How well held-out questions find their code among the code of the same repository."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.training.bags import entries_of, keep_entries, take_rows
from assay.training.config import HeldOutConfig
from assay.training.loss import Parameters
from assay.training.pairs import Pairs
from assay.training.pooling import Floats, as_matrix, pool
from assay.training.shards import KINDS, Bags
from assay.training.sparse import Products

_STREAM: Final = 3  # of the seed 0: every training is asked the same questions


@dataclass(frozen=True, slots=True)
class Exam:
    """For each repository the rows that answer each other's questions, and which of them ask."""

    rows: tuple[NDArray[np.int64], ...]
    asked: tuple[NDArray[np.int64], ...]  # places in `rows`


@dataclass(frozen=True, slots=True)
class Grade:
    """How an exam went: right at once, and mean reciprocal rank; bare: no word of the question is in its answer."""

    questions: int
    first: float
    reciprocal: float
    bare_first: float
    bare_reciprocal: float


def make_exam(pairs: Pairs, config: HeldOutConfig) -> Exam:
    """Choose the questions: documented code where some is held out, else anything."""
    held = np.flatnonzero(pairs.held_out)
    docs = held[pairs.kind[held] == KINDS.index("doc")]
    held = docs if len(docs) else held
    draw = np.random.default_rng((0, _STREAM))
    owners = np.unique(pairs.repository[held])
    rows = [np.sort(draw.permutation(held[pairs.repository[held] == owner])[: config.candidates]) for owner in owners]
    share = min(1.0, config.queries / max(1, sum(map(len, rows))))
    asked = [np.sort(draw.permutation(len(own))[: round(share * len(own))]) for own in rows]
    return Exam(tuple(rows), tuple(asked))


def take_exam(pairs: Pairs, exam: Exam, own: Parameters, products: Products) -> Grade:
    """Ask every question twice: of the codes as they are, and with the shared words taken from its answer."""
    whole, bare = [np.zeros(0)], [np.zeros(0)]
    for rows, asked in zip(exam.rows, exam.asked, strict=True):
        one, other = _ranks(pairs, rows, asked, own, products)
        whole.append(one)
        bare.append(other)
    plain, hard = np.concatenate(whole), np.concatenate(bare)
    if not len(plain):
        return Grade(0, 0.0, 0.0, 0.0, 0.0)
    means = (round(float(np.mean(values)), 4) for values in (plain < 2, 1 / plain, hard < 2, 1 / hard))
    return Grade(len(plain), *means)


def _ranks(
    pairs: Pairs, rows: NDArray[np.int64], asked: NDArray[np.int64], own: Parameters, products: Products
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the rank of each answer, whole and bare."""

    def vectors(bags: Bags, weight: Floats) -> Floats:
        return pool(as_matrix(bags, len(own.vectors)), weight, own.vectors, products).unit

    code = take_rows(pairs.code, rows)
    bare = keep_entries(code, ~pairs.code_shared[entries_of(pairs.code.offset, rows)])
    query = vectors(take_rows(pairs.query, rows[asked]), own.asked)
    others = query @ vectors(code, own.said).T
    alone = np.einsum("id,id->i", query, vectors(take_rows(bare, asked), own.said))
    right = _same(pairs.code_key, rows, asked) | _same(pairs.query_key, rows, asked)
    return _rank(others[np.arange(len(asked)), asked], others, right), _rank(alone, others, right)


def _same(keys: NDArray[np.uint64], rows: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Compare the keys of those who ask with those of all; everybody is the same as itself."""
    found: NDArray[np.bool_] = keys[rows[asked]][:, None] == keys[rows][None, :]
    return found


def _rank(answer: Floats, others: Floats, right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Rank answers among wrong ones; ties share the middle."""
    above = ((others > answer[:, None]) & ~right).sum(axis=1)
    beside = ((others == answer[:, None]) & ~right).sum(axis=1)
    found: NDArray[np.float64] = 1.0 + above + beside / 2
    return found
