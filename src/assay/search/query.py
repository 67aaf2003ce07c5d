"""Parse queries, and compute the terms and hashes that queries and the index share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, Literal
from unicodedata import normalize

from assay.syntax.identifiers import STOP_WORDS, split, stem, unspaced_pairs

QueryKind = Literal["symbol", "keywords", "language"]
Per = Literal["file", "span"]  # what is ranked

#: Identifiers and words: any characters except ASCII whitespace and punctuation; the underscore is included.
_WORD: Final = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+")
#: Words and newlines, to count lines.
WORD_OR_NEWLINE: Final = re.compile(rf"{_WORD.pattern}|\n")
#: Generic file names; such files are named by their directory.
_NAMELESS: Final = frozenset({"mod", "index", "__init__", "lib", "main", "init", "package-info", "__main__"})
_SEPARATORS: Final = re.compile(r"::|->|[.#/\\]")
_SYMBOL: Final = re.compile(r"^[@$:&*]?[^\W\d][\w$]*(?:(?:::|->|[.#/\\])[\w$]+)*[!?]?(?:\(\))?$")
#: A single word with a capital, an underscore, a separator or brackets is a name.
_NAMELIKE: Final = re.compile(r"[A-Z_]|::|->|[.#/\\()$@!?]")
_MOST_KEYWORDS: Final = 5  # more words than this are a phrase


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    text: str
    kind: QueryKind
    terms: tuple[str, ...]  # stems and joined compounds, without duplicates
    joined: tuple[str, ...]  # pairs of adjacent words: `web socket` may be `websocket` in the code
    words: tuple[str, ...]  # stems of all parts, without stop words and duplicates
    symbol: int | None  # hash of the name, if the query is a name
    name: str  # the name as written; empty if the query is not a name
    identifiers: tuple[int, ...]  # hashes of the compound names in the query


@lru_cache(maxsize=16)  # lexical and dense retrieval parse the same query
def parse_query(text: str) -> ParsedQuery:
    """Parse a query; stop words are ignored unless the query has no other words."""
    text = normalize("NFC", text)
    words = find_words(text)
    content_words = [word for word in words if word.lower() not in STOP_WORDS] or words
    kind = query_kind(text)
    name = last_name(text) if kind == "symbol" else ""
    terms = tuple(dict.fromkeys(term for word in content_words for term in word_terms(word)))
    simple = [word.lower() if len(split(word)) == 1 and word.lower() not in STOP_WORDS else "" for word in words]
    joined = dict.fromkeys(stem(first + second) for first, second in pairwise(simple) if first and second)
    return ParsedQuery(
        text,
        kind,
        terms,
        tuple(pair for pair in joined if pair not in terms),
        tuple(dict.fromkeys(stem(part) for word in content_words for part in split(word))),
        whole_hash(name) if kind == "symbol" else None,
        name,
        tuple(dict.fromkeys(whole_hash(word) for word in content_words if len(split(word)) > 1)),
    )


def query_kind(text: str) -> QueryKind:
    """Classify a query as a name (`HTTPServer`), keywords (`http server port`) or natural language."""
    words = text.split()
    if len(words) == 1 and _SYMBOL.match(words[0]) and words[0].lower().strip("?!") not in STOP_WORDS:
        return "symbol" if _NAMELIKE.search(words[0].rstrip("?!")) else "keywords"
    plain = not any(word.lower().strip("?!.,") in STOP_WORDS for word in words) and "?" not in text
    return "keywords" if plain and len(words) <= _MOST_KEYWORDS else "language"


def last_name(text: str) -> str:
    return _SEPARATORS.split(text.strip().removesuffix("()").rstrip("!?"))[-1]


def find_words(text: str) -> list[str]:
    return _WORD.findall(text)


def word_terms(word: str) -> tuple[str, ...]:
    """Return the stems of a word's parts and of the whole word, and the `unspaced_pairs` of a non-ASCII word."""
    parts = split(word)
    if len(parts) == 1:
        stems: tuple[str, ...] = (stem(parts[0]),)
    else:
        stems = (*map(stem, parts), stem("".join(parts))) if parts else ()
    return stems if word.isascii() else (*stems, *unspaced_pairs(normalize("NFC", word.lower())))


def term_hash(term: str) -> int:
    """Return the 64-bit hash of a term; among a million terms, the probability of a collision is 1 in 37 million."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=20_000)
def whole_hash(text: str) -> int:
    """Return the hash of a name, ignoring case and separators."""
    return term_hash("".join(part for word in find_words(text) for part in split(word)))


def stem_name(path: str) -> str:
    """Return the file name without extensions; for generic names (`mod.rs`, `index.ts`), the name of the directory."""
    parsed = PurePosixPath(path)
    name = parsed.name.split(".")[0] or parsed.name.lstrip(".").split(".")[0]
    return parsed.parent.name if name.lower() in _NAMELESS and parsed.parent.name else name


def directory_names(path: str) -> str:
    return " ".join(PurePosixPath(path).parent.parts)
