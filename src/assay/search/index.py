"""The index of one corpus, and the one function that answers a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from assay.corpus import open_corpus, read_text
from assay.search.chunks import Chunks, IntArray
from assay.search.config import SearchConfig
from assay.search.lexical import Lexical, weigh
from assay.search.occurrences import Document, FloatArray, LongArray, count_words
from assay.types import Corpus, CorpusSpec, Hit

Per = Literal["file", "span"]


@dataclass(frozen=True, slots=True)
class Index:
    """A corpus ready to be searched.

    Owns these laws: the top 5 are a prefix of the top 10; k distinct results whenever so many match; the same answer
    on every run and hash seed. Order is score, then path, then start.
    """

    config: SearchConfig
    chunks: Chunks
    lexical: Lexical

    @classmethod
    def build(cls, source: Corpus | str | Path, config: SearchConfig | None = None) -> Index:
        """Index a corpus or a folder from its source; no cache is read or written."""
        corpus = source if isinstance(source, Corpus) else open_corpus(CorpusSpec("path", str(source)))
        config = config or SearchConfig()
        occurrences = count_words(_documents(corpus), config)
        return cls(config, occurrences.chunks, weigh(occurrences, config))

    def search(self, query: str, k: int = 10, *, per: Per = "file") -> tuple[Hit, ...]:
        """Give the k best files, each with its best chunk's lines, or the k best spans, none touching another."""
        scores = self.lexical.score(query)
        return self._best_files(scores, k) if per == "file" else self._best_spans(scores, k)

    def _best_files(self, scores: FloatArray, k: int) -> tuple[Hit, ...]:
        """Add up the best chunks of each file and rank the files."""
        order = _ranked(scores, np.flatnonzero(scores))
        order = order[np.argsort(self.chunks.file[order], kind="stable")]
        runs = _runs(self.chunks.file[order])
        decay = np.where(runs.nth < self.config.file_chunks, self.config.file_decay ** runs.nth.astype(np.float64), 0.0)
        totals = np.add.reduceat(scores[order] * decay, runs.first) if len(order) else scores[:0]
        best = _ranked(totals, np.arange(len(totals)), k)  # rows are in path order
        return tuple(self._hit(order[runs.first[row]], totals[row]) for row in best)

    def _best_spans(self, scores: FloatArray, k: int) -> tuple[Hit, ...]:
        """Walk the chunks from the best on and leave out what shares a line with a better one."""
        reach = (self.config.window - 1) // self.config.stride if self.config.window else 0
        # A span can shut out `reach` neighbours on either side, so this many hold k that are apart.
        candidates = _ranked(scores, np.flatnonzero(scores), k * (2 * reach + 1))
        taken: set[int] = set()
        hits: list[Hit] = []
        for chunk in candidates.tolist():
            if not any(self._touch(chunk, near) for near in sorted(taken & _around(chunk, reach))):
                taken.add(chunk)
                hits.append(self._hit(chunk, scores[chunk]))
        return tuple(hits[:k])

    def _touch(self, one: int, other: int) -> bool:
        """Tell whether two chunks share a line."""
        chunks = self.chunks
        if chunks.file[one] != chunks.file[other]:
            return False
        return bool(chunks.start[one] <= chunks.end[other] and chunks.start[other] <= chunks.end[one])

    def _hit(self, chunk: int, score: float) -> Hit:
        """Name a chunk; an empty file has no lines to name."""
        path = self.chunks.paths[self.chunks.file[chunk]]
        start, end = int(self.chunks.start[chunk]), int(self.chunks.end[chunk])
        return Hit(path, start, end, float(score)) if end >= start else Hit(path, score=float(score))


def _documents(corpus: Corpus) -> Iterator[Document]:
    """Read the files of a corpus in path order."""
    for file in sorted(corpus.files, key=lambda file: file.path):
        yield Document(file.path, read_text(corpus, file.path))


def _ranked(scores: FloatArray, rows: LongArray, k: int | None = None) -> LongArray:
    """Order rows by score, best first, ties by row; only the first k when given."""
    if k is not None and 0 < k < len(rows):
        threshold = np.partition(scores[rows], len(rows) - k)[len(rows) - k]
        rows = rows[scores[rows] >= threshold]
    ranked: LongArray = rows[np.argsort(-scores[rows], kind="stable")]
    return ranked if k is None else ranked[: max(k, 0)]


@dataclass(frozen=True, slots=True)
class _Runs:
    """Where runs of equal values begin, and the position of each element in its run."""

    first: LongArray
    nth: LongArray


def _runs(values: IntArray) -> _Runs:
    """Find the runs of equal values."""
    first = np.flatnonzero(np.diff(values, prepend=-1))
    nth = np.arange(len(values)) - np.repeat(first, np.diff(first, append=len(values)))
    return _Runs(first, nth)


def _around(chunk: int, reach: int) -> set[int]:
    """List the chunk numbers that may overlap a chunk."""
    return set(range(chunk - reach, chunk + reach + 1))
