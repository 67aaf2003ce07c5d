"""How much of the answer is already in the question? Words of a target's path or symbol that a query names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath

from assay.syntax.identifiers import STOP_WORDS, parts, words
from assay.types import Target

_SHORTEST_STEM = 3  # letters that must stay when an ending goes, or `uses`, `used` and `us` would be one word


def leak(query_text: str, targets: Iterable[Target]) -> float:
    """Give the share of a query's distinct content words that are words of a target's path or symbol."""
    return _leak(query_text, tuple((target.span.path, target.symbol) for target in targets))


@lru_cache(maxsize=1 << 13)  # several sections of a report ask it of every query
def _leak(query_text: str, answers_at: tuple[tuple[str, str | None], ...]) -> float:
    """Give the share for targets that are named by path and symbol."""
    asked = content_words(query_text)
    answers = _answer_forms(answers_at)
    shared = [word for word in asked if not _forms(word).isdisjoint(answers)]
    return len(shared) / len(asked) if asked else 0.0


def overlaps(query_text: str, targets: Iterable[Target]) -> bool:
    """Tell whether a query names any word of a target's path or symbol."""
    return leak(query_text, targets) > 0


def content_words(text: str) -> frozenset[str]:
    """Give the distinct parts of a text's identifiers and words, stop words left out."""
    return frozenset(parts(text)) - STOP_WORDS


def _answer_forms(answers: Iterable[tuple[str, str | None]]) -> frozenset[str]:
    """Give every form of every word that the paths (without extension) and symbols of targets hold."""
    names = [f"{PurePosixPath(path).with_suffix('')} {symbol or ''}" for path, symbol in answers]
    return frozenset(form for name in names for word in words(name) for form in _forms(word))


@lru_cache(maxsize=1 << 14)  # the words of a repository's paths come again and again
def _forms(word: str) -> frozenset[str]:
    """Give a word and what is left of it without a plural s, -es, -ed, -ing or a last e: caches, cached, cache."""
    stems = {word.removesuffix(ending) for ending in ("s", "es", "ed", "ing", "e")}
    undoubled = {stem[:-1] for stem in stems if stem != word and stem[-1:] == stem[-2:-1]}
    return frozenset({word, *(stem for stem in stems | undoubled if len(stem) >= _SHORTEST_STEM)})
