"""Identifier-aware BM25 over fields.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf. The fields
were weighed into one count when the index was made (BM25F with one length), so a query reads one list a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.search.evidence import Values
from assay.search.question import Question
from assay.search.tables import ranges
from assay.search.view import Translated, View


class Impact(NamedTuple):
    """What terms say, and of which units."""

    unit: NDArray[np.intp]
    impact: NDArray[np.float32]


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
                scores += self._best(view.term(term), translated, view)
            else:
                _add(scores, self._impact([Translated(view.term(term), 1.0)], view))
        for term in question.joined if self.joined else ():
            _add(scores, self._impact([Translated(view.term(term), self.joined)], view))
        return scores.astype(np.float64)

    def _best(self, own: int, translated: Sequence[Translated], view: View) -> NDArray[np.float32]:
        """Score units by a term or by the best of its translations, no translation for more than the term itself."""
        rarity = view.idf(own)
        worth = [one._replace(strength=one.strength * min(1.0, rarity / view.idf(one.number))) for one in translated]
        found = np.zeros(view.units, dtype=np.float32)
        unit, impact = self._impact([Translated(own, 1.0), *worth], view)
        np.maximum.at(found, unit, impact)
        return found

    def _impact(self, terms: Sequence[Translated], view: View) -> Impact:
        """Tell what terms say of the units that hold them, one term after the other."""
        held = [one for one in terms if one.number >= 0]
        number = np.array([one.number for one in held], dtype=np.int64)
        weight = [one.strength * view.idf(one.number) * (self.k1 + 1) for one in held]
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        begin, end = postings.offset[number], postings.offset[number + 1]
        rows = slice(int(begin[0]), int(end[0])) if len(held) == 1 else ranges(begin, end)
        unit, count = postings.unit[rows].astype(np.intp), postings.count[rows]
        factor = np.array(weight, dtype=np.float32).repeat(end - begin)
        return Impact(unit, factor * count / (count + norm[unit]))


def _add(scores: NDArray[np.float32], said: Impact) -> None:
    """Add what a term says to the units it says it of."""
    scores[said.unit] += said.impact
