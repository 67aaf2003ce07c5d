"""What is the root of a word? Snowball's English stemmer, then the doer is put with the deed (router → rout)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST = 5  # a shorter word that ends in -er or -or is seldom a doer: user, over, color


@cache
def _snowball() -> Callable[[str], str]:
    """Make the stemmer once; its own cache holds the words of a large repository."""
    from Stemmer import Stemmer

    stem_word: Callable[[str], str] = Stemmer("english", 50_000).stemWord
    return stem_word


def stem(word: str) -> str:
    """Give the root of a lower-case word; what is not ASCII letters is its own root."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    root = _snowball()(word)
    if len(root) > _SHORTEST and root.endswith(("er", "or")):
        return root[:-2]
    return root
