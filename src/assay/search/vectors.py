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
from typing import Any, Final, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import ConfigError

Matrix = NDArray[np.float32]
Kind = Literal["float32", "int8", "binary"]


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
    size, n = columns.shape
    half = 1
    while half < size:
        pairs = columns.reshape(size // (2 * half), 2, half, n)
        columns = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size, n)
        half *= 2
    return columns


Exact = Literal["float32", "int8"]


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """What an embedder is told beside its name. What shapes its vectors is part of its identity."""

    #: The environment variable that holds an API's token; the token itself is never part of a value of ours.
    token_env: str | None = None
    #: Put before each text of a role. Models are trained with such words ("query: ", "passage: "); their cards say so.
    query_prefix: str = ""
    code_prefix: str = ""
    docs_prefix: str = ""
    #: What BERT-like models have positions for and model2vec cuts at; a model that says less gets less.
    max_tokens: int = 512
    #: Texts that go through a local network at once. In a batch the last bits of a vector depend on its neighbours, so
    #: that an index after an update would differ from a fresh one; and a CPU gains little from more (see `onnx`).
    batch: int = 1
    #: Texts of one request: 32 of the longest stay below the 300,000 tokens that OpenAI takes at once.
    http_batch: int = 32
    #: OpenAI's models end at 8,191 tokens and refuse what is longer; code has about three characters to a token.
    http_characters: int = 24_000
    #: A text that a server refuses is cut to three quarters and sent again, as long as it has more characters than
    #: this. Every model has room for that many, so that what is refused then is refused for another reason.
    http_least: int = 200
    #: A batch takes a small server without a GPU some ten seconds.
    http_seconds: float = 60.0
    #: Tries again when a server is first asked: after 0.5, 1, 2 and 4 s a restart or a limit per second is over.
    http_retries: int = 4
    #: Tries again once it has answered. One that fails half of the time fails 17 times in a row once in 130,000
    #: requests, or 4 million texts; one that is gone is waited for some 80 s.
    http_patience: int = 16

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for name in ("max_tokens", "batch", "http_batch", "http_characters", "http_least"):
            _at_least(name, getattr(self, name), 1)
        for name in ("http_retries", "http_patience"):
            _at_least(name, getattr(self, name), 0)
        if not self.http_seconds > 0:
            raise ConfigError(f"embedder setting http_seconds = {self.http_seconds!r}", hint="give a number above 0")


@dataclass(frozen=True, slots=True)
class VectorScanConfig:
    """How stored vectors are scanned."""

    #: Rows that a binary scan scores again exactly. On the standard library (35,165 windows of 25 lines, wordllama's
    #: vectors of 256, 200 docstrings as queries) the raw order has a recall@10 of 0.55, 200 make it 0.981, 400 0.993,
    #: 1000 0.999. `raw_loss` tells it for other data: noise without structure is much harder.
    rescored: int = 200
    #: What a binary scan scores again with. int8 makes the whole store a third of float32 alone; float32 is exact.
    exact: Exact = "float32"
    #: Bits of each number of a query in the binary scan. RaBitQ's choice: four add 3 % to the estimate's variance
    #: (step² / 12 against 1 - 2/pi, at a range of three deviations), and each costs a pass over the codes.
    query_bits: int = 4
    #: Draws the signs of the rotation; any value will do, and it must not change from build to build.
    seed: int = 0
    #: Rows worked on at a time: the temporaries of a scan stay in a core's second cache.
    block: int = 16_384

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for name in ("rescored", "query_bits", "block"):
            _at_least(name, getattr(self, name), 1)
        _at_least("seed", self.seed, 0)
        if self.query_bits > 8:
            raise ConfigError(f"vector setting query_bits = {self.query_bits}", hint="more than 8 bits change nothing")
        if self.exact not in ("float32", "int8"):
            raise ConfigError(f"vector setting exact = {self.exact!r}", hint="it is float32 or int8")


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """How much the cache of embeddings may hold."""

    #: A million vectors of 256 float32 numbers: every repository one person works on.
    max_bytes: int = 1_000_000_000
    #: Files of one model and role before they are made into one; a file is written per refresh that embedded anything.
    max_segments: int = 16
    #: Texts that are embedded before they are kept: what is lost when the work breaks off. A network of six layers
    #: takes half a minute for them, an API 64 requests.
    piece: int = 2_048

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _at_least("max_bytes", self.max_bytes, 0)
        _at_least("max_segments", self.max_segments, 1)
        _at_least("piece", self.piece, 1)


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"dense setting {name} = {value!r}", hint=f"{name} must be a whole number, {least} or more")


