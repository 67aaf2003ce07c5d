"""From bags of terms to vectors of length one, and the way back for gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.training.shards import Bags
from assay.training.sparse import Products

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Pooled:
    """The vectors of bags, and what the way back needs."""

    weighed: Any  # the bags, each term times its weight
    unit: Floats
    length: Floats


def as_matrix(bags: Bags, terms: int) -> Any:  # noqa: ANN401 - scipy has no stubs
    """Write bags as a sparse matrix, rows x terms."""
    from scipy.sparse import csr_matrix

    return csr_matrix((bags.count, bags.term, bags.offset), shape=(len(bags.offset) - 1, terms))


def pool(bags: Any, weight: Floats, vectors: Floats, products: Products) -> Pooled:  # noqa: ANN401 - scipy has no stubs
    """Add up the vectors of each row's terms by their log-weights, to length one; nothing stays nothing."""
    scaled = bags.data * np.exp(weight)[bags.indices]
    weighed = type(bags)((scaled, bags.indices, bags.indptr), shape=bags.shape)
    raw = products.rows(weighed, vectors)
    length = np.sqrt(np.einsum("id,id->i", raw, raw))[:, None]
    length[length == 0] = np.inf  # nothing has no direction, and no slope either
    return Pooled(weighed, raw / length, length)


def unpool(pooled: Pooled, slope: Floats, products: Products) -> Floats:
    """Take a slope by unit vectors back to a slope by the vectors of terms."""
    along = np.einsum("id,id->i", slope, pooled.unit)[:, None]
    return products.columns(pooled.weighed, (slope - pooled.unit * along) / pooled.length)
