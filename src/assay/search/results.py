from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import isfinite
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.corpus.file_types import LANGUAGES
from assay.corpus.ignore import select_paths
from assay.errors import ConfigError, did_you_mean
from assay.patterns import UserPattern
from assay.records import dataclass
from assay.search.table import CHUNK_KINDS, FILE_KINDS, IndexTable, LongArray, Values
from assay.search.view import CorpusView
from assay.settings import setting
from assay.syntax.outline import LineSpan

KINDS: Final = (*FILE_KINDS, *CHUNK_KINDS)


@dataclass(frozen=True, slots=True)
class SpanGrowth:
    """Growth of a hit into adjacent chunks of the same file."""

    # .4 gives more overlap and looser spans
    neighbour: float = setting(0.6, "minimum score of adjacent chunks to add, relative to the hit; 0 to add none")
    lines: int = setting(60, "maximum lines of a hit after growth")  # about what a reader takes in at once
    # a hit of three times its chunk still overlaps it with an IoU of .3
    times: float = setting(3.0, "maximum length of a hit after growth, relative to its chunk")


@dataclass(frozen=True, slots=True)
class SpanHit:
    chunk: int
    first: int
    last: int
    lines: LineSpan | None = None


def rank_rows(scores: Values) -> LongArray:
    """Return the rows with a positive score, best first; tied rows stay in row order."""
    rows = np.flatnonzero(scores > 0)
    return rows[np.argsort(-scores[rows], kind="stable")]


def select_spans(
    scores: Values,
    view: CorpusView,
    growth: SpanGrowth,
    wanted: Mapping[int, LineSpan] = MappingProxyType({}),
    rest: Iterable[int] = (),
) -> Iterator[SpanHit]:
    """Yield disjoint spans, best first, then the chunks of `rest`, which have no score.

    `wanted` maps a chunk to the lines of the definition that the query names.
    """
    taken = np.zeros(view.chunk_count, dtype=bool)
    grows = growth.neighbour and view.disjoint
    for chunk in chain(_ranked(scores), rest):
        if taken[chunk] or (not view.disjoint and _touches(chunk, taken, view)):
            continue
        hit = _definition(chunk, wanted[chunk], taken, view, growth) if chunk in wanted and view.disjoint else None
        if hit is None:
            can_grow = grows and scores[chunk] > 0
            hit = _grow(chunk, scores, taken, view, growth) if can_grow else SpanHit(chunk, chunk, chunk)
        taken[hit.first : hit.last + 1] = True
        yield hit


def _ranked(scores: Values) -> Iterator[int]:
    """Yield rows in the order of `rank_rows`, but sort one block at a time: ten hits rarely need a second block."""
    rows = (scores > 0).nonzero()[0]
    block = 256
    while len(rows) > block:
        least = np.partition(scores[rows], len(rows) - block)[len(rows) - block]
        top = rows[scores[rows] >= least]
        yield from top[np.argsort(-scores[top], kind="stable")].tolist()
        rows = rows[scores[rows] < least]
        block *= 4
    yield from rows[np.argsort(-scores[rows], kind="stable")].tolist()


def _touches(chunk: int, taken: NDArray[np.bool_], view: CorpusView) -> bool:
    chunks = view.table.chunks
    rows = np.arange(*view.chunk_range(int(chunks.file[chunk])))
    rows = rows[taken[rows]]
    return bool(np.any((chunks.start[rows] <= chunks.end[chunk]) & (chunks.end[rows] >= chunks.start[chunk])))


def _definition(
    chunk: int, lines: LineSpan, taken: NDArray[np.bool_], view: CorpusView, growth: SpanGrowth
) -> SpanHit | None:
    chunks = view.table.chunks
    low, high = view.chunk_range(int(chunks.file[chunk]))
    first = low + int(np.searchsorted(chunks.end[low:high], lines.start))
    last = low + int(np.searchsorted(chunks.end[low:high], lines.end))
    free = last < high and not taken[first : last + 1].any()
    return SpanHit(chunk, first, last, lines) if free and lines.end - lines.start < growth.lines else None


def _grow(chunk: int, scores: Values, taken: NDArray[np.bool_], view: CorpusView, growth: SpanGrowth) -> SpanHit:
    chunks = view.table.chunks
    low, high = view.chunk_range(int(chunks.file[chunk]))
    most = min(growth.lines, int(growth.times * int(chunks.end[chunk] - chunks.start[chunk] + 1)))
    least = growth.neighbour * float(scores[chunk])
    first = last = chunk
    while True:
        sides = []
        for row, begin, stop in ((first - 1, first - 1, last), (last + 1, first, last + 1)):
            fits = low <= row < high and not taken[row] and scores[row] >= least
            if fits and chunks.end[stop] - chunks.start[begin] + 1 <= most:
                sides.append((-scores[row], row))
        if not sides:
            return SpanHit(chunk, first, last)
        row = min(sides)[1]
        first, last = min(first, row), max(last, row)


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Conditions on results; an empty tuple or None accepts every result."""

    paths: tuple[str, ...] = ()  # globs, as in a corpus: `src/**`, `*.py`
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of files (code, docs) or of chunks (function, class); `function` includes methods
    regex: str | None = None  # searched in the text of the file or span
    min_score: float | None = None

    def __post_init__(self) -> None:
        if self.min_score is not None and not isfinite(self.min_score):
            message = f"expected a finite min_score, got {self.min_score}"
            raise ConfigError(message, hint="use a number such as 0.5", keys=["min_score"])
        for language in self.languages:
            if language not in LANGUAGES:
                hint = did_you_mean(language, LANGUAGES) or "use a language such as python, go or typescript"
                raise ConfigError(f"unknown language {language!r}", hint=hint, keys=["languages"])
        for kind in self.kinds:
            if kind not in KINDS:
                raise ConfigError(f"unknown kind {kind!r}", hint=f"use one of {', '.join(KINDS)}", keys=["kinds"])
        if self.regex is not None:
            UserPattern(self.regex)

    def compile(self, table: IndexTable) -> Callable[[int, int, float, Callable[[], str]], bool]:
        globs = select_paths(self.paths) if self.paths else None
        kinds = {*self.kinds, *(["method"] if "function" in self.kinds else [])}
        pattern = UserPattern(self.regex) if self.regex is not None else None
        files = table.files

        def accepts(file: int, chunk: int, score: float, text: Callable[[], str]) -> bool:
            if self.min_score is not None and score < self.min_score:
                return False
            if globs is not None and not globs.selects(files.paths[file]):
                return False
            if self.languages and files.languages[file] not in self.languages:
                return False
            if kinds and kinds.isdisjoint({FILE_KINDS[files.kind[file]], CHUNK_KINDS[table.chunks.kind[chunk]]}):
                return False
            return pattern is None or pattern.search(text()) is not None

        return accepts
