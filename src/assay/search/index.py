"""The index of a corpus, and its ranking pipeline: lexical and dense retrieval, fusion, then the signals in order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from assay.corpus import open_corpus, parse_spec
from assay.corpus.file_types import language_name
from assay.errors import ConfigError
from assay.records import dataclass
from assay.search.building import build_table, open_table, timeout_notes, update_table
from assay.search.config import STAGES, FilterSettings, SearchConfig
from assay.search.dense import embed_table, parse_fusion
from assay.search.query import ParsedQuery, Per, parse_query
from assay.search.related import Related, find_related
from assay.search.results import ResultFilter, SpanHit, rank_rows, select_spans
from assay.search.signals import QueryFeatures, max_by_owner, scale_to_max
from assay.search.table import IndexTable, Values, chunk_text
from assay.search.trace import LostFile, StageTrace, Trace, find_lost_stage, is_tracing
from assay.search.view import CorpusView, make_translator
from assay.types import Corpus, Hit, SkippedFile

if TYPE_CHECKING:
    from assay.search.rerank import Reranker

Signal = Callable[[Values, QueryFeatures], Values]
StageObserver = Callable[[str, Values], None]
#: Signals that rank the chunks of one file. The others are equal within a file, or too slow for their small effect.
_INSIDE: Final = frozenset({"definition", "identifier", "gaps"})
_NO_FILTER: Final = FilterSettings()
_ANY_RESULT: Final = ResultFilter()
#: Minimum score of a match: fusion may give the last match 0, like chunks that do not match.
_LEAST: Final = 1e-9


class _RankedSpan(NamedTuple):
    span: SpanHit
    file: int
    score: float


@dataclass(frozen=True, slots=True)
class Index:
    """An immutable index of a corpus."""

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
        """Build the index of a corpus in memory; no stored index is read or written."""
        corpus = source if isinstance(source, Corpus) else open_corpus(parse_spec(str(source)))
        config = config or SearchConfig()
        table = build_table(corpus, corpus.files, config.index, workers)
        return cls._of(corpus, table, config, None)

    @classmethod
    def open(cls, path: str | Path, config: SearchConfig | None = None, *, workers: int | None = None) -> Self:
        """Open the cached index of a directory, building or refreshing it if needed."""
        config = config or SearchConfig()
        opened = open_table(Path(path), config.index, workers)
        return cls._of(opened.corpus, opened.table, config, opened.directory, opened.notes)

    def updated(self, corpus: Corpus) -> Self:
        """Return an in-memory index of the changed corpus; only changed files are analyzed again."""
        table, _ = update_table(self.table, corpus, self.config.index)
        return self._of(corpus, table, self.config, None)

    @classmethod
    def _of(
        cls,
        corpus: Corpus,
        table: IndexTable,
        config: SearchConfig,
        directory: Path | None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        dense, encoder = embed_table(table, config.dense, directory), None
        if config.dense.encoder:
            from assay.search.encoder import make_encoder

            encoder = make_encoder(config, table, directory)
        view = CorpusView(table, config.graph, dense, make_translator(config.translation), encoder=encoder)
        return cls.around(corpus, view, config, notes)

    @classmethod
    def around(cls, corpus: Corpus, view: CorpusView, config: SearchConfig, notes: tuple[str, ...] = ()) -> Self:
        """Return an index that uses an existing view, which must have been created with the same settings."""
        reranker = None
        if config.rerank.model:
            from assay.search.rerank import make_reranker

            reranker = make_reranker(config.rerank.model, token_env=config.rerank.token_env or None)
        notes = (*corpus.notes, *notes, *timeout_notes(view.table))
        return cls(corpus.root, config, view.table, view, corpus.skipped, notes, reranker)

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
        pad: bool = True,
    ) -> tuple[Hit, ...]:
        """Return the `k` best files (with the lines of the best chunk) or disjoint spans that pass the filters.

        If fewer than `k` match and `pad` is set, others follow, the most similar first; their score is 0 or less: the
        cosine similarity to the query minus 1.
        """
        if per not in ("file", "span"):
            raise ConfigError(f"unknown value {per!r} for `per`", hint="set `per` to 'file' or 'span'")
        if k < 0:
            raise ConfigError(f"expected `k` of 0 or more, got {k}", hint="set `k` to the number of results to return")
        named = tuple(language_name(name) for name in _as_tuple(languages))
        wanted = ResultFilter(_as_tuple(paths), named, _as_tuple(kinds), regex, min_score)
        if is_tracing():
            sys.stderr.write("".join(f"{line}\n" for line in self.explain(query, per=per, k=k).json_lines()))
        return tuple(islice(self.matches(query, per=per, wanted=wanted, pad=pad), k))

    def matches(
        self, query: str, *, per: Per = "file", wanted: ResultFilter | None = None, pad: bool = False
    ) -> Iterator[Hit]:
        """Yield every matching file or span, best first; with `pad`, the others follow with negative scores."""
        conditions = [wanted] if wanted and wanted != _ANY_RESULT else []
        if self.config.filter != _NO_FILTER:
            conditions.append(self.config.filter.result_filter())
        filters = [condition.compile(self.table) for condition in conditions]
        features = self._retrieve(query, per)
        scores = rank(features, self.config)
        pad = pad and bool(features.query.words)
        ranked = self._files(scores, features, pad) if per == "file" else self._spans(scores, features, pad)
        for match in self._rerank(query, ranked) if self.reranker else ranked:
            text = partial(self._text, match, per)  # evaluated only for a regular expression
            if not filters or all(accepts(match.file, match.span.chunk, match.score, text) for accepts in filters):
                yield self._hit(match)

    def _retrieve(self, query: str, per: Per) -> QueryFeatures:
        options = (self.config.index.tokenizer, self.config.lexical.stop_words)
        # the embedder parses with the defaults, and cached calls must have the same arguments
        parsed = parse_query(query) if options == ("identifier", True) else parse_query(query, *options)
        return retrieve(parsed, self.view, self.config, per)

    def _text(self, match: _RankedSpan, per: Per) -> str:
        if per == "span":
            return self._hit(match).snippet or ""
        first, stop = self.view.chunk_range(match.file)
        return chunk_text(self.table, match.file, first, stop - 1)

    def _files(self, scores: Values, features: QueryFeatures, pad: bool) -> Iterator[_RankedSpan]:
        chunks = rank_inside(features, self.config)
        for file in chain(rank_rows(scores).tolist(), _padding(scores, features) if pad else ()):
            first, stop = self.view.chunk_range(file)
            chunk = first + int(chunks[first:stop].argmax())
            yield _RankedSpan(SpanHit(chunk, chunk, chunk), file, _score(file, scores, features))

    def _spans(self, scores: Values, features: QueryFeatures, pad: bool) -> Iterator[_RankedSpan]:
        query = features.query
        wanted = self.view.definitions(query.symbol, query.name) if query.symbol is not None else {}
        padding = _padding(scores, features) if pad else ()
        for span in select_spans(scores, self.view, self.config.growth, wanted, padding):
            yield _RankedSpan(span, int(self.table.chunks.file[span.chunk]), _score(span.chunk, scores, features))

    def _rerank(self, query: str, ranked: Iterator[_RankedSpan]) -> Iterator[_RankedSpan]:
        from assay.search.rerank import RerankPassage, rerank

        assert self.reranker is not None
        head = list(islice(ranked, self.config.rerank.depth))
        matches = [match for match in head if match.score > 0]  # the others are padding
        hits = [self._hit(match) for match in matches]
        passages = [RerankPassage(hit.path, hit.start or 1, hit.end or 1, hit.snippet or "") for hit in hits]
        yield from (matches[position] for position in rerank(query, passages, self.reranker))
        yield from head[len(matches) :]
        yield from ranked

    def _hit(self, match: _RankedSpan) -> Hit:
        span, chunks = match.span, self.table.chunks
        path = self.table.files.paths[match.file]
        first, last = int(chunks.start[span.first]), int(chunks.end[span.last])
        if last < first:
            return Hit(path, score=match.score)
        text = chunk_text(self.table, match.file, span.first, span.last)
        if span.lines is None:
            return Hit(path, first, last, match.score, text)
        start, end = span.lines.start, span.lines.end
        shown = text.split("\n")[start - first : end - first + 1]
        return Hit(path, start, end, match.score, "\n".join(shown) + "\n")

    def explain(
        self,
        query: str,
        *,
        per: Per = "file",
        k: int = 10,
        expect: str | Sequence[str] | None = None,
        hidden: Collection[str] = (),
    ) -> Trace:
        """Trace the `k` best candidates, overall and of the expected files, through every stage before re-ranking.

        Files in `hidden` have no rank.
        """
        stages: list[StageTrace] = []
        features = self._retrieve(query, per)
        without = [row for path in hidden for row in self.rows_of(path, per)]

        def note(name: str, values: Values) -> None:
            shown = values.copy()
            shown[without] = 0.0
            stages.append(StageTrace(name, shown))

        scores = rank(features, self.config, note).copy()
        scores[without] = 0.0
        hits = tuple(islice((hit for hit in self.matches(query, per=per, pad=True) if hit.path not in hidden), k))
        wanted = [row for path in _as_tuple(expect) for row in self.rows_of(path, per)]
        expected = sorted(wanted, key=lambda row: (-scores[row], row))
        rows = list(dict.fromkeys(rank_rows(scores)[:k].tolist() + [row for row in expected if scores[row] > 0][:k]))
        paths, chunks = self.table.files.paths, self.table.chunks

        def label(row: int) -> Hit:
            if per == "file":
                return Hit(paths[row], score=float(scores[row]))
            return Hit(paths[chunks.file[row]], int(chunks.start[row]), int(chunks.end[row]), float(scores[row]))

        return Trace(features.query, per, tuple(stages), tuple(map(label, rows)), tuple(rows), hits, label)

    def lost(self, query: str, path: str, *, per: Per = "file", k: int = 10, hidden: Collection[str] = ()) -> LostFile:
        """Return the ranks of an expected file, and the stage at which the file dropped out of the first `k`."""
        trace = self.explain(query, per=per, k=k, hidden=hidden)
        return find_lost_stage(trace, self.rows_of(path, per), path, k)

    def related(self, path: str, line: int, k: int = 10) -> Related:
        """Return definitions used by the chunk at a line, chunks that use names defined in it, and similar chunks."""
        return find_related(self, path, line, k)

    def rows_of(self, path: str, per: Per) -> list[int]:
        """Return the rows of the score array for a file, or for its chunks if spans are ranked."""
        if path not in self.table.files.paths:
            return []
        file = self.table.files.paths.index(path)
        return [file] if per == "file" else list(range(*self.view.chunk_range(file)))


def _padding(scores: Values, features: QueryFeatures) -> Iterator[int]:
    rows = np.flatnonzero(scores <= 0)
    yield from rows[np.argsort(-features.nearness[rows], kind="stable")].tolist()


def _score(row: int, scores: Values, features: QueryFeatures) -> float:
    return float(scores[row] if scores[row] > 0 else features.nearness[row])


def _as_tuple(values: Sequence[str] | None) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values or ())


def enabled_signals(config: SearchConfig) -> dict[str, Signal]:
    return {name: getattr(config, name) for name in STAGES if name not in config.without}


def retrieve(query: ParsedQuery, view: CorpusView, config: SearchConfig, per: Per) -> QueryFeatures:
    """Compute the lexical, fused and coherence scores that the signals use."""
    signal, file = config.coherence, view.table.chunks.file
    lexical = (config.lexical, view.translator and view.translator.settings)
    words = view.recall(query.text, ("words", lexical), lambda: scale_to_max(config.lexical(query, view)))
    basis: Hashable = ("chunks", lexical, view.dense and view.dense.settings, per)
    chunk_scores = view.recall(query.text, basis, lambda: _fuse(words, query, view, per))
    encoded = None
    if per == "file" and view.encoder and (weight := view.encoder.weight(query.kind, per)):
        # files are scored from their chunks, so the encoder applies to chunks; to spans it applies after the signals
        encoder, first = view.encoder, chunk_scores
        basis = (basis, encoder.key)
        encoded = view.recall(query.text, (basis, "encoder"), lambda: encoder(query.text, first))
        chunk_scores = scale_to_max(first + weight * encoded)
    key = ("coherence", basis, signal.chunks, signal.decay, signal.pool)
    coherence = view.recall(query.text, key, lambda: signal.gather(chunk_scores, file, view.file_count))
    return QueryFeatures(query, view, per, words, chunk_scores, coherence, basis, encoded)


def _fuse(words: Values, query: ParsedQuery, view: CorpusView, per: Per) -> Values:
    if view.dense is None or not view.chunk_count:
        return words
    settings = view.dense.settings
    lexical_weight, weight = view.dense.weights(query.kind, per)
    if settings.rise:
        weight *= 1 + settings.rise * (1 - view.coverage(int(words.argmax()), query.terms))
    if not weight:
        return words
    dense = view.dense(query.text, per, lexical_weight * words, weight)
    fused = parse_fusion(settings.fusion)([words, dense], [lexical_weight, weight])
    scores = scale_to_max(fused - min(float(fused.min()), 0.0))  # z-scores may be negative
    found = (dense > 0) | (words > 0) if lexical_weight else dense > 0
    return np.where(found, np.maximum(scores, _LEAST), 0.0)


def rank(features: QueryFeatures, config: SearchConfig, watch: StageObserver | None = None) -> Values:
    """Score every file or chunk; call `watch` with the scores after retrieval and after each signal."""
    view, files = features.view, features.per == "file"
    if watch:
        retrieved = {"lexical": features.lexical_scores}
        if view.dense:
            words, weights = features.lexical_scores, view.dense.weights(features.query.kind, features.per)
            retrieved["dense"] = view.dense(features.query.text, features.per, weights[0] * words, weights[1])
        if features.encoder_scores is not None:
            retrieved["encoder"] = features.encoder_scores
        if len(retrieved) > 1:
            retrieved["fused"] = features.chunk_scores
        for name, values in retrieved.items():
            watch(name, max_by_owner(view.table.chunks.file, values, view.file_count) if files else values)
    scores = np.zeros(view.file_count) if files else features.chunk_scores
    for name, signal in enabled_signals(config).items():
        scores = signal(scores, features)
        if watch:
            watch(name, scores)
    if not files and len(scores) and view.encoder and (weight := view.encoder.weight(features.query.kind, "span")):
        # +.06 on the standard library; before the signals, as for files, +.03
        scores = scale_to_max(scores)
        doubt = view.encoder.doubt(view.coverage(int(scores.argmax()), features.query.terms))
        weight *= 1 + view.encoder.settings.rise * doubt
        scores = scores + weight * view.encoder(features.query.text, scores, doubt)
        if watch:
            watch("encoder", scores)
    return scores


def rank_inside(features: QueryFeatures, config: SearchConfig) -> Values:
    signals = tuple(signal for name, signal in enabled_signals(config).items() if name in _INSIDE)
    spans = replace(features, per="span")

    def score() -> Values:
        scores = spans.chunk_scores
        for signal in signals:
            scores = signal(scores, spans)
        return scores

    return features.recall(("inside", features.basis, signals), score)
