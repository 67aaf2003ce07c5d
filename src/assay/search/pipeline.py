"""From a query to scores: lexical and dense retrieval, fusion, then one signal after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

import numpy as np

from assay.search.config import STAGES, SearchConfig
from assay.search.dense import parse_fusion
from assay.search.query import ParsedQuery, Per
from assay.search.signals import QueryFeatures, best, relative
from assay.search.table import Values
from assay.search.view import CorpusView


class Signal(Protocol):
    """A pure function of the scores so far and the features of a query."""

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the scores after this signal."""
        ...


class Stage(NamedTuple):
    """A signal and its name in the settings."""

    name: str
    signal: Signal


Watcher = Callable[[str, Values], None]

#: The signals that rank the chunks of one file; the others are equal in a file or cost more than they decide.
_INSIDE: Final = frozenset({"definition", "identifier", "gaps"})
#: The score of a match that fusion puts last, at 0: below all others and still a match.
_LEAST: Final = 1e-9


def stages(config: SearchConfig) -> tuple[Stage, ...]:
    """Return the signals in order: those that add, then those that multiply."""
    return tuple(Stage(name, getattr(config, name)) for name in STAGES if name not in config.without)


def retrieve(question: ParsedQuery, view: CorpusView, config: SearchConfig, per: Per) -> QueryFeatures:
    """Compute how well every chunk and every file matches a query."""
    text, gather = question.text, config.coherence
    lexical = (config.lexical, view.translator and view.translator.settings)
    words = view.recall(text, ("words", lexical), lambda: relative(config.lexical(question, view)))
    basis = ("units", lexical, view.dense and view.dense.settings, per)
    units = view.recall(text, basis, lambda: _fuse(words, question, view, per))
    key = ("coherence", basis, gather.chunks, gather.decay, gather.pool)
    coherence = view.recall(text, key, lambda: gather.gather(units, view.table.units.file, view.files))
    return QueryFeatures(question, view, per, words, units, coherence, basis)


def _fuse(words: Values, question: ParsedQuery, view: CorpusView, per: Per) -> Values:
    """Fuse lexical and dense scores. A match shares a word with the query or is among the nearest vectors."""
    if view.dense is None or not view.units:
        return words
    settings, weight = view.dense.settings, view.dense.weight(question.kind, per)
    if settings.rise:
        weight *= 1 + settings.rise * (1 - _covered(words, question, view))
    if not weight:
        return words
    dense = view.dense(question.text, per, words, weight)
    fused = parse_fusion(settings.fusion)([words, dense], [settings.words, weight])
    scores = relative(fused - min(float(fused.min()), 0.0))  # z-scores may be negative
    found = (dense > 0) | (words > 0) if settings.words else dense > 0
    return np.where(found, np.maximum(scores, _LEAST), 0.0)


def _covered(words: Values, question: ParsedQuery, view: CorpusView) -> float:
    """Return the share of the query's idf that the best chunk holds."""
    unit = int(words.argmax())
    weights = {term: view.idf(view.term(term)) for term in question.terms}
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if view.holds(unit, term)) / total if total else 1.0


def rank(features: QueryFeatures, config: SearchConfig, watch: Watcher | None = None) -> Values:
    """Score every file or every chunk; `watch` receives the scores after each stage, lexical and dense apart."""
    view, files = features.view, features.per == "file"
    if watch:
        for name, units in (("lexical", features.words), ("dense", features.units)):
            if name == "lexical" or view.dense:
                watch(name, best(view.table.units.file, units, view.files) if files else units)
    scores = np.zeros(view.files) if files else features.units
    for stage in stages(config):
        scores = stage.signal(scores, features)
        if watch:
            watch(stage.name, scores)
    return scores


def rank_inside(features: QueryFeatures, config: SearchConfig) -> Values:
    """Score chunks relative to those of the same file, by the signals that differ inside a file."""
    chosen = tuple(stage for stage in stages(config) if stage.name in _INSIDE)
    spans = replace(features, per="span")

    def score() -> Values:
        scores = spans.units
        for stage in chosen:
            scores = stage.signal(scores, spans)
        return scores

    return features.recall(("inside", features.basis, chosen), score)
