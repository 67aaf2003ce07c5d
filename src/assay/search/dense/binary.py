"""A bit a number: RaBitQ codes (Gao and Long, SIGMOD 2024), and an unbiased estimate of every inner product from them.

A row x is centred on the mean c of all rows and rotated at random to r; its code is the signs of r. The direction s
of the code, ±1/√D, and r have a known inner product, <s, r> = |r|₁/√D, and since the rotation makes what s misses of r
point anywhere, <r, y> is estimated without bias by <s, y> · |r|² / <s, r> for any rotated query y. So a row keeps

    slope = |x - c|² / |r|₁        offset = <x, c>

and with q centred and rotated to y, <x, q> ≈ slope · Σ ±y + offset + <c, q> - <c, c>. Centring the query as well makes
the error smaller by |q - c| / |q|. Σ ±y over a code is counted in bits: y is rounded to a few bits, and for bit plane t
with signs p, Σ ±p = D - 2 · popcount(code xor p).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.search.dense.config import VectorConfig
from assay.search.dense.matrices import Matrix
from assay.search.dense.rotation import Rotation, draw_rotation
from assay.search.dense.rows import Columns

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of all rows, a word of 64 signs at a time, and what turns counted bits into inner products."""

    words: Words  # (size / 64, n): the scan reads one word of all rows after the other
    slope: Matrix  # (n,)
    offset: Matrix  # (n,)
    centre: Matrix  # (dimension,)
    rotation: Rotation

    def estimate(self, query: Matrix, config: VectorConfig) -> Matrix:
        """Estimate the inner product of every row with the query."""
        rotated = self.rotation((query - self.centre)[:, None])[:, 0]
        planes, step = _planes(rotated, config.query_bits)
        counted = _count(self.words, planes, config.block)
        total = np.float32(step / 2) * (self.rotation.size * (2**config.query_bits - 1) - 2 * counted)
        constant = np.vecdot(self.centre, query) - np.vecdot(self.centre, self.centre)
        return np.asarray(self.slope * total + (self.offset + constant), dtype=np.float32)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Give the arrays to store."""
        signs = self.rotation.signs
        return {
            "codes": self.words,
            "slope": self.slope,
            "offset": self.offset,
            "centre": self.centre,
            "signs": signs,
        }


def encode(matrix: Matrix, config: VectorConfig) -> Codes:
    """Make the codes of all rows, a block at a time."""
    rotation = draw_rotation(matrix.shape[1], np.random.default_rng(config.seed))
    centre = np.asarray(matrix.mean(axis=0, dtype=np.float64) if len(matrix) else np.zeros(matrix.shape[1]), np.float32)
    words = np.zeros((rotation.size // 64, len(matrix)), dtype=np.uint64)
    slope = np.zeros(len(matrix), dtype=np.float32)
    rows = max(1, config.block // 16)  # a block of the scan has 8 bytes a row; here it has a thousand and more
    for start in range(0, len(matrix), rows):
        part = slice(start, start + rows)
        rotated = rotation((matrix[part] - centre).T)
        words[:, part] = _pack(rotated > 0)
        slope[part] = _slopes(rotated)
    return Codes(words, slope, np.vecdot(matrix, centre), centre, rotation)


def read_codes(columns: Columns) -> Codes:
    """Take codes from stored arrays, without copying."""
    words, slope, offset = (np.asarray(columns[name]) for name in ("codes", "slope", "offset"))
    return Codes(words, slope, offset, np.asarray(columns["centre"]), Rotation(np.asarray(columns["signs"])))


def _slopes(rotated: Matrix) -> Matrix:
    """Give |r|² / |r|₁ of each column; a row that is the mean itself has nothing to estimate.

    By dot products, since numpy sums the columns of a matrix in another order when there is only one.
    """
    rows = np.ascontiguousarray(rotated.T)
    spread = np.vecdot(np.abs(rows), np.ones(rows.shape[1], dtype=np.float32))
    return np.asarray(np.vecdot(rows, rows) / np.where(spread > 0, spread, 1), dtype=np.float32)


def _pack(positive: NDArray[np.bool_]) -> Words:
    """Pack the signs of (size, n) numbers into (size / 64, n) words."""
    octets = np.packbits(positive, axis=0)
    return np.ascontiguousarray(octets.reshape(-1, 8, octets.shape[1]).transpose(0, 2, 1)).view(np.uint64)[:, :, 0]


def _planes(rotated: Matrix, bits: int) -> tuple[Words, float]:
    """Round a query to levels ±1/2, ±3/2 ... of a step, and give the step and the words of each bit, highest first."""
    levels = 2**bits
    reach = float(np.abs(rotated).max())
    step = 2 * reach / (levels - 1) if reach > 0 else 1.0
    level = np.clip(np.rint(rotated / np.float32(step) + np.float32((levels - 1) / 2)), 0, levels - 1).astype(np.uint8)
    shifts = np.arange(bits - 1, -1, -1, dtype=np.uint8)
    return _pack(((level[:, None] >> shifts) & 1).astype(bool)).T, step


def _count(words: Words, planes: Words, block: int) -> NDArray[np.int32]:
    """Count for every row the bits in which it differs from the query, each by the worth of its plane."""
    total = np.zeros(words.shape[1], dtype=np.int32)
    differing, bits = np.empty(block, dtype=np.uint64), np.empty(block, dtype=np.uint8)
    for start in range(0, words.shape[1], block):
        part, sums = words[:, start : start + block], total[start : start + block]
        size = len(sums)
        for plane in planes:
            sums *= 2
            for word, other in zip(part, plane, strict=True):
                np.bitwise_xor(word, other, out=differing[:size])
                np.bitwise_count(differing[:size], out=bits[:size])
                sums += bits[:size]
    return total
