"""Operations on bags of terms, and pooled vectors of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.training.shards import Bags


def take_rows(bags: Bags, rows: NDArray[np.int64]) -> Bags:
    """Return some rows, in the given order."""
    places = entries_of(bags.offset, rows)
    return Bags(_offsets(bags.offset[rows + 1] - bags.offset[rows]), bags.term[places], bags.count[places])


def entries_of(offset: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the entries of some rows."""
    sizes = offset[rows + 1] - offset[rows]
    ends = np.cumsum(sizes)
    found: NDArray[np.int64] = np.arange(int(sizes.sum())) + np.repeat(offset[rows] - ends + sizes, sizes)
    return found


def keep_entries(bags: Bags, keep: NDArray[np.bool_]) -> Bags:
    """Return bags with only the marked entries; the number of rows stays."""
    return Bags(_offsets(sums(keep, bags.offset)), bags.term[keep], bags.count[keep])


def join_bags(parts: Sequence[Bags]) -> Bags:
    """Concatenate the rows of several bags."""
    sizes = [np.diff(part.offset) for part in parts]
    return Bags(
        _offsets(np.concatenate(sizes) if sizes else np.zeros(0, dtype=np.int64)),
        np.concatenate([part.term for part in parts]) if parts else np.zeros(0, dtype=np.int32),
        np.concatenate([part.count for part in parts]) if parts else np.zeros(0, dtype=np.float32),
    )


def join_rows(one: Bags, other: Bags) -> Bags:
    """Join two bags row by row; a term of both occurs twice in the row."""
    rows = np.concatenate((row_numbers(one.offset), row_numbers(other.offset)))
    order = np.argsort(rows, kind="stable")
    term = np.concatenate((one.term, other.term))[order]
    return Bags(one.offset + other.offset, term, np.concatenate((one.count, other.count))[order])


def row_numbers(offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of each entry."""
    return np.repeat(np.arange(len(offset) - 1, dtype=np.int64), np.diff(offset))


def sums(values: NDArray[np.bool_], offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the true entries of each row."""
    running = np.concatenate(([0], np.cumsum(values, dtype=np.int64)))
    found: NDArray[np.int64] = running[offset[1:]] - running[offset[:-1]]
    return found


def shared_entries(bags: Bags, others: Bags, terms: int) -> NDArray[np.bool_]:
    """Return for each entry whether its term is in the same row of `others`; `terms` is the number of terms."""
    known = np.sort(row_numbers(others.offset) * terms + others.term)
    own = row_numbers(bags.offset) * terms + bags.term
    if not len(known):
        return np.zeros(len(own), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, own), len(known) - 1)
    found: NDArray[np.bool_] = known[places] == own
    return found


def row_keys(bags: Bags) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row's terms and counts, independent of their order."""
    bits = np.ascontiguousarray(bags.count, dtype=np.float32).view(np.uint32).astype(np.uint64)
    mixed = _mix(_mix(bags.term.astype(np.uint64)) ^ bits)
    running = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)))
    found: NDArray[np.uint64] = running[bags.offset[1:]] - running[bags.offset[:-1]]
    return found


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each value (splitmix64, Steele et al. 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Products:
    """Sparse products, some rows in each thread; scipy releases the GIL."""

    pool: ThreadPoolExecutor
    threads: int

    def rows(self, bags: Any, vectors: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 - scipy has no stubs
        """Multiply bags by vectors."""
        dense = np.ascontiguousarray(vectors)
        return np.concatenate(list(self.pool.map(lambda part: part @ dense, _parts(bags, self.threads))))

    def columns(self, bags: Any, vectors: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 - scipy has no stubs
        """Multiply the transpose of bags by vectors."""
        return self.rows(bags.T.tocsr(), vectors)


def _parts(bags: Any, count: int) -> Iterator[Any]:  # noqa: ANN401 - scipy has no stubs
    wanted = np.linspace(0, bags.indptr[-1], count + 1)[1:-1]
    cuts = [0, *np.searchsorted(bags.indptr, wanted).tolist(), bags.shape[0]]
    for begin, end in pairwise(cuts):
        low, high = bags.indptr[begin], bags.indptr[end]
        part = (bags.data[low:high], bags.indices[low:high], bags.indptr[begin : end + 1] - low)
        yield type(bags)(part, shape=(end - begin, bags.shape[1]))


Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Pooled:
    """The unit vectors of bags, with what the gradient needs."""

    weighted: Any  # the bags, each term times its weight
    unit: Floats
    length: Floats


def as_matrix(bags: Bags, terms: int) -> Any:  # noqa: ANN401 - scipy has no stubs
    """Return bags as a sparse matrix, rows × terms."""
    from scipy.sparse import csr_matrix

    return csr_matrix((bags.count, bags.term, bags.offset), shape=(len(bags.offset) - 1, terms))


def pool(bags: Any, weight: Floats, vectors: Floats, products: Products) -> Pooled:  # noqa: ANN401 - scipy has no stubs
    """Sum the vectors of each row's terms with their log-weights and scale to unit length; empty rows stay 0."""
    scaled = bags.data * np.exp(weight)[bags.indices]
    weighted = type(bags)((scaled, bags.indices, bags.indptr), shape=bags.shape)
    raw = products.rows(weighted, vectors)
    length = np.sqrt(np.einsum("id,id->i", raw, raw))[:, None]
    length[length == 0] = np.inf  # an empty row has no direction and no gradient
    return Pooled(weighted, raw / length, length)


def unpool(pooled: Pooled, slope: Floats, products: Products) -> Floats:
    """Turn a gradient by unit vectors into a gradient by the vectors of terms."""
    along = np.einsum("id,id->i", slope, pooled.unit)[:, None]
    return products.columns(pooled.weighted, (slope - pooled.unit * along) / pooled.length)
