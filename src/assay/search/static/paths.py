"""What a file is called says what it is about: the words of its path, put to those of each of its units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.search.static.model import Matrix
from assay.search.static.units import UnitVectors
from assay.search.tables import IntArray


@dataclass(frozen=True, slots=True)
class PathWords:
    """Scores of units as if the words of their path stood in them `weight` times more.

    The vector of such a unit is u + w p, u the sum of its words and p that of its path's: no vector is made anew, since
    q · (u + w p) / |u + w p| follows from q · u, from q · p of the file, and from lengths that no query changes.
    """

    file: IntArray  # of each unit
    size: Matrix  # |u|
    path: Matrix  # p of each file
    length: Matrix  # |u + w p|
    weight: float

    def __call__(self, scores: Matrix, query: Matrix) -> Matrix:
        """Turn scores of units alone into those with their path."""
        along = np.vecdot(self.path, query)[self.file]
        return np.asarray((self.size * scores + np.float32(self.weight) * along) / self.length, dtype=np.float32)


def path_words(units: UnitVectors, file: IntArray, weight: float) -> PathWords:
    """Prepare the lengths; a unit that has none, for want of known words, keeps a score of 0."""
    own = np.vecdot(units.path, units.path)[file]
    square = units.size**2 + 2 * weight * units.size * units.along + weight**2 * own
    length = np.sqrt(np.maximum(square, 0), dtype=np.float32)
    return PathWords(file, units.size, units.path, np.where(length > 0, length, 1).astype(np.float32), weight)
