"""The ranking pipeline: lexical and dense retrieval, fusion, then the signals in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from assay.search.config import STAGES, SearchConfig
from assay.search.dense import parse_fusion
from assay.search.query import ParsedQuery, Per
from assay.search.signals import QueryFeatures, max_by_owner, scale_to_max
from assay.search.table import Values
from assay.search.view import CorpusView

Signal = Callable[[Values, QueryFeatures], Values]
StageObserver = Callable[[str, Values], None]

#: Signals that rank the chunks of one file. The others are equal within a file, or too slow for their small effect.
_INSIDE: Final = frozenset({"definition", "identifier", "gaps"})
#: Minimum score of a match: fusion may give the last match 0, like chunks that do not match.
_LEAST: Final = 1e-9


def enabled_signals(config: SearchConfig) -> dict[str, Signal]:
    return {name: getattr(config, name) for name in STAGES if name not in config.without}


def retrieve(query: ParsedQuery, view: CorpusView, config: SearchConfig, per: Per) -> QueryFeatures:
    """Compute the lexical, fused and coherence scores that the signals use."""
    signal, file = config.coherence, view.table.chunks.file
    lexical = (config.lexical, view.translator and view.translator.settings)
    words = view.recall(query.text, ("words", lexical), lambda: scale_to_max(config.lexical(query, view)))
    basis = ("chunks", lexical, view.dense and view.dense.settings, per)
    chunk_scores = view.recall(query.text, basis, lambda: _fuse(words, query, view, per))
    key = ("coherence", basis, signal.chunks, signal.decay, signal.pool)
    coherence = view.recall(query.text, key, lambda: signal.gather(chunk_scores, file, view.file_count))
    return QueryFeatures(query, view, per, words, chunk_scores, coherence, basis)


def _fuse(words: Values, query: ParsedQuery, view: CorpusView, per: Per) -> Values:
    if view.dense is None or not view.chunk_count:
        return words
    settings, weight = view.dense.settings, view.dense.weight(query.kind, per)
    if settings.rise:
        chunk = int(words.argmax())
        idf = {term: view.idf(view.term(term)) for term in query.terms}
        total = sum(idf.values())
        covered = sum(idf[term] for term in idf if view.holds(chunk, term)) / total if total else 1.0
        weight *= 1 + settings.rise * (1 - covered)
    if not weight:
        return words
    dense = view.dense(query.text, per, words, weight)
    fused = parse_fusion(settings.fusion)([words, dense], [settings.words, weight])
    scores = scale_to_max(fused - min(float(fused.min()), 0.0))  # z-scores may be negative
    found = (dense > 0) | (words > 0) if settings.words else dense > 0
    return np.where(found, np.maximum(scores, _LEAST), 0.0)


def rank(features: QueryFeatures, config: SearchConfig, watch: StageObserver | None = None) -> Values:
    """Score every file or chunk; call `watch` with the scores after retrieval and after each signal."""
    view, files = features.view, features.per == "file"
    if watch:
        for name, values in (("lexical", features.lexical_scores), ("dense", features.chunk_scores)):
            if name == "lexical" or view.dense:
                watch(name, max_by_owner(view.table.chunks.file, values, view.file_count) if files else values)
    scores = np.zeros(view.file_count) if files else features.chunk_scores
    for name, signal in enabled_signals(config).items():
        scores = signal(scores, features)
        if watch:
            watch(name, scores)
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
