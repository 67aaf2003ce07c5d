"""How much of the answer is already in the question? Words of a target's path or symbol that a query names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from assay.syntax.identifiers import STOP_WORDS, parts, stem, words
from assay.types import Target

_SHORTEST_STEM = 3  # letters that must stay when an ending goes, or `uses`, `used` and `us` would be one word


def leakage(query_text: str, targets: Iterable[Target]) -> float:
    """Give the share of a query's distinct content words that are words of a target's path or symbol."""
    return _leak(query_text, tuple((target.span.path, target.symbol) for target in targets))


@lru_cache(maxsize=1 << 13)  # several sections of a report ask it of every query
def _leak(query_text: str, answers_at: tuple[tuple[str, str | None], ...]) -> float:
    asked = content_words(query_text)
    answers = _answer_forms(answers_at)
    shared = [word for word in asked if not _forms(word).isdisjoint(answers)]
    return len(shared) / len(asked) if asked else 0.0


def overlaps(query_text: str, targets: Iterable[Target]) -> bool:
    """Tell whether a query names any word of a target's path or symbol."""
    return leakage(query_text, targets) > 0


def content_words(text: str) -> frozenset[str]:
    """Give the distinct parts of a text's identifiers and words, stop words left out."""
    return frozenset(parts(text)) - STOP_WORDS


def _answer_forms(answers: Iterable[tuple[str, str | None]]) -> frozenset[str]:
    names = [f"{PurePosixPath(path).with_suffix('')} {symbol or ''}" for path, symbol in answers]
    return frozenset(form for name in names for word in words(name) for form in _forms(word))


@lru_cache(maxsize=1 << 14)  # the words of a repository's paths come again and again
def _forms(word: str) -> frozenset[str]:
    stems = {word.removesuffix(ending) for ending in ("s", "es", "ed", "ing", "e")}
    undoubled = {stem[:-1] for stem in stems if stem != word and stem[-1:] == stem[-2:-1]}
    return frozenset({word, *(stem for stem in stems | undoubled if len(stem) >= _SHORTEST_STEM)})


WORD: Final = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
ARTICLES: Final = frozenset({"a", "an", "the"})
#: Words that may stay between two runs of an error that is one: `ascii and latin-1` for `7bit and base64`.
_JOINING: Final = frozenset({"and", "or", "of"})


def replacements(human: str, wrong: str) -> int:
    """Count the different replacements between two forms.

    Runs that only a joining word keeps apart are one, and so is one term replaced by another wherever it stands.
    Where no term was replaced there is none: another inflection, or words that came or went, are no wrong term.
    """
    left, right = _words(human), _words(wrong)
    runs: list[tuple[list[str], list[str]]] = []
    joined = False
    for kind, start, end, other, last in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            joined = joined and all(word in _JOINING for word in left[start:end])
            continue
        if not joined:
            runs.append(([], []))
        runs[-1][0].extend(left[start:end])
        runs[-1][1].extend(right[other:last])
        joined = True
    changed = {(tuple(old), tuple(new)) for old, new in runs}
    return len(changed) if any(_is_term(*change) for change in changed) else 0


def kept(human: str, wrong: str) -> tuple[int, int]:
    """Count the words of a form that another one keeps, in their order, and all of its words."""
    left, right = _words(human), _words(wrong)
    blocks = difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks), len(left)


def _is_term(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    return bool(old and new) and not STOP_WORDS.issuperset(old + new)


def _words(text: str) -> list[str]:
    words = [word.lower() for word in WORD.findall(text)]
    return [word if word in STOP_WORDS else stem(word) for word in words if word not in ARTICLES]
