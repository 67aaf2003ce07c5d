"""How near in meaning is each unit to a query? Asked once of files, twice of spans."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.search.memo import Memo
from assay.search.models import DenseSettings, Feedback
from assay.search.question import Per, QueryKind
from assay.search.tables import LongArray

if TYPE_CHECKING:
    from assay.search.dense import Embedder, Vectors
    from assay.search.static import PathWords

Values = NDArray[np.float64]
Vector = NDArray[np.float32]

#: How many times `reach` units are compared again with a query that learned from its first results: the nearest of the
#: moved query are among them.
_AGAIN: Final = 4


@dataclass(frozen=True, slots=True)
class Meaning:
    """Units, all or those that a model of their own reads, with their vectors."""

    embedder: Embedder
    rows: LongArray
    vectors: Vectors
    paths: PathWords | None = None  # what their files are called, where the model tells it apart

    def ask(self, query: str) -> Vector:
        """Embed a query."""
        return np.asarray(self.embedder.embed([readable(query)], "query")[0])

    def near(self, query: Vector, per: Per) -> Vector:
        """Compare a query with every unit: 1 for the same direction."""
        found = self.vectors.scores(query)
        return self.paths(found, query) if per == "file" and self.paths else found

    def ask_again(self, query: Vector, found: Values, feedback: Feedback) -> Vector:
        """Move a query towards what it found first (Rocchio, 1971), which says in the corpus' words what is meant."""
        from assay.search.dense.matrices import best_rows

        first = best_rows(found, feedback.units)
        said = (self.vectors.rows.vectors(first) * found[first, None]).sum(axis=0, dtype=np.float64)
        return _unit(query + feedback.weight * _unit(said))

    def near_again(self, query: Vector, near: Vector, most: int) -> Vector:
        """Compare a query that was moved a little with the units that were nearest before; a second scan costs more."""
        from assay.search.dense.matrices import best_rows

        if most >= len(near):
            return self.vectors.rows.scores(query, slice(None))
        rows = best_rows(near, most)
        found = np.full(len(near), -1, dtype=np.float32)
        found[rows] = self.vectors.rows.scores(query, rows)
        return found


def _unit(vector: NDArray[Any]) -> Vector:
    """Scale a vector to length one; nothing stays nothing."""
    length = float(np.sqrt(np.vecdot(vector, vector)))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def _scaled(near: Vector, reach: int) -> Values:
    """Give the nearest unit 1 and all but the `reach` nearest 0.

    What lies far away is noise, and there is more of it the larger the corpus: it must not set the scale.
    """
    last = max(len(near) - reach, 0)
    low, high = max(float(np.partition(near, last)[last]), 0.0), float(near.max())
    if high <= low:  # all alike, just the nearest wanted, or nothing that points the same way
        return np.asarray((near >= high) & (high > 0), dtype=np.float64)
    return np.clip((near.astype(np.float64) - low) / (high - low), 0.0, 1.0)


class _Look(NamedTuple):
    """What one model says of a query at first sight."""

    query: Vector
    near: Vector
    found: Values


@dataclass(frozen=True, slots=True)
class Dense:
    """How near in meaning each unit is to a query."""

    settings: DenseSettings
    parts: tuple[Meaning, ...]
    units: int
    memo: Memo | None = None  # of what other settings found out about the same question

    def weight(self, kind: QueryKind, per: Per) -> float:
        """Choose the weight by the kind of the query and by what is ranked."""
        settings = self.settings
        plain = {"symbol": settings.symbol, "keywords": settings.keywords, "language": settings.language}[kind]
        return plain * settings.files if per == "file" else plain

    def __call__(self, query: str, per: Per, words: Values, weight: float) -> Values:
        """Score every unit from 0 to 1, those of each model apart: what two models say cannot be compared.

        `words` is how well the words of each unit match; with it, the first results are found that a query learns from.
        """
        scores = np.zeros(self.units)
        for part in self.parts:
            scores[part.rows] = self._scores(part, query, per, words[part.rows], weight)
        return scores

    def _scores(self, part: Meaning, query: str, per: Per, words: Values, weight: float) -> Values:
        """Ask one model, when spans are ranked twice: of files, several units speak together already."""
        look, feedback = self._seen(part, query, per), self.settings.feedback
        if per == "file" or not feedback.weight or not look.found.any():
            return look.found
        again = part.ask_again(look.query, self.settings.words * words + weight * look.found, feedback)
        return _scaled(part.near_again(again, look.near, _AGAIN * self.settings.reach), self.settings.reach)

    def _seen(self, part: Meaning, query: str, per: Per) -> _Look:
        """Take a first look, or recall that of other settings which shared the model and the reach."""
        if self.memo is None:
            return self._look(part, query, per)
        return self.memo.of(query, ("look", id(part), per, self.settings.reach), partial(self._look, part, query, per))

    def _look(self, part: Meaning, query: str, per: Per) -> _Look:
        """Ask one model once."""
        vector = part.ask(query)
        if not len(part.rows) or not self.settings.reach or not vector.any():
            return _Look(vector, vector[:0], np.zeros(len(part.rows)))
        near = part.near(vector, per)
        return _Look(vector, near, _scaled(near, self.settings.reach))


def readable(text: str) -> str:
    """Replace halves of characters, as an undecodable path or a broken terminal gives them: tokenizers refuse them."""
    return text.encode("utf-8", "replace").decode("utf-8")
