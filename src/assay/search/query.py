"""Parsing of queries: kind, words, identifiers, and translation of words to those of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

from assay.search.words import runs, terms, whole_hash
from assay.syntax.identifiers import STOP_WORDS, split, stem

if TYPE_CHECKING:
    from assay.search.config import TranslationSettings
    from assay.search.static import Translation, TranslationTable
    from assay.search.view import CorpusView


QueryKind = Literal["symbol", "keywords", "language"]
Per = Literal["file", "span"]  # what is ranked

_JOINTS = re.compile(r"::|->|[.#/\\]")
_SYMBOL = re.compile(r"^[@$:&*]?[^\W\d][\w$]*(?:(?:::|->|[.#/\\])[\w$]+)*[!?]?(?:\(\))?$")
#: A single word with a capital, an underscore, a joint or brackets is a name.
_NAMELIKE = re.compile(r"[A-Z_]|::|->|[.#/\\()$@!?]")
_MOST_KEYWORDS = 5  # more words than this are a phrase


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query."""

    text: str
    kind: QueryKind
    terms: tuple[str, ...]  # to look up: stems and joined compounds, each once
    joined: tuple[str, ...]  # adjacent words as one: `web socket` may be `websocket` in the code
    words: tuple[str, ...]  # stems of its parts without stop words, each once
    symbol: int | None  # hash of the name that the query consists of
    name: str  # that name as written, or ""
    identifiers: tuple[int, ...]  # hashes of the compound names in it


@lru_cache(maxsize=16)  # lexical and dense retrieval parse the same text
def parse_query(text: str) -> ParsedQuery:
    """Parse a query; stop words count only when there is nothing else."""
    text = normalize("NFC", text)
    found = runs(text)
    telling = [run for run in found if run.lower() not in STOP_WORDS] or found
    kind = query_kind(text)
    parts = [split(run) for run in telling]
    looked_up = tuple(dict.fromkeys(term for run in telling for term in terms(run)))
    return ParsedQuery(
        text,
        kind,
        looked_up,
        tuple(pair for pair in dict.fromkeys(_pairs(found)) if pair not in looked_up),
        tuple(dict.fromkeys(stem(part) for found in parts for part in found)),
        whole_hash(last_name(text)) if kind == "symbol" else None,
        last_name(text) if kind == "symbol" else "",
        tuple(dict.fromkeys(whole_hash(run) for run, found in zip(telling, parts, strict=True) if len(found) > 1)),
    )


def _pairs(found: list[str]) -> Iterator[str]:
    plain = [run.lower() if len(split(run)) == 1 and run.lower() not in STOP_WORDS else "" for run in found]
    return (stem(one + other) for one, other in pairwise(plain) if one and other)


def query_kind(text: str) -> QueryKind:
    """Return the kind of a query: `HTTPServer`, `http server port`, `how is the port chosen?`."""
    words = text.split()
    if len(words) == 1 and _SYMBOL.match(words[0]) and words[0].lower().strip("?!") not in STOP_WORDS:
        return "symbol" if _NAMELIKE.search(words[0].rstrip("?!")) else "keywords"
    plain = not any(word.lower().strip("?!.,") in STOP_WORDS for word in words) and "?" not in text
    return "keywords" if plain and len(words) <= _MOST_KEYWORDS else "language"


def last_name(text: str) -> str:
    """Return the last part of a qualified name: `bar` of `Foo::bar()`."""
    return _JOINTS.split(text.strip().removesuffix("()").rstrip("!?"))[-1]


@dataclass(frozen=True, slots=True)
class Translator:
    """A table of translations, and its weights."""

    settings: TranslationSettings
    table: TranslationTable

    def __call__(self, term: str, kind: QueryKind) -> tuple[Translation, ...]:
        """Return the translations of a term, each with its weight relative to the term."""
        weight = self.settings.weight(kind)
        if not weight:
            return ()
        found = self.table.of(term, self.settings.most)
        return tuple(one._replace(strength=weight * one.strength) for one in found)


def translate_terms(view: CorpusView, question: ParsedQuery) -> dict[str, list[str]]:
    """Return the translations of each term of a query that occur in the corpus, the strongest first."""
    if view.translator is None:
        return {}
    from assay.search.static import read_words

    words = read_words(view.translator.settings.folder)
    found = {
        term: [words.get(one.term, "?") for one in view.translator(term, question.kind) if view.number(one.term) >= 0]
        for term in question.terms
    }
    return {term: names for term, names in found.items() if names}


def make_translator(settings: TranslationSettings) -> Translator | None:
    """Open the table that the settings name; None when they name none."""
    if not settings.model:
        return None
    from assay.search.static import TranslationTable, open_static

    return Translator(settings, TranslationTable(open_static(settings.folder)))
