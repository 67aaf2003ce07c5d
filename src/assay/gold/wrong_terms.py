"""How many terms of a question were replaced? A wrong_terminology form has exactly one that is wrong."""

from __future__ import annotations

import difflib
import re
from typing import Final

from assay.syntax.identifiers import STOP_WORDS
from assay.syntax.stems import stem

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
    """Tell whether a term gave way to another: not only `does` to `do`, or a word that came or went."""
    return bool(old and new) and not STOP_WORDS.issuperset(old + new)


def _words(text: str) -> list[str]:
    """Give the roots of the words of a form; which article it is depends on the word that follows."""
    words = [word.lower() for word in WORD.findall(text)]
    return [word if word in STOP_WORDS else stem(word) for word in words if word not in ARTICLES]
