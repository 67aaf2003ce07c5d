"""What everybody writes first: BM25 over 50-line windows, a file as good as its best window. The ledger starts here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from assay.corpus import read_text
from assay.search.query import find_words, word_terms
from assay.syntax.identifiers import STOP_WORDS, words
from assay.types import Corpus, Hit

if TYPE_CHECKING:
    from assay.types import FloatArray

Tokens = Callable[[str], Sequence[str]]
_WORD = re.compile(r"\w+")


def _plain(text: str) -> list[str]:
    """Whole words, lower-cased: parseRequest is one."""
    return [word.lower() for word in _WORD.findall(text)]


def _stemmed(text: str) -> list[str]:
    """The terms of the reference engine: roots of parts, and compounds."""
    return [term for run in find_words(text) for term in word_terms(run)]


#: How a text becomes terms, from what everybody does to what the reference engine does.
TOKENS: Final[Mapping[str, Tokens]] = MappingProxyType({"words": _plain, "parts": words, "roots": _stemmed})


@dataclass(frozen=True, slots=True)
class PlainEngine:
    """BM25 with textbook constants."""

    tokens: str
    window: int = 50  # lines
    k1: float = 1.2
    b: float = 0.75

    @property
    def config(self) -> Mapping[str, object]:
        """Everything there is to set."""
        return {"kind": "plain", "tokens": self.tokens, "window": self.window, "k1": self.k1, "b": self.b}

    def open(self, corpus: Corpus) -> PlainSession:
        """Count the terms of every window."""
        return PlainSession(self, corpus)


class PlainSession:
    """Counted windows."""

    def __init__(self, engine: PlainEngine, corpus: Corpus) -> None:
        """Cut and count."""
        self._tokens = TOKENS[engine.tokens]
        self._windows: list[Hit] = []
        counted: dict[str, list[tuple[int, int]]] = {}
        lengths = []
        for file in corpus.files:
            lines = read_text(corpus, file.path).split("\n")
            for start in range(0, len(lines), engine.window):
                counts = Counter(self._tokens("\n".join(lines[start : start + engine.window])))
                for term, count in counts.items():
                    counted.setdefault(term, []).append((len(self._windows), count))
                lengths.append(counts.total())
                self._windows.append(Hit(file.path, start + 1, min(start + engine.window, len(lines))))
        length = np.array(lengths, dtype=np.float64)
        self._norm: FloatArray = engine.k1 * (1 - engine.b + engine.b * length / max(length.mean(), 1.0))
        self._counted = {term: np.array(pairs, dtype=np.int64).T for term, pairs in counted.items()}
        self._k1 = engine.k1

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Give the files of the best windows."""
        scores = self._scores(query)
        best: dict[str, Hit] = {}
        for at in np.argsort(-scores, kind="stable").tolist():
            if scores[at] <= 0 or len(best) == k:
                break
            best.setdefault(self._windows[at].path, self._windows[at])
        return tuple(best.values())

    def _scores(self, query: str) -> FloatArray:
        """Score every window."""
        telling = [word for word in _WORD.findall(query) if word.lower() not in STOP_WORDS]
        scores = np.zeros(len(self._windows))
        for term in dict.fromkeys(self._tokens(" ".join(telling) or query)):
            found = self._counted.get(term)
            if found is not None:
                at, count = found
                idf = np.log1p((len(scores) - len(at) + 0.5) / (len(at) + 0.5))
                scores[at] += idf * (self._k1 + 1) * count / (count + self._norm[at])
        return scores

    def close(self) -> None:
        """Have nothing to close."""
