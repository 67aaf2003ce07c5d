"""What is the root of a word? Snowball's English stemmer, then the doer is put with the deed (router → rout)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_REMEMBERED = 50_000  # words; those of a large repository, some 10 MB
_SHORTEST = 5  # a shorter word that ends in -er or -or is seldom a doer: user, over, color


@cache
def _snowball() -> Callable[[str], str]:
    """Make the stemmer once; words are remembered here, so it need not."""
    from Stemmer import Stemmer

    stem_word: Callable[[str], str] = Stemmer("english", 0).stemWord
    return stem_word


def stem(word: str) -> str:
    """Give the root of a lower-case word; what is not ASCII letters is its own root."""
    return _ROOTS[word]


class _Roots(dict[str, str]):
    """Remember the roots of words, bounded: a repository uses each of its words many times."""

    def __missing__(self, word: str) -> str:
        if len(word) < 3 or not word.isascii() or not word.isalpha():
            return word
        root = _snowball()(word)
        if len(root) > _SHORTEST and root.endswith(("er", "or")):
            root = root[:-2]
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = root
        return root


_ROOTS = _Roots()
