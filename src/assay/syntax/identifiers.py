"""Words in text and identifiers: splitting, stop words and stems."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import normalize

from assay.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable


# fmt: off
#: English words that do not narrow a query. Keywords are included where queries seldom refer to them (`for`, `with`,
#: `in`), and omitted where they do (`class`, `import`, `return`).
STOP_WORDS: frozenset[str] = frozenset(
    {
        "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
        "before", "being", "but", "by", "can", "cannot", "could", "did", "do", "does", "doing", "don", "down",
        "each", "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
        "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "let", "like", "me",
        "might", "more", "most", "must", "my", "no", "nor", "not", "of", "off", "on", "once", "one", "only",
        "or", "other", "our", "out", "over", "own", "please", "s", "same", "shall", "she", "should", "so",
        "some", "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
        "those", "through", "to", "too", "under", "until", "up", "upon", "us", "very", "was", "we", "were",
        "what", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with",
        "within", "without", "would", "you", "your",
    }
)
# fmt: on


@dataclass(frozen=True, slots=True)
class CacheLimits:
    entries: int = 200_000  # the standard library has about 150,000 distinct identifiers; 200,000 take some 60 MB
    characters: int = 64  # longer identifiers are data (hashes, base64), which hardly ever repeat


CACHE_LIMITS = CacheLimits()

# Python's \w excludes the vowel signs and joiners of many scripts.
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e"
    r"\u0eb1-\u0ebc\u0ec8-\u0ece\u200c\u200d"
)
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]+")
_WORD = re.compile(rf"[\w{_MARKS}]+")
# The plural of an acronym (`URLs`) comes first, then acronyms, words, numbers; `_SHAPE_PART` is the same over shapes.
_ASCII_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHAPE_PART = re.compile(r"U{2,}s(?![ls])|U+(?![ls])|U?[ls]+|d+")
# Scripts without spaces, where a run is a phrase: Han, Hiragana, Katakana.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002fa1f]{3,}")


def split(identifier: str) -> tuple[str, ...]:
    """Split an identifier at underscores, case changes and digits into lowercase parts."""
    if identifier.isascii():
        if identifier.isalpha() and identifier.islower():
            return (identifier,)
        return tuple(map(str.lower, _ASCII_PART.findall(identifier)))
    identifier = normalize("NFC", identifier)  # NFC: é is one letter, composed or not
    shape = "".join(map(_letter_class, identifier))
    return tuple(identifier[part.start() : part.end()].lower() for part in _SHAPE_PART.finditer(shape))


def words(text: str) -> list[str]:
    """Return the words to index: each identifier in lowercase, its parts if it has several, and `unspaced_pairs`."""
    return list(chain.from_iterable(map(_TOKENS.__getitem__, _raw(text))))


def parts(text: str) -> list[str]:
    return [part for raw in _raw(text) for part in split(raw)]


def _raw(text: str) -> list[str]:
    return _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(normalize("NFC", text))


def _letter_class(character: str) -> str:
    if character.isupper() or character.istitle():
        return "U"
    if character.isnumeric() and not character.isalpha():
        return "d"
    if character == "s":
        return "s"
    return "l" if _WORD.match(character) and character != "_" else "-"


def unspaced_pairs(compound: str) -> tuple[str, ...]:
    """Return overlapping character pairs of runs of three or more Han or Kana characters, to match parts of phrases."""
    runs = _UNSPACED.findall(compound)
    return tuple(run[i : i + 2] for run in runs for i in range(len(run) - 1))


class _TokenCache(dict[str, tuple[str, ...]]):
    def __missing__(self, raw: str) -> tuple[str, ...]:
        tokens: tuple[str, ...] = ()
        if compound := raw.strip("_").lower():
            split_parts = split(raw)
            pairs = () if raw.isascii() else unspaced_pairs(compound)
            tokens = (compound, *split_parts, *pairs) if len(split_parts) > 1 else (compound, *pairs)
        if len(raw) <= CACHE_LIMITS.characters:
            if len(self) >= CACHE_LIMITS.entries:
                self.clear()
            self[raw] = tokens
        return tokens


_TOKENS = _TokenCache()

_REMEMBERED = 50_000  # words of a large repository, about 10 MB
_SHORTEST = 5  # stems in -er or -or up to this length are seldom agent nouns: user, over, color


@cache
def _snowball() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stem_word: Callable[[str], str] = Stemmer("english", 0).stemWord
    return stem_word


@lru_cache(maxsize=_REMEMBERED)
def stem(word: str) -> str:
    """Return the Snowball stem of a lowercase English word, without -er or -or if the stem is longer than five letters.

    Words of one or two letters, and words with other characters than a-z, are unchanged.
    """
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    root = _snowball()(word)
    return root[:-2] if len(root) > _SHORTEST and root.endswith(("er", "or")) else root
