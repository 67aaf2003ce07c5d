"""Identifier-aware BM25 over fields.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf. The fields
were weighed into one count when the index was made (BM25F with one length), so a query reads one list a word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.search.evidence import Values
from assay.search.question import Question
from assay.search.view import View


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
        scores = np.zeros(view.units, dtype=np.float32)
        for term in question.terms:  # in the order of the query: float addition has one
            self._add(scores, term, 1.0, view)
        for term in question.joined if self.joined else ():
            self._add(scores, term, self.joined, view)
        return scores.astype(np.float64)

    def _add(self, scores: NDArray[np.float32], term: str, weight: float, view: View) -> None:
        """Add what one term says to the units that hold it."""
        number = view.term(term)
        if number < 0:
            return
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        rows = slice(*postings.offset[number : number + 2].tolist())
        unit, count = postings.unit[rows].astype(np.intp), postings.count[rows]
        impact = np.float32(weight * view.idf(number) * (self.k1 + 1)) * count / (count + norm[unit])
        impact += scores[unit]
        scores[unit] = impact
