"""Identifier-aware BM25: how much each word of a query says for each chunk.

Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf
ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative. Words of the path count as further occurrences; the
length of a chunk is that of its content alone, so that a deep folder is no handicap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.search.chunks import IntArray
from assay.search.config import SearchConfig
from assay.search.occurrences import Counts, FloatArray, LongArray, Occurrences, merge_counts
from assay.syntax.identifiers import query_words


@dataclass(frozen=True, slots=True)
class Lexical:
    """Postings by word: the chunks that hold it, in rising order, and what it adds to the score of each."""

    numbers: Mapping[str, int]
    offset: LongArray
    chunk: IntArray
    impact: FloatArray
    chunks: int

    def score(self, query: str) -> FloatArray:
        """Score every chunk; words are joined by OR, stop words dropped, and a repeated word counts once."""
        scores = np.zeros(self.chunks)
        for word in sorted(set(query_words(query))):  # in one order, because float addition has one
            number = self.numbers.get(word)
            if number is not None:
                postings = slice(self.offset[number], self.offset[number + 1])
                scores[self.chunk[postings]] += self.impact[postings]
        return scores


def weigh(occurrences: Occurrences, config: SearchConfig) -> Lexical:
    """Turn counts into postings with their BM25 impacts."""
    chunks, terms = len(occurrences.chunks), len(occurrences.numbers)
    path = Counts(occurrences.path.key, occurrences.path.count * config.path_weight)
    merged = merge_counts([occurrences.content, path] if config.path_weight else [occurrences.content])
    word, chunk = np.divmod(merged.key, max(chunks, 1))
    holders = np.bincount(word, minlength=terms)
    idf = np.log1p((chunks - holders + 0.5) / (holders + 0.5))
    norm = config.k1 * (1 - config.b + config.b * _relative_length(occurrences.content, chunks))
    impact = idf[word] * merged.count * (config.k1 + 1) / (merged.count + norm[chunk])
    offset = np.concatenate([[0], np.cumsum(holders)])
    return Lexical(occurrences.numbers, offset, chunk.astype(np.int32), impact, chunks)


def _relative_length(content: Counts, chunks: int) -> FloatArray:
    """Give the length of each chunk in words, relative to the mean."""
    length = np.bincount(content.key % max(chunks, 1), weights=content.count, minlength=chunks)
    return np.asarray(length * (chunks / max(float(length.sum()), 1.0)), dtype=np.float64)
