from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from assay.corpus.file_types import detect_type
from assay.syntax.identifiers import STOP_WORDS, parts, stem, words
from assay.syntax.prose import split_sentences
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
#: Words that do not change the meaning of a question, unlike `not`, `without` and `before`.
_IDLE = ARTICLES | {
    "how", "what", "where", "which", "does", "do", "is", "are", "be", "we", "i", "my", "you", "your", "there", "please",
}  # fmt: skip
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


#: A word of a query, which may join several names: `Rack::Response`, `z.record`, `from_fn`, `$state`.
CODE_TOKEN = re.compile(r"[$@_A-Za-z][\w$]*(?:(?:::|\.|#|->)[$_A-Za-z][\w$]*)*(?:\(\))?")
NAME_SEPARATOR = re.compile(r"::|\.|#|->")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_SNAKE = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]")
_CAPITAL = re.compile(r"[A-Z][a-z]+[a-z0-9]*")
#: Words with inner capitals that are not identifiers.
_BRANDS = frozenset(
    {
        "GitHub", "GitLab", "JavaScript", "TypeScript", "GraphQL", "OpenAI", "OpenAPI", "PostgreSQL", "MySQL", "SQLite",
        "MongoDB", "NoSQL", "LaTeX", "YouTube", "WebSocket", "WebSockets", "WebAssembly", "DevOps", "macOS", "iOS",
        "OAuth", "IPv4", "IPv6", "HuggingFace", "DeepSeek", "OpenRouter", "JSON", "URLs", "APIs", "IDs", "PCs", "LLMs",
    }
)  # fmt: skip


def is_symbol_query(query: Query) -> bool:
    """Return whether a query has the tag `category: symbol` or consists of a single identifier."""
    text = query.headline.strip()
    return query.tags.get("category") == "symbol" or bool(CODE_TOKEN.fullmatch(text) and find_identifiers(text))


def find_identifiers(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text that look like identifiers."""
    names: dict[str, None] = {}
    for match in CODE_TOKEN.finditer(text):
        before = text[: match.start()].rstrip()
        inside = bool(before) and before[-1] not in ".?!:"
        for name in NAME_SEPARATOR.split(match[0].removesuffix("()")):
            if looks_like_code(name) or (inside and _CAPITAL.fullmatch(name)):
                names[name] = None
    return tuple(names)


def looks_like_code(name: str) -> bool:
    return name not in _BRANDS and bool(_CAMEL.search(name) or _SNAKE.search(name))


def find_duplicates(queries: Sequence[Query]) -> Iterator[tuple[Query, Query]]:
    """Yield the first and each later query whose headlines have the same words, apart from filler words."""
    first: dict[tuple[str, ...], Query] = {}
    for query in queries:
        text, names = query.headline, set(find_identifiers(query.headline))
        words = WORD.findall(text)
        key = tuple(word if word in names else word.lower() for word in words if word.lower() not in _IDLE)
        key = (text.strip(),) if len(words) == 1 else key
        earlier = first.setdefault(key, query) if key else query
        if earlier is not query:
            yield earlier, query


def have_same_targets(query: Query, other: Query) -> bool:
    return {target.anchor for target in query.primaries} == {target.anchor for target in other.primaries}


_LETTERS: Final = re.compile(r"[^\W_]+")
#: Words of the question templates.
_ASKING: Final = frozenset({"where", "code", "work", "out", "decide", "check", "whether", "which", "implementation"})


class CopyRules:
    fewest: int = 3  # content words; shorter questions share all words with some sentence by chance
    share: float = 0.8  # of the content words in one sentence of the comment
    run: int = 4  # consecutive content words


def is_copied(question: str, comment: str) -> bool:
    """Return whether a question repeats a comment: most of its words from one sentence, or half of them in a row."""
    size = len(_stems(question))
    if size < CopyRules.fewest:
        return False
    run = longest_run(question, comment)
    return copied_share(question, comment) >= CopyRules.share or (run >= CopyRules.run and 2 * run >= size)


_COMMENT: Final = re.compile(r"(?:^|\s)(?:#+|//+!?|/\*+|\*+|--+|;;+)\s+(.*)")


def line_comments(code: str) -> str:
    """Return the comments of some code, found without a grammar; comments on consecutive lines are joined."""
    found = [_COMMENT.search(line) for line in code.split("\n")]
    return "\n".join(match[1] if match else "" for match in found)


def copied_share(question: str, comment: str) -> float:
    """Return the largest share of the question's content words that one sentence of the comment contains."""
    own = set(_stems(question))
    sentences = [set(_stems(sentence)) for sentence in _sentences(comment)]
    return max((len(own & words) / len(own) for words in sentences if own), default=0.0)


def longest_run(question: str, comment: str) -> int:
    """Return the length of the longest run of content words that the query shares with the comment."""
    own = _stems(question)
    matchers = (difflib.SequenceMatcher(None, own, _stems(sentence), False) for sentence in _sentences(comment))
    return max((matcher.find_longest_match().size for matcher in matchers), default=0)


def _sentences(comment: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", comment):
        yield from split_sentences(paragraph)


def _stems(text: str) -> Sequence[str]:
    words = [word.lower() for word in _LETTERS.findall(text)]
    return [stem(w) for w in words if len(w) > 1 and not w.isdigit() and w not in STOP_WORDS | _ASKING]
