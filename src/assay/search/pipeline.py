"""From a query to scores: retrieve, gather, then one signal after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np

from assay.search.config import SearchConfig
from assay.search.evidence import QueryFeatures, Values, best, relative
from assay.search.fusion import parse_fusion
from assay.search.laws import STAGES
from assay.search.query import ParsedQuery, Per
from assay.search.view import CorpusView


class Signal(Protocol):
    """A stage: a value, and a pure function of the scores so far and what was seen."""

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Give the scores after this signal."""
        ...


class Stage(NamedTuple):
    """A signal and the name it is left out by."""

    name: str
    signal: Signal


Watcher = Callable[[str, Values], None]

#: The signals that choose among the units of one file; the rest, and the scope, would cost more than they decide.
_INSIDE: Final = frozenset({"definition", "identifier", "gaps"})
#: The score of a match that a fusion puts last, at 0: below all others and still a match.
_LEAST: Final = 1e-9


def stages(config: SearchConfig) -> tuple[Stage, ...]:
    """List the signals in the order they speak: those that add, then those that multiply."""
    return tuple(Stage(name, getattr(config, name)) for name in STAGES if name not in config.without)


def retrieve(question: ParsedQuery, view: CorpusView, config: SearchConfig, per: Per) -> QueryFeatures:
    """Find out how well every unit and every file matches a question, for a ranking of files or of spans."""
    text, gather = question.text, config.coherence
    spoken = (config.lexical, view.translator and view.translator.settings)
    words = view.recall(text, ("words", spoken), lambda: relative(config.lexical(question, view)))
    basis = ("units", spoken, view.dense and view.dense.settings, per)
    units = view.recall(text, basis, lambda: _fuse(words, question, view, per))
    together = ("coherence", basis, gather.chunks, gather.decay, gather.pool)
    coherence = view.recall(text, together, lambda: gather.gather(units, view.table.units.file, view.files))
    return QueryFeatures(question, view, units, coherence, words, basis)


def _fuse(words: Values, question: ParsedQuery, view: CorpusView, per: Per) -> Values:
    """Put words and meaning together, by the kind of the query; words alone when there is no model.

    Fusions know only which candidate is lowest. A match has a word of the query or is near in meaning.
    """
    if view.dense is None or not view.units:
        return words
    settings, weight = view.dense.settings, view.dense.weight(question.kind, per)
    if settings.rise:
        weight *= 1 + settings.rise * (1 - _covered(words, question, view))
    if not weight:
        return words
    meaning = view.dense(question.text, per, words, weight)
    fused = parse_fusion(settings.fusion)([words, meaning], [settings.words, weight])
    scores = relative(fused - min(float(fused.min()), 0.0))  # z-scores may be negative
    found = (meaning > 0) | (words > 0) if settings.words else meaning > 0
    return np.where(found, np.maximum(scores, _LEAST), 0.0)


def _covered(words: Values, question: ParsedQuery, view: CorpusView) -> float:
    unit = int(words.argmax())
    weights = {term: view.idf(view.term(term)) for term in question.terms}
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if view.holds(unit, term)) / total if total else 1.0


def rank(seen: QueryFeatures, config: SearchConfig, per: Per, watch: Watcher | None = None) -> Values:
    """Score every file or every unit; `watch` is shown the scores after each stage, words and meaning apart."""
    seen.per = per
    scores = np.zeros(seen.view.files) if per == "file" else seen.units
    if watch:
        watch("lexical", _by_best_unit(seen.words, seen.view) if per == "file" else seen.words)
    if watch and seen.view.dense:
        watch("dense", _by_best_unit(seen.units, seen.view) if per == "file" else scores)
    for stage in stages(config):
        scores = stage.signal(scores, seen)
        if watch:
            watch(stage.name, scores)
    return scores


def rank_inside(seen: QueryFeatures, config: SearchConfig) -> Values:
    """Score units beside those of the same file, by what tells them apart: the file's own signals are all equal."""
    chosen = tuple(stage for stage in stages(config) if stage.name in _INSIDE)
    return seen.view.recall(seen.question.text, ("inside", seen.basis, chosen), lambda: _ranked_inside(seen, chosen))


def _ranked_inside(seen: QueryFeatures, chosen: Sequence[Stage]) -> Values:
    seen.per = "span"
    scores = seen.units
    for stage in chosen:
        scores = stage.signal(scores, seen)
    return scores


def _by_best_unit(units: Values, view: CorpusView) -> Values:
    return best(view.table.units.file, units, view.files)
