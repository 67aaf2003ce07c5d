"""A random rotation made of signs and Walsh–Hadamard transforms.

Why structured and not a dense orthogonal matrix from QR: it is adds and subtracts of whole rows in a fixed order, so
its result is the same to the last bit with every BLAS, thread count and number of vectors at once, which a matrix
product does not promise; and it stores three signs a dimension instead of d². Three rounds of "random signs, then
Hadamard" serve like a full random rotation (Andoni et al. 2015, "Practical and Optimal LSH for Angular Distance").
The signs are stored, because numpy does not promise the same draws of a seed in later versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.search.dense.matrices import Matrix

_ROUNDS: Final = 3
#: Codes are read as words of 64 bits, so shorter vectors are filled up to one word.
_LEAST: Final = 64


@dataclass(frozen=True, slots=True)
class Rotation:
    """The signs of each round, of shape (rounds, size); size is a power of two, and shorter vectors end in zeros."""

    signs: NDArray[np.int8]

    @property
    def size(self) -> int:
        """Numbers of a rotated vector."""
        return int(self.signs.shape[1])

    def __call__(self, columns: Matrix) -> Matrix:
        """Rotate vectors that are the columns of a (dimension, n) matrix; gives (size, n)."""
        rotated = np.zeros((self.size, columns.shape[1]), dtype=np.float32)
        rotated[: len(columns)] = columns
        scale = np.float32(self.size**-0.5)
        for signs in self.signs:
            rotated = _hadamard(rotated * signs[:, None].astype(np.float32)) * scale
        return rotated


def draw_rotation(dimension: int, rng: np.random.Generator) -> Rotation:
    """Draw the rotation for vectors of a length."""
    size = max(_LEAST, 1 << max(0, dimension - 1).bit_length())
    signs = rng.integers(0, 2, size=(_ROUNDS, size)) * 2 - 1
    return Rotation(signs.astype(np.int8))


def _hadamard(columns: Matrix) -> Matrix:
    """Multiply by the Hadamard matrix: log2(size) rounds of sums and differences of halves."""
    size, n = columns.shape
    half = 1
    while half < size:
        pairs = columns.reshape(size // (2 * half), 2, half, n)
        columns = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size, n)
        half *= 2
    return columns
