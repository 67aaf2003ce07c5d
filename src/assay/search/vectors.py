"""Vectors stored as float32 or int8, with optional binary codes for faster scans.

Bytes per vector of d numbers (D is d padded to a power of two, at least 64):

    float32               4 d                       d = 256: 1024
    int8                  d + 4                               260
    binary with float32   4 d + D / 8 + 8                    1064, of which a scan reads 40
    binary with int8      d + 4 + D / 8 + 8                   300, of which a scan reads 40
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import ConfigError
from assay.records import dataclass

Matrix = NDArray[np.float32]
VectorFormat = Literal["float32", "int8", "binary"]
ExactFormat = Literal["float32", "int8"]
Columns = Mapping[str, NDArray[Any]]
CodeWords = NDArray[np.uint64]
Signs = NDArray[np.int8]  # (rounds, size); size is a power of two

#: int8 without -128, so that a row and its negative are stored symmetrically.
_LEVELS: Final = 127
_ROUNDS: Final = 3
#: Codes are read as words of 64 bits, so shorter vectors are padded to one word.
_LEAST: Final = 64
#: Column names of binary codes in stored files.
_CODES: Final = ("codes", "slope", "offset", "centre", "signs")


def unit_rows(rows: ArrayLike) -> Matrix:
    """Scale each row to length 1; rows that are zero or contain NaN or infinity become zero.

    Rows are divided by their largest number first, so that squares neither overflow nor underflow float32.
    """
    matrix = np.asarray(rows, dtype=np.float32)
    peak = np.abs(matrix).max(axis=1, keepdims=True, initial=0)
    usable = np.isfinite(peak) & (peak > 0)
    scaled = np.where(usable, matrix, 0) / np.where(usable, peak, 1)
    length = np.sqrt(np.vecdot(scaled, scaled))[:, None]
    return np.asarray(scaled / np.where(usable, length, 1), dtype=np.float32)


def best_rows(scores: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """Return the `count` rows with the highest scores, in row order; among tied rows, the lowest row numbers."""
    if count >= len(scores):
        return np.arange(len(scores))
    edge = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = np.flatnonzero(scores > edge)
    level = np.flatnonzero(scores == edge)[: count - len(above)]
    return np.sort(np.concatenate([above, level]))


@dataclass(frozen=True, slots=True)
class VectorScanConfig:
    #: Rows that a binary scan rescores exactly. On Python's standard library (35,165 windows of 25 lines, wordllama's
    #: vectors of 256, 200 docstrings as queries) recall@10 is 0.55 without rescoring, 0.981 with 200 rescored rows,
    #: 0.993 with 400 and 0.999 with 1,000. Noise without structure is much harder.
    rescored: int = 200
    #: Storage for rescoring. int8 makes the whole store a third of float32 alone; float32 is exact.
    exact: ExactFormat = "float32"
    #: Bits of each number of a query in the binary scan. RaBitQ's choice: four add 3 % to the estimate's variance
    #: (step² / 12 against 1 - 2/pi, at a range of three deviations), and each costs a pass over the codes.
    query_bits: int = 4
    #: Seed of the rotation's signs; any constant works.
    seed: int = 0
    #: Rows per block: the temporaries of a scan fit in the L2 cache of a core.
    block: int = 16_384


DEFAULT_VECTORS: Final = VectorScanConfig()


@dataclass(frozen=True, slots=True)
class Vectors:
    rows: VectorRows
    codes: BinaryCodes | None = None
    config: VectorScanConfig = DEFAULT_VECTORS

    @classmethod
    def build(cls, matrix: Matrix, kind: VectorFormat, config: VectorScanConfig = DEFAULT_VECTORS) -> Self:
        rows = VectorRows.of(matrix, config.exact if kind == "binary" else kind)
        return cls(rows, encode_rows(matrix, config) if kind == "binary" else None, config)

    @classmethod
    def from_columns(cls, columns: Columns, config: VectorScanConfig = DEFAULT_VECTORS) -> Self:
        codes = BinaryCodes.from_columns(columns) if "codes" in columns else None
        values = columns["float32"] if "float32" in columns else columns["int8"]
        return cls(VectorRows(values, columns.get("scale")), codes, config)

    def columns(self) -> dict[str, NDArray[Any]]:
        return {**self.rows.columns(), **(self.codes.columns() if self.codes else {})}

    @property
    def dimension(self) -> int:
        return int(self.rows.values.shape[1])

    def __len__(self) -> int:
        return len(self.rows.values)

    def scores(self, query: Matrix) -> Matrix:
        """Return the score of every row for a query.

        Float32 and int8 rows are scored by inner product. With binary codes, only the `rescored` rows with the highest
        estimates are; the other rows keep their estimate, shifted below the rescored rows. So the first rows are in
        exact order, and scores do not depend on k or a filter.
        """
        vector = np.asarray(query, dtype=np.float32)
        if vector.shape != (self.dimension,):
            raise ConfigError(
                f"expected a query of {self.dimension} numbers, got shape {vector.shape}",
                hint="embed queries and corpus with the same model; rebuild the index after changing the model",
            )
        if self.codes is None or len(self) <= self.config.rescored:
            scores = np.empty(len(self), dtype=np.float32)
            rows = max(1, self.config.block // 16)  # in blocks, so that widened bytes fit in the CPU cache
            for start in range(0, len(self), rows):
                part = slice(start, start + rows)
                scores[part] = self.rows.scores(vector, part)
            return scores
        if not vector.any():
            return np.zeros(len(self), dtype=np.float32)
        estimate = self.codes.estimate(vector, self.config)
        best = best_rows(estimate, self.config.rescored)
        exact = self.rows.scores(vector, best)
        below = np.nextafter(exact.min(), np.float32(-np.inf))
        rest = np.ones(len(self), dtype=bool)
        rest[best] = False
        shift = max(np.float32(0), estimate[rest].max() - below)
        scores = np.asarray(np.minimum(estimate - shift, below), dtype=np.float32)
        scores[best] = exact
        return scores


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors stored as float32, or as int8 with one scale per row: `values * scale[:, None]`.

    A number is off by at most half a scale, so a score is off by at most `scale / 2 * |query|₁`.
    """

    values: Matrix | NDArray[np.int8]
    scale: Matrix | None = None  # (n,), for int8 values

    @classmethod
    def of(cls, matrix: Matrix, kind: ExactFormat) -> Self:
        if kind == "float32":
            return cls(np.ascontiguousarray(matrix))
        scale = np.abs(matrix).max(axis=1, initial=0).astype(np.float32) / np.float32(_LEVELS)
        steps = np.rint(matrix / np.where(scale > 0, scale, 1)[:, None])
        return cls(np.clip(steps, -_LEVELS, _LEVELS).astype(np.int8), scale)

    def scores(self, query: Matrix, rows: slice | NDArray[np.int64]) -> Matrix:
        products = np.vecdot(self.values[rows].astype(np.float32, copy=False), query)
        return np.asarray(products if self.scale is None else products * self.scale[rows], dtype=np.float32)

    def vectors(self, rows: NDArray[np.int64]) -> Matrix:
        chosen = self.values[rows]
        return np.asarray(chosen if self.scale is None else chosen * self.scale[rows, None], dtype=np.float32)

    def columns(self) -> dict[str, NDArray[Any]]:
        return {"float32": self.values} if self.scale is None else {"int8": self.values, "scale": self.scale}


