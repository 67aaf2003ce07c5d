"""How much do two pieces of text say the same? From 0 to 1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_SAYS = re.compile(r"(?:[^\W_][\W_]*){3}")
_BLANKS = re.compile(r"\s+")


class Fingerprint:
    """What a piece of text is compared by: its lines that say something, and its words, each counted."""

    __slots__ = ("lines", "words")

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = Counter(said for line in lines if says(said := squeezed(line)))
        self.words = count_words(lines)


def count_words(lines: Sequence[str]) -> Counter[str]:
    """Count the words of some lines, whatever their case."""
    return Counter(_WORD.findall("\n".join(lines).casefold()))


def squeezed(line: str) -> str:
    """Give a line without the blanks that formatting changes."""
    return _BLANKS.sub(" ", line.strip())


def says(line: str) -> bool:
    """Tell whether a line has a word of its own: three letters or digits; a bracket has none."""
    return _SAYS.search(line) is not None


def likeness(one: Fingerprint, other: Fingerprint) -> float:
    """Average the Dice coefficients of lines and of words: lines tell copies apart, words survive edits."""
    words = _dice(one.words, other.words)
    return (_dice(one.lines, other.lines) + words) / 2 if one.lines or other.lines else words


def kept(old: Fingerprint, new: Fingerprint) -> float:
    """Give the share of the old lines and words that the new text has, however much it has besides."""
    words = _share(old.words, new.words)
    return (_share(old.lines, new.lines) + words) / 2 if old.lines else words


def title_likeness(one: str, other: str) -> float:
    """Compare two names or titles by their words, a plural taken for its singular."""
    first, second = (Counter(word.removesuffix("s") for word in _title_words(name)) for name in (one, other))
    return _dice(first, second) if first and second else 0.0


def _title_words(name: str) -> list[str]:
    """Take a name apart: words of a title, parts of an identifier."""
    from assay.syntax.identifiers import split

    return [part for word in _WORD.findall(name) for part in split(word) or (word,)]


def _dice(one: Counter[str], other: Counter[str]) -> float:
    """Count what two bags share, twice, over all they hold; two empty ones are alike."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _share(old: Counter[str], new: Counter[str]) -> float:
    """Count what of one bag is in another."""
    return (old & new).total() / old.total() if old else 1.0
