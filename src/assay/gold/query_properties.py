"""Properties of queries for slices and lint: leakage, language, and terms that differ between phrasings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from assay.corpus.languages import detect_type
from assay.syntax.identifiers import STOP_WORDS, parts, stem, words
from assay.types import Query, Target

_SHORTEST_STEM = 3  # letters; otherwise `uses`, `used` and `us` would be one word
_UNKNOWN_LANGUAGE = "other"


def leakage(query_text: str, targets: Iterable[Target]) -> float:
    """Return the share of a query's content words that occur, in any inflection, in a target's path or symbol."""
    return _leak(query_text, tuple((target.span.path, target.symbol) for target in targets))


@lru_cache(maxsize=1 << 13)  # several report sections need it for every query
def _leak(query_text: str, targets: tuple[tuple[str, str | None], ...]) -> float:
    query_words = frozenset(parts(query_text)) - STOP_WORDS
    names = [f"{PurePosixPath(path).with_suffix('')} {symbol or ''}" for path, symbol in targets]
    target_words = frozenset(form for name in names for word in words(name) for form in _forms(word))
    shared = [word for word in query_words if not _forms(word).isdisjoint(target_words)]
    return len(shared) / len(query_words) if query_words else 0.0


@lru_cache(maxsize=1 << 14)  # paths of a repository repeat their words
def _forms(word: str) -> frozenset[str]:
    stems = {word.removesuffix(ending) for ending in ("s", "es", "ed", "ing", "e")}
    undoubled = {stem[:-1] for stem in stems if stem != word and stem[-1:] == stem[-2:-1]}
    return frozenset({word, *(stem for stem in stems | undoubled if len(stem) >= _SHORTEST_STEM)})


def overlaps(query_text: str, targets: Iterable[Target]) -> bool:
    """Return whether a content word of a query occurs, in any inflection, in a target's path or symbol."""
    return leakage(query_text, targets) > 0


def language_of(query: Query) -> str:
    """Return the language of the first primary target, detected from its file name, or "other"."""
    primary = next(iter(query.primaries), None)
    return _UNKNOWN_LANGUAGE if primary is None else detect_type(primary.span.path, b"").language or _UNKNOWN_LANGUAGE


WORD: Final = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
ARTICLES: Final = frozenset({"a", "an", "the"})
#: Words that join two changes into one replacement, such as `ascii and latin-1` for `7bit and base64`.
_JOINING: Final = frozenset({"and", "or", "of"})


def count_replacements(human: str, wrong: str) -> int:
    """Count the distinct changes between two phrasings; return 0 if none of them replaces a term.

    Changes separated only by `and`, `or` or `of` count as one. Inflections and articles are ignored.
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
    terms = [old and new and not STOP_WORDS.issuperset(old + new) for old, new in changed]
    return len(changed) if any(terms) else 0


def count_retained(human: str, wrong: str) -> tuple[int, int]:
    """Count the words of `human` that `wrong` retains in order, and all words of `human`, ignoring articles."""
    left, right = _words(human), _words(wrong)
    blocks = difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks), len(left)


def _words(text: str) -> list[str]:
    words = [word.lower() for word in WORD.findall(text)]
    return [word if word in STOP_WORDS else stem(word) for word in words if word not in ARTICLES]
