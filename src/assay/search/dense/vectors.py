"""Stored vectors: float32, int8, or a binary scan with exact re-scoring of the best.

Bytes a vector of d numbers (D is d filled up to a power of two, at least 64):

    float32               4 d                       d = 256: 1024
    int8                  d + 4                               260
    binary with float32   4 d + D / 8 + 8                    1064, of which a scan reads 40
    binary with int8      d + 4 + D / 8 + 8                   300, of which a scan reads 40
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.search.dense.binary import Codes, encode, read_codes
from assay.search.dense.config import DEFAULT_VECTORS, Exact, VectorConfig
from assay.search.dense.matrices import Matrix, best_rows
from assay.search.dense.rows import Columns, FloatRows, Rows, keep_bytes, keep_floats, read_rows
from assay.search.models import Kind

_KEEPERS: Final[Mapping[Exact, Callable[[Matrix], Rows]]] = {"float32": keep_floats, "int8": keep_bytes}


@dataclass(frozen=True, slots=True)
class Vectors:
    """A matrix of vectors that can be scored against a query, row by row."""

    rows: Rows
    codes: Codes | None = None
    config: VectorConfig = DEFAULT_VECTORS

    @classmethod
    def build(cls, matrix: Matrix, kind: Kind, config: VectorConfig = DEFAULT_VECTORS) -> Self:
        """Store a float32 matrix in a kind. The codes depend on all rows, so an index that changed is built anew."""
        if kind not in get_args(Kind):
            raise ConfigError(f"unknown kind of vectors {kind!r}", hint=f"it is one of {', '.join(get_args(Kind))}")
        exact = config.exact if kind == "binary" else kind
        return cls(_KEEPERS[exact](matrix), encode(matrix, config) if kind == "binary" else None, config)

    @classmethod
    def from_columns(cls, columns: Columns, config: VectorConfig = DEFAULT_VECTORS) -> Self:
        """Take vectors from stored arrays, without copying."""
        return cls(read_rows(columns), read_codes(columns) if "codes" in columns else None, config)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Give the arrays to store; their names tell the kind."""
        return {**self.rows.columns(), **(self.codes.columns() if self.codes else {})}

    @property
    def kind(self) -> Kind:
        """How they are stored."""
        if self.codes is not None:
            return "binary"
        return "float32" if isinstance(self.rows, FloatRows) else "int8"

    @property
    def dimension(self) -> int:
        """Numbers of one vector."""
        return self.rows.shape[1]

    def __len__(self) -> int:
        return self.rows.shape[0]

    def scores(self, query: Matrix) -> Matrix:
        """Score every row; a higher score is nearer, and of equal ones the lower row comes first.

        Float32 and int8 rows have their inner product. Of a binary store the `rescored` rows of the highest estimates
        have it, and the others their estimate, lowered together until the best of them is below all of those. So the
        top is in exact order, and a score depends on the query and the store alone: neither on how many results
        somebody wants nor on what a filter leaves.
        """
        vector = self._checked(query)
        if self.codes is None or len(self) <= self.config.rescored:
            return self._exact(vector)
        if not vector.any():
            return np.zeros(len(self), dtype=np.float32)
        return self._rescored(self.codes.estimate(vector, self.config), vector)

    def _checked(self, query: Matrix) -> Matrix:
        """Refuse a query of another model."""
        vector = np.asarray(query, dtype=np.float32)
        if vector.shape != (self.dimension,):
            raise ConfigError(
                f"a query of shape {vector.shape} against vectors of {self.dimension} numbers",
                hint="embed queries and corpus with the same model; build the index again after changing it",
            )
        return vector

    def _exact(self, query: Matrix) -> Matrix:
        """Score all rows, a block at a time, so that bytes are widened in the cache."""
        scores = np.empty(len(self), dtype=np.float32)
        rows = max(1, self.config.block // 16)
        for start in range(0, len(self), rows):
            part = slice(start, start + rows)
            scores[part] = self.rows.scores(query, part)
        return scores

    def _rescored(self, estimate: Matrix, query: Matrix) -> Matrix:
        """Put exact scores over the best estimates and everything else below them, in the order of the estimates."""
        best = best_rows(estimate, self.config.rescored)
        exact = self.rows.scores(query, best)
        below = np.nextafter(exact.min(), np.float32(-np.inf))
        rest = np.ones(len(self), dtype=bool)
        rest[best] = False
        shift = max(np.float32(0), estimate[rest].max() - below)
        scores = np.asarray(np.minimum(estimate - shift, below), dtype=np.float32)
        scores[best] = exact
        return scores

    @property
    def nbytes(self) -> int:
        """Bytes of all that is stored."""
        return sum(column.nbytes for column in self.columns().values())


@dataclass(frozen=True, slots=True)
class Loss:
    """What binary codes lose: the share of the true best `k` that is found, over so many queries."""

    raw: float  # by the order of the estimates alone
    rescored: float  # as `Vectors.scores` ranks
    k: int
    queries: int


def raw_loss(matrix: Matrix, queries: Matrix, k: int = 10, config: VectorConfig = DEFAULT_VECTORS) -> Loss:
    """Measure recall@k of the binary order against the exact one, before and after re-scoring."""
    exact, codes = Vectors.build(matrix, "float32", config), encode(matrix, config)
    binary = Vectors(_KEEPERS[config.exact](matrix), codes, config)
    raw, rescored = [], []
    for query in queries:
        truth = best_rows(exact.scores(query), k)
        raw.append(_share(truth, best_rows(codes.estimate(query, config), k)))
        rescored.append(_share(truth, best_rows(binary.scores(query), k)))
    return Loss(float(np.mean(raw or [1.0])), float(np.mean(rescored or [1.0])), k, len(queries))


def _share(truth: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """Tell what share of the truth was found."""
    return len(np.intersect1d(truth, found)) / len(truth) if len(truth) else 1.0
