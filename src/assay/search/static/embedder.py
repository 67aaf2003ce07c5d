"""Texts and units to vectors, by the words that are in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.search.dense.embedders import Role
from assay.search.dense.matrices import unit_rows
from assay.search.question import ask
from assay.search.static.model import Hashes, Matrix, Rows, StaticModel
from assay.search.tables import LongArray, Postings, offsets
from assay.search.words import runs, term_hash, terms

#: Words added up at a time: 2,048 rows of 256 numbers are 2 MB, which stay in a core's second cache.
_BLOCK: Final = 2_048


@dataclass(frozen=True, slots=True)
class StaticEmbedder:
    """A text is the sum of its words' vectors, each by its weight and the root of how often it stands there."""

    model: StaticModel

    @property
    def identity(self) -> str:
        """The model's."""
        return self.model.identity

    @property
    def dimension(self) -> int:
        """Numbers of one vector."""
        return self.model.dimension

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Add up the words of each text."""
        if role == "query":
            rows = np.empty((len(texts), self.dimension), dtype=np.float32)
            for row, text in enumerate(texts):
                rows[row] = self._asked(ask(text).terms)
            return rows
        return unit_rows(self.sum_texts(texts))

    def _asked(self, words: Sequence[str]) -> Matrix:
        """Add up the words of one query: there are few, and what is quick for thousands of units takes 0.1 ms here."""
        row = self.model.rows(np.array([term_hash(word) for word in words], np.uint64))
        row = row[row >= 0]
        factor = self.model.asked[row] * self.model.scale[row]
        total = (self.model.vector[row] * factor[:, None]).sum(axis=0)
        length = np.sqrt(np.vecdot(total, total))
        return np.asarray(total / length if length > 0 else total, dtype=np.float32)

    def sum_texts(self, texts: Sequence[str]) -> Matrix:
        """Add up the words of texts of code, whatever length that has."""
        bags = [Counter(term for run in runs(text) for term in terms(run)) for text in texts]
        spelled = np.fromiter((term_hash(term) for bag in bags for term in bag), np.uint64)
        counts = np.fromiter((count for bag in bags for count in bag.values()), np.float32)
        return self._summed(offsets(np.array([len(bag) for bag in bags], np.int64)), spelled, counts)

    def sum_units(self, postings: Postings, wanted: LongArray) -> Matrix:
        """Add up the words of units, named by rising number, from the index alone: no text is read."""
        place = np.full(max(int(postings.unit.max(initial=0)), int(wanted.max(initial=0))) + 1, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        row = place[postings.unit]
        rows = np.flatnonzero(row >= 0)
        rows = rows[row[rows].argsort(kind="stable")]
        held = offsets(np.bincount(row[rows], minlength=len(wanted)).astype(np.int64))
        term = np.repeat(postings.term, np.diff(postings.offset))[rows]
        return self._summed(held, term, postings.count[rows])

    def _summed(self, begin: LongArray, term: Hashes, count: Matrix) -> Matrix:
        """Add up the known words of each bag; one without any is zero."""
        row = self.model.rows(term)
        known = row >= 0
        owner = np.repeat(np.arange(len(begin) - 1), np.diff(begin))[known]
        row = row[known]
        return self._sums(owner, row, np.sqrt(count[known]) * self.model.said[row], len(begin) - 1)

    def _sums(self, owner: LongArray, row: Rows, factor: Matrix, bags: int) -> Matrix:
        """Add up weighted rows by owner, which rise; in blocks that end where an owner does."""
        sums = np.zeros((bags, self.dimension), dtype=np.float32)
        scaled = factor * self.model.scale[row]
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        for part in _blocks(first, len(owner)):
            rows = slice(int(first[part.start]), int(first[part.stop]) if part.stop < len(first) else len(owner))
            vectors = self.model.vector[row[rows]] * scaled[rows, None]
            sums[owner[first[part]]] = np.add.reduceat(vectors, first[part] - rows.start, axis=0)
        return sums


def _blocks(first: NDArray[np.int64], total: int) -> list[slice]:
    """Cut groups, given by where each begins, into runs of about a block of rows."""
    if not len(first):
        return []
    cuts = np.searchsorted(first, np.arange(0, total, _BLOCK))
    edges = np.unique(np.append(cuts, len(first))).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]
