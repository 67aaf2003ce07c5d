"""Products of bags and vectors on several threads; how many makes no difference to the result."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Products:
    """Each thread makes some rows of the result; scipy lets go of the interpreter's lock meanwhile."""

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
    """Cut bags into runs of rows with about as many entries each."""
    wanted = np.linspace(0, bags.indptr[-1], count + 1)[1:-1]
    cuts = [0, *np.searchsorted(bags.indptr, wanted).tolist(), bags.shape[0]]
    for begin, end in pairwise(cuts):
        low, high = bags.indptr[begin], bags.indptr[end]
        part = (bags.data[low:high], bags.indices[low:high], bags.indptr[begin : end + 1] - low)
        yield type(bags)(part, shape=(end - begin, bags.shape[1]))