DEFAULT_EMBEDDER = EmbedderConfig()
DEFAULT_VECTORS = VectorScanConfig()
DEFAULT_CACHE = CacheConfig()


Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of all rows, a word of 64 signs at a time, and what turns counted bits into inner products."""

    words: Words  # (size / 64, n): the scan reads one word of all rows after the other
    slope: Matrix  # (n,)
    offset: Matrix  # (n,)
    centre: Matrix  # (dimension,)
    rotation: Rotation

    def estimate(self, query: Matrix, config: VectorScanConfig) -> Matrix:
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


def encode(matrix: Matrix, config: VectorScanConfig) -> Codes:
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
    octets = np.packbits(positive, axis=0)
    return np.ascontiguousarray(octets.reshape(-1, 8, octets.shape[1]).transpose(0, 2, 1)).view(np.uint64)[:, :, 0]


def _planes(rotated: Matrix, bits: int) -> tuple[Words, float]:
    levels = 2**bits
    reach = float(np.abs(rotated).max())
    step = 2 * reach / (levels - 1) if reach > 0 else 1.0
    level = np.clip(np.rint(rotated / np.float32(step) + np.float32((levels - 1) / 2)), 0, levels - 1).astype(np.uint8)
    shifts = np.arange(bits - 1, -1, -1, dtype=np.uint8)
    return _pack(((level[:, None] >> shifts) & 1).astype(bool)).T, step


def _count(words: Words, planes: Words, block: int) -> NDArray[np.int32]:
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


_KEEPERS: Final[Mapping[Exact, Callable[[Matrix], Rows]]] = {"float32": keep_floats, "int8": keep_bytes}


@dataclass(frozen=True, slots=True)
class Vectors:
    """A matrix of vectors that can be scored against a query, row by row."""

    rows: Rows
    codes: Codes | None = None
    config: VectorScanConfig = DEFAULT_VECTORS

    @classmethod
    def build(cls, matrix: Matrix, kind: Kind, config: VectorScanConfig = DEFAULT_VECTORS) -> Self:
        """Store a float32 matrix in a kind. The codes depend on all rows, so an index that changed is built anew."""
        if kind not in get_args(Kind):
            raise ConfigError(f"unknown kind of vectors {kind!r}", hint=f"it is one of {', '.join(get_args(Kind))}")
        exact = config.exact if kind == "binary" else kind
        return cls(_KEEPERS[exact](matrix), encode(matrix, config) if kind == "binary" else None, config)

    @classmethod
    def from_columns(cls, columns: Columns, config: VectorScanConfig = DEFAULT_VECTORS) -> Self:
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
class QuantizationLoss:
    """What binary codes lose: the share of the true best `k` that is found, over so many queries."""

    raw: float  # by the order of the estimates alone
    rescored: float  # as `Vectors.scores` ranks
    k: int
    queries: int


def raw_loss(
    matrix: Matrix, queries: Matrix, k: int = 10, config: VectorScanConfig = DEFAULT_VECTORS
) -> QuantizationLoss:
    """Measure recall@k of the binary order against the exact one, before and after re-scoring."""
    exact, codes = Vectors.build(matrix, "float32", config), encode(matrix, config)
    binary = Vectors(_KEEPERS[config.exact](matrix), codes, config)
    raw, rescored = [], []
    for query in queries:
        truth = best_rows(exact.scores(query), k)
        raw.append(_share(truth, best_rows(codes.estimate(query, config), k)))
        rescored.append(_share(truth, best_rows(binary.scores(query), k)))
    return QuantizationLoss(float(np.mean(raw or [1.0])), float(np.mean(rescored or [1.0])), k, len(queries))


def _share(truth: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    return len(np.intersect1d(truth, found)) / len(truth) if len(truth) else 1.0
