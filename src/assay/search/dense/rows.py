"""Rows that can be scored as they are: float32, or int8 with a scale each.

Each score is one dot product of its own (`np.vecdot`) and not an entry of a matrix product: BLAS sums rows in another
order depending on where they stand and on the threads, and two copies of one chunk would no longer tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.search.dense.matrices import Matrix

Columns = Mapping[str, NDArray[Any]]

#: int8 without -128, so that a row and its negative are stored alike.
_LEVELS: Final = 127


@dataclass(frozen=True, slots=True)
class FloatRows:
    """The vectors themselves."""

    matrix: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers of each."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def scores(self, query: Matrix, rows: slice | NDArray[np.int64]) -> Matrix:
        """Multiply some rows with the query."""
        return np.asarray(np.vecdot(self.matrix[rows], query), dtype=np.float32)

    def vectors(self, rows: NDArray[np.int64]) -> Matrix:
        """Give some rows as they are."""
        return self.matrix[rows]

    def columns(self) -> dict[str, NDArray[Any]]:
        """Give the arrays to store."""
        return {"float32": self.matrix}


@dataclass(frozen=True, slots=True)
class ByteRows:
    """A byte a number: `values * scale[:, None]`.

    A number is off by at most half a scale, so a score by at most `scale / 2 * |query|₁`.
    """

    values: NDArray[np.int8]
    scale: Matrix  # (n,)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers of each."""
        return self.values.shape[0], self.values.shape[1]

    def scores(self, query: Matrix, rows: slice | NDArray[np.int64]) -> Matrix:
        """Multiply some rows with the query, which keeps its full precision."""
        products = np.vecdot(self.values[rows].astype(np.float32), query)
        return np.asarray(products * self.scale[rows], dtype=np.float32)

    def vectors(self, rows: NDArray[np.int64]) -> Matrix:
        """Give some rows as numbers."""
        return np.asarray(self.values[rows] * self.scale[rows, None], dtype=np.float32)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Give the arrays to store."""
        return {"int8": self.values, "scale": self.scale}


Rows = FloatRows | ByteRows


def keep_floats(matrix: Matrix) -> FloatRows:
    """Keep the vectors as they are, laid out row by row."""
    return FloatRows(np.ascontiguousarray(matrix))


def keep_bytes(matrix: Matrix) -> ByteRows:
    """Round each row to bytes of its own scale."""
    scale = np.abs(matrix).max(axis=1, initial=0).astype(np.float32) / np.float32(_LEVELS)
    steps = np.rint(matrix / np.where(scale > 0, scale, 1)[:, None])
    return ByteRows(np.clip(steps, -_LEVELS, _LEVELS).astype(np.int8), scale)


def read_rows(columns: Columns) -> Rows:
    """Take rows from stored arrays, without copying."""
    if "float32" in columns:
        return FloatRows(np.asarray(columns["float32"]))
    return ByteRows(np.asarray(columns["int8"]), np.asarray(columns["scale"]))
