"""Identifier-aware BM25 over fields.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf. The fields
were weighed into one count when the index was made (BM25F with one length), so a query reads one list a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.search.evidence import Values
from assay.search.question import Question
from assay.search.view import Translated, View


class Impact(NamedTuple):
    """What a term says, and of which units; each once."""

    unit: NDArray[np.intp]
    impact: NDArray[np.float32]


_NOBODY: Final = np.zeros(0, dtype=np.intp)
_NOTHING: Final = np.zeros(0, dtype=np.float32)


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
            translated = view.translations(term, question.kind)
            if translated:
                scores += self._best(term, translated, view)
            else:
                _add(scores, self._impact(view.term(term), 1.0, view))
        for term in question.joined if self.joined else ():
            _add(scores, self._impact(view.term(term), self.joined, view))
        return scores.astype(np.float64)

    def _best(self, term: str, translated: Sequence[Translated], view: View) -> NDArray[np.float32]:
        """Score units by a term or by the best of its translations, no translation for more than the term itself."""
        found = np.zeros(view.units, dtype=np.float32)
        own = view.term(term)
        rarity = view.idf(own)
        for number, strength in translated:
            unit, impact = self._impact(number, strength * min(1.0, rarity / view.idf(number)), view)
            found[unit] = np.maximum(found[unit], impact)
        unit, impact = self._impact(own, 1.0, view)
        found[unit] = np.maximum(found[unit], impact)
        return found

    def _impact(self, number: int, weight: float, view: View) -> Impact:
        """Tell what one term says of the units that hold it."""
        if number < 0:
            return Impact(_NOBODY, _NOTHING)
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        rows = slice(*postings.offset[number : number + 2].tolist())
        unit, count = postings.unit[rows].astype(np.intp), postings.count[rows]
        return Impact(unit, np.float32(weight * view.idf(number) * (self.k1 + 1)) * count / (count + norm[unit]))


def _add(scores: NDArray[np.float32], said: Impact) -> None:
    """Add what a term says to the units it says it of."""
    scores[said.unit] += said.impact
