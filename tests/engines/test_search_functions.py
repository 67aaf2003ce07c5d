"""Any callable that takes (query, k) or (query) is an engine; every other signature is an error, never a score of 0."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import as_engine
from assay.engines.calls import open_session, query_session
from assay.engines.normalize import Normalizer
from assay.errors import ConfigError
from assay.types import Corpus, Hit, Status
from tests.properties import examples
from tests.waiting import WATCHDOG

PATHS = [f"{number}.py" for number in range(50)]


class Retriever:
    def __call__(self, query: str) -> list[str]:
        return PATHS

    def search(self, query: str) -> list[str]:
        return PATHS

    def top(self, query: str, limit: int = 5) -> list[str]:
        return PATHS[:limit]


def plain(query, k):
    return PATHS[:k]


def defaulted(query, n=5):
    return PATHS[:n]


def unset(query, n=None):
    return PATHS[:n]


def keyword(query, *, k):
    return PATHS[:k]


def third(query, model="m", k=5):
    return PATHS[:k] if model == "m" else []


def starred(*args):
    return PATHS[: args[1]]


def query_only(query):
    return PATHS


def lazy(query) -> Iterator[str]:
    yield from PATHS


def anything(query, **options):
    return [] if options else PATHS


def threshold(query, cutoff=0.5):
    return PATHS if cutoff == 0.5 else []


def flagged(query, verbose=False):
    return [] if verbose else PATHS


@pytest.mark.parametrize(
    "function",
    [
        *(plain, defaulted, unset, keyword, third, starred, query_only, lazy, anything, threshold, flagged),
        lambda query: PATHS,
        functools.partial(third, model="m"),
        functools.wraps(query_only)(lambda *args: query_only(*args)),
        Retriever(),
        Retriever().search,
        Retriever().top,
    ],
)
def test_k_results_of_every_usable_signature(corpus: Corpus, function: Callable[..., object]) -> None:
    session = open_session(as_engine(function), corpus).session
    for k in (1, 7, 50):
        answer = query_session(session, "query", k, WATCHDOG)
        assert (answer.status, answer.hits) == (Status.OK, tuple(map(Hit, PATHS[:k])))
        assert not [note for note in Normalizer(corpus)(answer.hits, k).notes if "asked for" in note]


@examples(60)
@given(paths=st.lists(st.sampled_from(PATHS), max_size=30), k=st.integers(1, 40))
def test_a_retriever_without_k_equals_one_that_truncates(corpus: Corpus, paths: list[str], k: int) -> None:
    without = open_session(as_engine(lambda query: paths), corpus).session
    taking_k = open_session(as_engine(lambda query, k: paths[:k]), corpus).session
    assert query_session(without, "query", k, WATCHDOG).hits == query_session(taking_k, "query", k, WATCHDOG).hits


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (lambda: PATHS, "if it makes an engine"),
        (lambda query, corpus, index: PATHS, "(query, k)"),
        (lambda *, query: PATHS, "(query, k)"),
        (lambda query, *, index: PATHS, "(query, k)"),
    ],
)
def test_an_unusable_signature_is_an_error(function: Callable[..., object], hint: str) -> None:
    with pytest.raises(ConfigError, match=r"takes neither \(query, k\) nor \(query\)") as caught:
        as_engine(function)
    assert hint in str(caught.value.hint)
