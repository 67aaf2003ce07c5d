"""What vectors are before anybody stores them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float32]


def unit_rows(rows: ArrayLike) -> Matrix:
    """Scale each row to length one; a row that is zero, or holds a number that is none, becomes zero.

    Divided by its largest number first, so that neither huge nor tiny rows leave float32 when they are squared.
    """
    matrix = np.asarray(rows, dtype=np.float32)
    peak = np.abs(matrix).max(axis=1, keepdims=True, initial=0)
    usable = np.isfinite(peak) & (peak > 0)
    scaled = np.where(usable, matrix, 0) / np.where(usable, peak, 1)
    length = np.sqrt(np.vecdot(scaled, scaled))[:, None]
    return np.asarray(scaled / np.where(usable, length, 1), dtype=np.float32)


def best_rows(scores: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """List the rows of the highest scores in row order; of equal ones at the edge the first."""
    if count >= len(scores):
        return np.arange(len(scores))
    edge = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = np.flatnonzero(scores > edge)
    level = np.flatnonzero(scores == edge)[: count - len(above)]
    return np.sort(np.concatenate([above, level]))
