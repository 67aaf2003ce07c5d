"""Settings of tokenizers, matching, filters, fusion and file names, and the results that pad a ranking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from assay.corpus import open_corpus, parse_spec
from assay.errors import ConfigError
from assay.search import Index, Per, SearchConfig
from assay.search.config import load_search_config
from assay.search.query import find_words, parse_query, word_tokens
from assay.types import Corpus, Hit
from tests.search.conftest import CorpusOf
from tests.search.samples import SAMPLES

_FILES = {
    "server.py": "def parseRequest(raw):\n    '''Split the raw bytes of a request.'''\n    return raw.split()\n",
    "client.py": "def send(payload):\n    return open_socket().send(payload)\n",
    "dependency.py": "def resolve(graph):\n    return sorted(graph)\n",
    "my_func.py": "def first(xs):\n    return xs[0]\n",
    "notes.md": "# Notes\n\nParse the text, then request a review of the café.\n",
}
_LEXICAL = ("dense.model=", "translation.model=", "without=coherence,neighbours,stem,definition,scope,references,"
            "identifier,noise,gaps,word")  # fmt: skip
_QUERIES = ("total price of a cart", "Payment", "zebra quark")


def configure(*settings: str) -> SearchConfig:
    return load_search_config(settings)


@pytest.fixture(scope="module")
def small(corpus_of: CorpusOf) -> Corpus:
    return corpus_of(_FILES)


@pytest.fixture(scope="module")
def shop(corpus_of: CorpusOf) -> Index:
    return Index.build(corpus_of(SAMPLES))


def with_settings(index: Index, *settings: str) -> Index:
    """Search the table of an index with other settings."""
    config = configure(*settings)
    corpus = open_corpus(parse_spec(str(index.root)))
    return Index._of(corpus, index.table, config, None)


def paths(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.path for hit in hits]


@pytest.mark.parametrize(
    ("tokenizer", "terms"),
    [
        ("identifier", ("pars", "request", "parserequest")),
        ("unicode", ("parserequest",)),
        ("trigram", ("par", "ars", "rse", "ser", "ere", "req", "equ", "que", "ues", "est")),
    ],
)
def test_terms_of_a_name(tokenizer: Any, terms: tuple[str, ...]) -> None:
    assert set(word_tokens("parseRequest", tokenizer)) == set(terms)
    assert parse_query("parseRequest", tokenizer).terms == word_tokens("parseRequest", tokenizer)


def test_unicode_terms_have_neither_accents_nor_underscores_and_short_words_no_trigrams() -> None:
    assert word_tokens("Café_Größe", "unicode") == ("cafe", "große")
    assert word_tokens("ab", "trigram") == ()


@pytest.mark.parametrize("tokenizer", ["identifier", "unicode", "trigram"])
@pytest.mark.parametrize("match", ["any", "all"])
@pytest.mark.parametrize("query", ["parse request", "parserequest", "quest", "cafe", "send zebra"])
def test_matches_are_the_chunks_with_any_or_all_terms(small: Corpus, tokenizer: Any, match: str, query: str) -> None:
    index = Index.build(small, configure(*_LEXICAL, f"index.tokenizer={tokenizer}", f"lexical.match={match}"))
    terms = set(parse_query(query, tokenizer).terms)
    wanted = set()
    for path, text in _FILES.items():
        held = {term for word in find_words(f"{path} {text}") for term in word_tokens(word, tokenizer)}
        if terms and (terms <= held if match == "all" else terms & held):
            wanted.add(path)
    assert set(paths(index.search(query, 99, per="span", pad=False))) == wanted


def test_the_tokenizers_differ_where_they_should(small: Corpus) -> None:
    def found(query: str, *settings: str) -> set[str]:
        return set(paths(Index.build(small, configure(*_LEXICAL, *settings)).search(query, per="span", pad=False)))

    assert found("parse request") == {"server.py", "notes.md"}
    assert found("parse request", "index.tokenizer=unicode", "lexical.match=all") == {"notes.md"}
    assert found("quest", "index.tokenizer=trigram") == {"server.py", "notes.md"}
    assert found("quest") == set()


@pytest.mark.parametrize("per", ["file", "span"])
@pytest.mark.parametrize(
    ("setting", "accepts"),
    [
        ("filter.include=*.py,*.go", lambda hit: hit.path.endswith((".py", ".go"))),
        ("filter.include=*.py,*.md,!cart.py", lambda hit: hit.path.endswith(".md")),
        ("filter.languages=python,go", lambda hit: hit.path.endswith((".py", ".go"))),
        ("filter.kinds=docs", lambda hit: hit.path in ("README.md", "guide.rst")),
        ("filter.min_score=0.5", lambda hit: hit.score >= 0.5),
    ],
)
def test_filter_settings_remove_results_and_keep_the_order(
    shop: Index, setting: str, accepts: Callable[[Hit], bool], per: Per
) -> None:
    filtered = with_settings(shop, setting)
    for query in _QUERIES:
        every = shop.search(query, 9999, per=per)
        kept = [hit for hit in every if accepts(hit)]
        assert len(kept) < len(every)
        assert list(filtered.search(query, 9999, per=per)) == kept
        assert list(filtered.search(query, 3, per=per)) == kept[:3]


@pytest.mark.parametrize(
    ("setting", "word"),
    [("filter.languages=klingon", "klingon"), ("filter.kinds=poem", "poem"), ("filter.min_score=-1", "min_score")],
)
def test_a_filter_that_cannot_be_met_is_an_error(shop: Index, setting: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        with_settings(shop, setting).search("cart")


@pytest.mark.parametrize("value", ["1.01", "-0.5", "-2", "nan"])
def test_alpha_is_a_share_or_unset(value: str) -> None:
    with pytest.raises(ConfigError, match=r"dense\.alpha"):
        configure(f"dense.alpha={value}")
    assert configure("dense.alpha=-1") == SearchConfig()


@pytest.mark.parametrize("per", ["file", "span"])
def test_alpha_moves_from_lexical_to_dense_scores(shop: Index, per: Per) -> None:
    query = "total price of a cart"

    def scores(*settings: str) -> np.ndarray[Any, Any]:
        trace = with_settings(shop, *settings).explain(query, per=per)
        return next(stage.scores for stage in trace.stages if stage.name == "fused")

    def stage(name: str) -> np.ndarray[Any, Any]:
        return next(stage.scores for stage in shop.explain(query, per=per).stages if stage.name == name)

    lexical = scores("dense.alpha=0")
    assert np.array_equal(lexical > 0, stage("lexical") > 0)
    dense = scores("dense.alpha=1")
    assert not np.allclose(dense, lexical)
    assert np.array_equal(dense, scores("dense.alpha=1", "lexical.b=0.1", "lexical.match=all"))
    assert not np.array_equal(scores("dense.alpha=0.5"), scores("dense.alpha=0.5", "lexical.b=0.1"))


@pytest.mark.parametrize(
    ("query", "path", "setting"),
    [
        ("the dependencies", "dependency.py", "stem.inflections=false"),
        ("call myfunc now", "my_func.py", "stem.inflections=false"),
        ("call my_func now", "my_func.py", ""),
    ],
)
def test_inflections_and_separators_of_file_names(small: Corpus, query: str, path: str, setting: str) -> None:
    index = Index.build(small)
    row = index.table.files.paths.index(path)

    def gain(index: Index) -> float:
        stages = {stage.name: stage.scores for stage in index.explain(query).stages}
        names = list(stages)
        return float(stages["stem"][row] - stages[names[names.index("stem") - 1]][row])

    full = index.config.stem.files
    assert gain(index) == pytest.approx(full)
    if setting:
        assert gain(with_settings(index, setting)) < full


def test_stop_words_name_a_file_only_if_they_are_not_ignored(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({"how_to.py": "x = 1\n", "login.py": "def authenticate(user):\n    return user\n"})
    index = Index.build(corpus)
    query = "how to authenticate"

    def score(index: Index) -> float:
        return next(hit.score or 0.0 for hit in index.search(query) if hit.path == "how_to.py")

    assert score(with_settings(index, "stem.stop_words=false")) > max(score(index), 0.0)
    lexical = Index.build(corpus, configure(*_LEXICAL, "lexical.stop_words=false")).search(query, per="span", pad=False)
    assert "how_to.py" in paths(lexical)


@pytest.mark.parametrize("per", ["file", "span"])
@pytest.mark.parametrize("dense", [True, False])
def test_padding_is_in_the_order_of_similarity_and_below_every_match(shop: Index, dense: bool, per: Per) -> None:
    index = shop if dense else with_settings(shop, "dense.model=", "translation.model=")
    hits = index.search("coupon zebra quark", 9999, per=per)
    matches = index.search("coupon zebra quark", 9999, per=per, pad=False)
    padding = [hit.score or 0.0 for hit in hits[len(matches) :]]
    assert hits[: len(matches)] == matches
    assert all((hit.score or 0) > 0 for hit in matches)
    assert all(-2 <= score <= 0 for score in padding)
    assert padding == sorted(padding, reverse=True)
    assert dense or (padding and set(padding) == {-1.0})
    assert {hit.path for hit in hits} == set(index.table.files.paths) or per == "span"


def test_a_query_without_words_is_not_padded(shop: Index) -> None:
    assert shop.search("") == shop.search("?!") == ()
