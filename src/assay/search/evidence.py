"""What speaks for each unit and file of a corpus, for one query; signals read it and add their say."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.search.names import Matches, NameIndex, Prefixes
from assay.search.query import ParsedQuery, Per
from assay.search.table import LongArray
from assay.search.view import CorpusView

T = TypeVar("T")
Values = NDArray[np.float64]


class QueryFeatures:
    """A question put to a view, and how well each unit matches it."""

    def __init__(
        self,
        question: ParsedQuery,
        view: CorpusView,
        units: Values,
        coherence: Values,
        words: Values,
        basis: Hashable = None,
    ) -> None:
        self.basis = basis  # the settings that decide how well each unit matches
        self.question = question
        self.view = view
        self.words = words  # how well the words of each unit match, relative to the best
        self.units = units  # how well each unit matches, by words and by meaning, relative to the best
        self.coherence = coherence  # how well the units of each file match together, relative to the best
        self.per: Per = "file"
        self._names: dict[tuple[int, Prefixes], Matches] = {}

    def weight(self, files: float, spans: float) -> float:
        """Choose the weight that fits what is ranked."""
        return files if self.per == "file" else spans

    def of_files(self, values: Values) -> Values:
        """Turn values of files into values of what is ranked."""
        return values if self.per == "file" else values[self.view.table.units.file]

    @cached_property
    def matched(self) -> NDArray[np.bool_]:
        """Which units match at all."""
        return np.asarray(self.units > 0)

    @cached_property
    def word_weights(self) -> Values:
        """How telling each word of the query is."""
        return np.array([self.view.idf(self.view.term(word)) for word in self.question.words])

    def names(self, index: NameIndex, prefixes: Prefixes) -> Matches:
        """Match the words of the query with names, once."""
        key = (id(index), prefixes)
        if key not in self._names:
            self._names[key] = self.recall(("names", *key), partial(index.match, self.question.words, prefixes))
        return self._names[key]

    def recall(self, key: Hashable, make: Callable[[], T]) -> T:
        """Compute something for this question, or take it from who did with other settings; `key` decides it."""
        return self.view.recall(self.question.text, key, make)


def best(owner: LongArray | NDArray[np.int32], values: Values, size: int) -> Values:
    """Give each owner the best of its values."""
    found = np.zeros(size)
    np.maximum.at(found, owner, values)
    return found


def relative(values: Values) -> Values:
    """Divide by the largest value, so that the best has 1."""
    most = float(values.max()) if len(values) else 0.0
    return values / most if most > 0 else values
