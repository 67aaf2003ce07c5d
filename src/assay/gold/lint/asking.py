"""Which identifiers does a query name? Only what looks like code counts, and only as it is written."""

from __future__ import annotations

import re

from assay.types import Query

#: A word of a query with what may join names: `Rack::Response`, `z.record`, `from_fn`, `$state`.
_TOKEN = re.compile(r"[$@_A-Za-z][\w$]*(?:(?:::|\.|#|->)[$_A-Za-z][\w$]*)*(?:\(\))?")
_SEPARATOR = re.compile(r"::|\.|#|->")
#: A question whose subject acts; what `is` made, or `gets` called, is acted upon by others.
_QUESTION = re.compile(
    rf"(?:how|where|when|why)\s+(?:(?:does|do|can|will)\s+)?(?:the\s+|an?\s+)?(?P<name>{_TOKEN.pattern})"
    r"\s+(?!(?:is|are|was|were|be|been|being|gets?|can|could|should|and|or|of|in|for|to|from|with|that|which)\b)\w",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_SNAKE = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]")
_CAPITAL = re.compile(r"[A-Z][a-z]+[a-z0-9]*")
#: Words with a capital inside that are no identifiers of a program.
_BRANDS = frozenset(
    {
        "GitHub", "GitLab", "JavaScript", "TypeScript", "GraphQL", "OpenAI", "OpenAPI", "PostgreSQL", "MySQL", "SQLite",
        "MongoDB", "NoSQL", "LaTeX", "YouTube", "WebSocket", "WebSockets", "WebAssembly", "DevOps", "macOS", "iOS",
        "OAuth", "IPv4", "IPv6", "HuggingFace", "DeepSeek", "OpenRouter", "JSON", "URLs", "APIs", "IDs", "PCs", "LLMs",
    }
)  # fmt: skip


def is_symbol_query(query: Query) -> bool:
    """Tell whether a query asks for a name: it says so, or is a single identifier."""
    if query.tags.get("category") == "symbol":
        return True
    text = query.headline.strip()
    return bool(_TOKEN.fullmatch(text)) and bool(identifiers(text))


def asked_symbol(query: Query) -> str:
    """Give the one name that a symbol query asks for, without its scopes; nothing when it has several words."""
    text = query.headline.strip()
    if not is_symbol_query(query) or not _TOKEN.fullmatch(text):
        return ""
    return _last(text)


def identifiers(text: str) -> tuple[str, ...]:
    """List what looks like code in a text, each once: camelCase, snake_case, a capital inside a sentence."""
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(text):
        token = match[0].removesuffix("()")
        for name in _SEPARATOR.split(token):
            if _looks_like_code(name) or (_CAPITAL.fullmatch(name) and not _begins(text, match.start())):
                found[name] = None
    return tuple(found)


def subject(text: str) -> str:
    """Give the identifier that a question is about: what acts in `how does Name do it`.

    A name elsewhere in a sentence only takes part: the code that makes, wraps or checks it is rightly elsewhere.
    """
    asked = _QUESTION.match(text.strip())
    name = "" if asked is None else _last(asked["name"])
    return name if _looks_like_code(name) else ""


def _looks_like_code(name: str) -> bool:
    """Tell camelCase and snake_case from words."""
    return name not in _BRANDS and bool(_CAMEL.search(name) or _SNAKE.search(name))


def _begins(text: str, position: int) -> bool:
    """Tell whether a word begins a sentence, where any word has a capital."""
    before = text[:position].rstrip()
    return not before or before[-1] in ".?!:"


def _last(token: str) -> str:
    """Take the scopes and brackets off a name."""
    return _SEPARATOR.split(token.removesuffix("()"))[-1]
