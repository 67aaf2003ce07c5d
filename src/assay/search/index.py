"""The index of one corpus: built, opened, refreshed, and asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

from assay.corpus import open_corpus, parse_spec
from assay.corpus.languages import language_name
from assay.errors import ConfigError
from assay.search.building import build_table, open_table, update
from assay.search.config import SearchConfig
from assay.search.evidence import Values
from assay.search.filters import Filter, unit_text
from assay.search.meaning import DenseScores, embed_table
from assay.search.models import RerankSettings
from assay.search.pipeline import rank, rank_inside, retrieve
from assay.search.query import ParsedQuery, Per, make_translator, parse_query
from assay.search.related import Related, find_related
from assay.search.results import SpanHit, order_of, select_spans
from assay.search.table import IndexTable
from assay.search.trace import LostFile, StageTrace, Trace, find_lost_stage
from assay.search.view import CorpusView
from assay.types import Corpus, Hit, SkippedFile

if TYPE_CHECKING:
    from assay.search.rerank import Reranker


def _listed(values: Sequence[str] | None) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values or ())


@dataclass(frozen=True, slots=True)
class _Found:
    """A result before it is named: units first..last are what a filter looks into."""

    hit: SpanHit
    file: int
    first: int
    last: int
    score: float


@dataclass(frozen=True, slots=True)
class Index:
    """A corpus that can be asked; it answers the same on every run, and never changes once made."""

    root: Path
    config: SearchConfig
    table: IndexTable = field(repr=False)
    view: CorpusView = field(repr=False, compare=False)
    skipped: tuple[SkippedFile, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    reranker: Reranker | None = field(default=None, repr=False, compare=False)

    @classmethod
    def build(
        cls, source: str | Path | Corpus, config: SearchConfig | None = None, *, workers: int | None = None
    ) -> Self:
        """Build from source; no cache is read or written."""
        corpus = source if isinstance(source, Corpus) else open_corpus(parse_spec(str(source)))
        config = config or SearchConfig()
        table = build_table(corpus, corpus.files, config.index, workers)
        return cls._of(corpus, table, config, embed_table(table, config.dense, None))

    @classmethod
    def open(cls, path: str | Path, config: SearchConfig | None = None, *, workers: int | None = None) -> Self:
        """Open the index of a folder from the cache, brought up to date first; made if there is none."""
        config = config or SearchConfig()
        opened = open_table(Path(path), config.index, workers)
        dense = embed_table(opened.table, config.dense, opened.folder)
        return cls._of(opened.corpus, opened.table, config, dense, opened.notes)

    def updated(self, corpus: Corpus) -> Self:
        """Give the index of the same folder after files changed; only those are analysed again, no cache is kept."""
        table, _ = update(self.table, corpus, self.config.index)
        return self._of(corpus, table, self.config, embed_table(table, self.config.dense, None))

    @classmethod
    def _of(
        cls,
        corpus: Corpus,
        table: IndexTable,
        config: SearchConfig,
        dense: DenseScores | None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        return cls.around(
            corpus, CorpusView(table, config.graph, dense, make_translator(config.translation)), config, notes
        )

    @classmethod
    def around(cls, corpus: Corpus, view: CorpusView, config: SearchConfig, notes: tuple[str, ...] = ()) -> Self:
        """Put an index around a view of a corpus that was made with these settings."""
        reranker = _make_reranker(config.rerank)
        return cls(corpus.root, config, view.table, view, corpus.skipped, (*corpus.notes, *notes), reranker)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        per: Per = "file",
        paths: Sequence[str] | None = None,
        languages: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        regex: str | None = None,
        min_score: float | None = None,
    ) -> tuple[Hit, ...]:
        """Give the k best files, each with its best unit's lines, or the k best spans, none touching another."""
        if per not in ("file", "span"):
            raise ConfigError(f"per = {per!r}", hint="results are per 'file' or per 'span'")
        if k < 0:
            raise ConfigError(f"k = {k}", hint="ask for 0 results or more")
        named = tuple(language_name(name) for name in _listed(languages))
        wanted = Filter(_listed(paths), named, _listed(kinds), regex, min_score)
        return tuple(islice(self.matches(query, per=per, wanted=wanted), k))

    def matches(self, query: str, *, per: Per = "file", wanted: Filter | None = None) -> Iterator[Hit]:
        """Give every match, ranked, one at a time."""
        sieve = (wanted or Filter()).compiled(self.table)
        seen = retrieve(parse_query(query), self.view, self.config, per)
        scores = rank(seen, self.config, per)
        found = (
            self._files(scores, rank_inside(seen, self.config)) if per == "file" else self._spans(scores, seen.question)
        )
        for one in self._reordered(query, found):
            if sieve.passes(one.file, one.hit.unit, one.score, partial(self._searched, one, per)):
                yield self._hit(one.hit, one.score)

    def _searched(self, found: _Found, per: Per) -> str:
        if per == "file":
            return unit_text(self.table, found.file, found.first, found.last)
        return self._hit(found.hit, found.score).snippet or ""

    def _files(self, scores: Values, units: Values) -> Iterator[_Found]:
        for file in order_of(scores).tolist():
            first, stop = self.view.first_unit[file : file + 2].tolist()
            unit = first + int(units[first:stop].argmax())
            yield _Found(SpanHit(unit, unit, unit), file, first, stop - 1, float(scores[file]))

    def _spans(self, scores: Values, question: ParsedQuery) -> Iterator[_Found]:
        asked = self.view.definitions(question.symbol, question.name) if question.symbol is not None else {}
        for hit in select_spans(scores, self.view, self.config.growth, asked):
            file = int(self.table.units.file[hit.unit])
            yield _Found(hit, file, hit.first, hit.last, float(scores[hit.unit]))

    def _reordered(self, query: str, found: Iterator[_Found]) -> Iterator[_Found]:
        if self.reranker is None:
            yield from found
            return
        from assay.search.rerank import RerankPassage, rerank

        depth = self.config.rerank.depth
        head = list(islice(found, depth))
        hits = [self._hit(one.hit, one.score) for one in head]
        passages = [RerankPassage(hit.path, hit.start or 1, hit.end or 1, hit.snippet or "") for hit in hits]
        places = rerank(query, passages, [-float(place) for place in range(len(head))], self.reranker, depth)
        yield from (head[place] for place in places)
        yield from found

    def _hit(self, found: SpanHit, score: float) -> Hit:
        units = self.table.units
        file = int(units.file[found.unit])
        path = self.table.files.paths[file]
        first, last = int(units.start[found.first]), int(units.end[found.last])
        if last < first:
            return Hit(path, score=score)
        text = unit_text(self.table, file, found.first, found.last)
        if found.lines is None:
            return Hit(path, first, last, score, text)
        start, end = found.lines.start, found.lines.end
        shown = text.split("\n")[start - first : end - first + 1]
        return Hit(path, start, end, score, "\n".join(shown) + "\n")

    def explain(
        self, query: str, *, per: Per = "file", k: int = 10, expect: str | Sequence[str] | None = None
    ) -> Trace:
        """Follow the k best candidates, and those of expected files, through every stage.

        A model that orders the first results anew is no stage: it shows in the hits alone.
        """
        shown: list[StageTrace] = []
        seen = retrieve(parse_query(query), self.view, self.config, per)
        scores = rank(seen, self.config, per, lambda name, values: shown.append(StageTrace(name, values)))
        hits = self.search(query, k, per=per)
        wanted = [row for path in _listed(expect) for row in self.rows_of(path, per)]
        expected = sorted(wanted, key=lambda row: (-scores[row], row))
        rows = list(dict.fromkeys(order_of(scores)[:k].tolist() + [row for row in expected if scores[row] > 0][:k]))
        labels = tuple(self._label(row, per, float(scores[row])) for row in rows)
        return Trace(seen.question, per, tuple(shown), labels, tuple(rows), hits)

    def lost(self, query: str, path: str, *, per: Per = "file", k: int = 10) -> LostFile:
        """Say at which stage an expected file left the first k."""
        return find_lost_stage(self.explain(query, per=per, k=k), self.rows_of(path, per), path, k)

    def related(self, path: str, line: int, k: int = 10) -> Related:
        """Find what the unit at a line uses, what uses it, and what speaks of the same things."""
        return find_related(self, path, line, k)

    def rows_of(self, path: str, per: Per) -> list[int]:
        """List where a file, or its units, stand in the scores."""
        if path not in self.table.files.paths:
            return []
        file = self.table.files.paths.index(path)
        return [file] if per == "file" else list(range(self.view.first_unit[file], self.view.first_unit[file + 1]))

    def _label(self, row: int, per: Per, score: float) -> Hit:
        if per == "file":
            return Hit(self.table.files.paths[row], score=score)
        units = self.table.units
        return Hit(self.table.files.paths[units.file[row]], int(units.start[row]), int(units.end[row]), score)


def _make_reranker(settings: RerankSettings) -> Reranker | None:
    if not settings.model:
        return None
    from assay.search.rerank import make_reranker

    return make_reranker(settings.model, token_env=settings.token_env or None)
