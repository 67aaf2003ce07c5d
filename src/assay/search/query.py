from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, Literal
from unicodedata import combining, normalize

from assay.records import dataclass
from assay.syntax.identifiers import STOP_WORDS, split, stem, unspaced_pairs

QueryKind = Literal["symbol", "keywords", "language"]
Tokenizer = Literal["identifier", "unicode", "trigram"]
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
_ALPHANUMERIC: Final = re.compile(r"[^\W_]+")


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
    tokenizer: Tokenizer = "identifier"


@lru_cache(maxsize=16)  # lexical and dense retrieval parse the same query
def parse_query(text: str, tokenizer: Tokenizer = "identifier", stop_words: bool = True) -> ParsedQuery:
    """Parse a query; stop words are ignored unless the query has no other words.

    Only `terms` depends on the arguments: the terms of the tokenizer, with stop words if `stop_words` is False.
    """
    text = normalize("NFC", text)
    words = find_words(text)
    content_words = [word for word in words if word.lower() not in STOP_WORDS] or words
    kind = query_kind(text)
    name = last_name(text) if kind == "symbol" else ""
    searched_words = content_words if stop_words else words
    terms = tuple(dict.fromkeys(term for word in searched_words for term in word_tokens(word, tokenizer)))
    simple = [word.lower() if len(split(word)) == 1 and word.lower() not in STOP_WORDS else "" for word in words]
    pairs = pairwise(simple) if tokenizer == "identifier" else ()
    joined = dict.fromkeys(stem(first + second) for first, second in pairs if first and second)
    return ParsedQuery(
        text,
        kind,
        terms,
        tuple(pair for pair in joined if pair not in terms),
        name_words(text, stop_words=True, inflections=True),
        whole_hash(name) if kind == "symbol" else None,
        name,
        tuple(dict.fromkeys(whole_hash(word) for word in content_words if len(split(word)) > 1)),
        tokenizer,
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


def word_tokens(word: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the terms of a word: `word_terms`, or as with the tokenizers unicode61 and trigram of SQLite's FTS5."""
    if tokenizer == "identifier":
        return word_terms(word)
    if tokenizer == "trigram":
        lower = word.lower()
        return tuple(lower[start : start + 3] for start in range(len(lower) - 2))
    letters = "".join(letter for letter in normalize("NFKD", word.lower()) if not combining(letter))
    return tuple(_ALPHANUMERIC.findall(letters))


def name_words(text: str, stop_words: bool, inflections: bool) -> tuple[str, ...]:
    """Return the parts of the words of a query, without stop words or as stems if requested."""
    words = find_words(text)
    content_words = [word for word in words if word.lower() not in STOP_WORDS] or words
    parts = (part for word in (content_words if stop_words else words) for part in split(word))
    return tuple(dict.fromkeys(map(stem, parts) if inflections else parts))


def term_hash(term: str) -> int:
    """Return the 64-bit hash of a term; among a million terms, the probability of a collision is 1 in 37 million."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=20_000)  # the methods of a class share their scope; about 5 MB
def name_parts(text: str) -> tuple[str, ...]:
    return tuple(part for word in find_words(text) for part in split(word))


@lru_cache(maxsize=20_000)
def whole_hash(text: str) -> int:
    """Return the hash of a name, ignoring case and separators."""
    return term_hash("".join(name_parts(text)))


def stem_name(path: str) -> str:
    """Return the file name without extensions; for generic names (`mod.rs`, `index.ts`), the name of the directory."""
    parsed = PurePosixPath(path)
    name = parsed.name.split(".")[0] or parsed.name.lstrip(".").split(".")[0]
    return parsed.parent.name if name.lower() in _NAMELESS and parsed.parent.name else name


def directory_names(path: str) -> str:
    return " ".join(PurePosixPath(path).parent.parts)
