from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search.query import last_name, parse_query, query_kind, whole_hash

_SYMBOLS = (
    "HTTPServer", "parse_args", "foo.bar()", "std::vector", "Foo::bar", "Cart.total", "__init__", "getUserById",
    "_private", "MAX_SIZE", "obj->field", "@decorator", "$scope", "App\\Models\\User", "Enum.map/2", "save!()",
    "Kernel#puts", "React.useState", "os.path.join", "IOError", "camelCase", "Größe", "x_1", "sort_by!",
    "nil?()", "crate::error::Error", "assertEquals()", "jsonDecoder", "node_modules/express",
)  # fmt: skip
_KEYWORDS = (
    "retry", "json float repr", "http server port", "tax rate country", "cart total sum", "router", "middleware chain",
    "config parser", "größe", "日本語", "redis connection pool", "websocket ping timeout", "jwt token verify", "retry?",
    "LRU cache eviction", "parse_args namespace defaults", "dependency injection", "sql migration rollback",
    "utf8 decode error", "thread pool executor", "HTTPServer port",
)  # fmt: skip
_SENTENCES = (
    "How", "how", "where are retries decided?", "How is the port chosen?", "what happens when the cart is empty",
    "where", "which percentage is charged for a country?", "find the function that parses arguments",
    "How does HTTPServer handle timeouts", "the retry loop", "Why?", "is there a cache", "explain how routing works",
    "code that turns a request into a response object", "show me all places where a token is checked",
    "convert json to xml", "What", "When is a connection closed", "add item to cart", "read config from file",
    "serialize nested objects when writing large json documents to disk", "Who calls parse_args?",
    "can it be turned off", "wo werden die Preise mit Rabatt für Kunden berechnet",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, "symbol") for text in _SYMBOLS),
        *((text, "keywords") for text in _KEYWORDS),
        *((text, "language") for text in _SENTENCES),
    ],
)
def test_kind_of_a_query(text: str, kind: str) -> None:
    assert query_kind(text) == kind
    assert query_kind(f"  {text}\n") == kind


@pytest.mark.parametrize(
    ("text", "name"),
    [("Foo::bar()", "bar"), ("Cart.total", "total"), ("save!", "save"), ("a->b", "b"), ("parse_args", "parse_args"),
     ("App\\Models\\User", "User")],
)  # fmt: skip
def test_last_name_of_a_qualified_one(text: str, name: str) -> None:
    assert last_name(text) == name


def test_question_is_taken_apart() -> None:
    asked = parse_query("Where does HTTPServer retry the retries?")
    assert asked.kind == "language"
    assert asked.words == ("http", "serv", "retri")
    assert "httpserv" in asked.terms
    assert asked.identifiers == (whole_hash("http_server"),)
    assert asked.symbol is None
    assert parse_query("Cart.addItem()").symbol == whole_hash("add_item")


def test_question_of_stop_words_keeps_them() -> None:
    assert parse_query("where is the").words == ("where", "is", "the")
    assert parse_query("where is the cart").words == ("cart",)


@given(st.text())
def test_any_text_is_a_question(text: str) -> None:
    asked = parse_query(text)
    assert asked.kind in ("symbol", "keywords", "language")
    assert len(set(asked.terms)) == len(asked.terms)
    assert (asked.symbol is not None) == (asked.kind == "symbol")