@dataclass(frozen=True, slots=True)
class BinaryCodes:
    words: CodeWords  # (size / 64, n), so that the scan reads the same word of all rows in sequence
    slope: Matrix  # (n,)
    offset: Matrix  # (n,)
    center: Matrix  # (dimension,)
    signs: Signs  # random signs of the rotation

    def estimate(self, query: Matrix, config: VectorScanConfig) -> Matrix:
        rotated = rotate(self.signs, (query - self.center)[:, None])[:, 0]
        planes, step = _planes(rotated, config.query_bits)
        counted = _count(self.words, planes, config.block)
        total = np.float32(step / 2) * (self.signs.shape[1] * (2**config.query_bits - 1) - 2 * counted)
        constant = np.vecdot(self.center, query) - np.vecdot(self.center, self.center)
        return np.asarray(self.slope * total + (self.offset + constant), dtype=np.float32)

    def columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, field.name) for name, field in zip(_CODES, fields(self), strict=True)}

    @classmethod
    def from_columns(cls, columns: Columns) -> Self:
        return cls(*(columns[name] for name in _CODES))


def encode_rows(matrix: Matrix, config: VectorScanConfig) -> BinaryCodes:
    signs = draw_signs(matrix.shape[1], np.random.default_rng(config.seed))
    center = np.asarray(matrix.mean(axis=0, dtype=np.float64) if len(matrix) else np.zeros(matrix.shape[1]), np.float32)
    words = np.zeros((signs.shape[1] // 64, len(matrix)), dtype=np.uint64)
    slope = np.zeros(len(matrix), dtype=np.float32)
    rows = max(1, config.block // 16)  # encoding takes 1,000 bytes and more per row, a scan 8
    for start in range(0, len(matrix), rows):
        part = slice(start, start + rows)
        rotated = rotate(signs, (matrix[part] - center).T)
        words[:, part] = _pack(rotated > 0)
        slope[part] = _slopes(rotated)
    return BinaryCodes(words, slope, np.vecdot(matrix, center), center, signs)


def _slopes(rotated: Matrix) -> Matrix:
    """Return |r|² / |r|₁ for each column r."""
    rows = np.ascontiguousarray(rotated.T)  # numpy sums a single column in another order than several
    spread = np.vecdot(np.abs(rows), np.ones(rows.shape[1], dtype=np.float32))
    return np.asarray(np.vecdot(rows, rows) / np.where(spread > 0, spread, 1), dtype=np.float32)


def _pack(positive: NDArray[np.bool_]) -> CodeWords:
    octets = np.packbits(positive, axis=0)
    return np.ascontiguousarray(octets.reshape(-1, 8, octets.shape[1]).transpose(0, 2, 1)).view(np.uint64)[:, :, 0]


def _planes(rotated: Matrix, bits: int) -> tuple[CodeWords, float]:
    levels = 2**bits
    reach = float(np.abs(rotated).max())
    step = 2 * reach / (levels - 1) if reach > 0 else 1.0
    level = np.clip(np.rint(rotated / np.float32(step) + np.float32((levels - 1) / 2)), 0, levels - 1).astype(np.uint8)
    shifts = np.arange(bits - 1, -1, -1, dtype=np.uint8)
    return _pack(((level[:, None] >> shifts) & 1).astype(bool)).T, step


def _count(words: CodeWords, planes: CodeWords, block: int) -> NDArray[np.int32]:
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


def draw_signs(dimension: int, rng: np.random.Generator) -> Signs:
    size = max(_LEAST, 1 << max(0, dimension - 1).bit_length())
    return (rng.integers(0, 2, size=(_ROUNDS, size)) * 2 - 1).astype(np.int8)


def rotate(signs: Signs, columns: Matrix) -> Matrix:
    """Rotate the columns of a (dimension, n) matrix after padding them with zeros; return (size, n)."""
    size = signs.shape[1]
    rotated = np.zeros((size, columns.shape[1]), dtype=np.float32)
    rotated[: len(columns)] = columns
    for row in signs:
        rotated = _hadamard(rotated * row[:, None].astype(np.float32)) * np.float32(size**-0.5)
    return rotated


def _hadamard(columns: Matrix) -> Matrix:
    size, n = columns.shape
    half = 1
    while half < size:
        pairs = columns.reshape(size // (2 * half), 2, half, n)
        columns = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size, n)
        half *= 2
    return columns
