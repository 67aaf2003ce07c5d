"""Identifier-aware BM25 over fields.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf. The fields
were weighed into one count when the index was made (BM25F with one length), so a query reads one list a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.search.evidence import Values
from assay.search.question import Question
from assay.search.tables import ranges
from assay.search.view import Lookup, View

#: Numbers that terms and units may take up at a time: 16 MB. A question has a dozen terms, a pasted page hundreds.
_ROOM: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Lexical:
    """Score units by the words they share with a query; words are joined by OR."""

    k1: float = field(
        default=1.2,  # 0.9 to 1.6 are flat within .005 on spans
        metadata={"about": "BM25's term saturation"},
    )
    b: float = field(
        default=0.6,  # 0.4 to 0.75 are flat; high values hurt documentation, low ones short functions
        metadata={"about": "BM25's length normalisation, 0 to 1"},
    )

    joined: float = field(
        default=0.5,  # half a word: the pair may mean nothing. +.002 on files, nothing lost on spans
        metadata={"about": "weight of two neighbouring words of the query as one"},
    )

    def __call__(self, question: Question, view: View) -> Values:
        """Score every unit."""
        wanted = [view.lookup(term, question.kind) for term in question.terms]
        if self.joined:
            pairs = (view.lookup(term, None) for term in question.joined)
            wanted += [pair._replace(worth=pair.worth * np.float32(self.joined)) for pair in pairs]
        scores = np.zeros(view.units, dtype=np.float32)
        size = max(1, _ROOM // max(view.units, 1))
        for start in range(0, len(wanted), size):  # in the order of the query: float addition has one
            scores += self._summed(wanted[start : start + size], view)
        return scores.astype(np.float64)

    def _summed(self, wanted: Sequence[Lookup], view: View) -> NDArray[np.float32]:
        """Add up what terms say of each unit; of a term and its translations only the one that says most."""
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        number = np.concatenate([one.number for one in wanted])
        worth = np.concatenate([one.worth for one in wanted]) * np.float32(self.k1 + 1)
        term = np.arange(len(wanted)).repeat([len(one.number) for one in wanted])
        begin, end = postings.offset[number], postings.offset[number + 1]
        rows = ranges(begin, end)
        unit, count = postings.unit[rows].astype(np.intp), postings.count[rows]
        impact = worth.repeat(end - begin) * count / (count + norm[unit])
        most = np.zeros(len(wanted) * view.units, dtype=np.float32)
        np.maximum.at(most, term.repeat(end - begin) * view.units + unit, impact)
        return np.asarray(most.reshape(len(wanted), view.units).sum(axis=0))
