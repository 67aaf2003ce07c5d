from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import make_engine
from assay.engines.calls import query_session
from assay.engines.normalize import read_reply
from assay.errors import EngineError
from assay.types import Corpus, CorpusSpec, GoldSet, Hit, Query, Span, Status, Suite, Target
from tests.properties import examples

CorpusOf = Callable[..., Corpus]
SPEC = CorpusSpec("stdlib")
FILES = {"a.py": "class A:\n    def f(self):\n        pass\n", "b.py": "x\n" * 9, "c.py": "y\n" * 9}


def suite_of(*queries: Query, spec: CorpusSpec = SPEC) -> Suite:
    return Suite((GoldSet("g", spec, queries),))


def asked(corpus: Corpus, suite: Suite, text: str, k: int = 10) -> list[Hit]:
    return list(read_reply(make_engine("oracle", suite=suite).open(corpus).search(text, k)).hits)


def test_oracle_gives_targets_by_grade_then_gold_order(corpus_of: CorpusOf) -> None:
    targets = (Target(Span("c.py", 1, 2), 1), Target(Span("b.py"), 2), Target(Span("a.py", 1, 1), 2))
    query = Query("q", {"human": "where", "keyword": "w"}, targets)
    corpus = corpus_of(FILES, SPEC)
    expected = [Hit("b.py"), Hit("a.py", 1, 1), Hit("c.py", 1, 2)]
    assert asked(corpus, suite_of(query), "where") == asked(corpus, suite_of(query), "w") == expected
    assert asked(corpus, suite_of(query), "where", 2) == expected[:2]


def test_oracle_finds_the_lines_of_symbols_that_are_not_resolved(corpus_of: CorpusOf) -> None:
    targets = (Target(Span("a.py"), 2, "A.f"), Target(Span("a.py"), 1, "A.gone"))
    assert asked(corpus_of(FILES, SPEC), suite_of(Query("q", {"human": "t"}, targets)), "t") == [Hit("a.py", 2, 3)]


def test_oracle_finds_symbols_of_other_languages(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({"a.go": "package a\n\nfunc Add() int {\n\treturn 1\n}\n"}, SPEC)
    corpus = replace(corpus, files=tuple(replace(file, language="go") for file in corpus.files))
    query = Query("q", {"human": "t"}, (Target(Span("a.go"), 2, "Add"),))
    assert asked(corpus, suite_of(query), "t") == [Hit("a.go", 3, 5)]


def test_oracle_leaves_out_what_the_corpus_lacks(corpus_of: CorpusOf) -> None:
    targets = (Target(Span("gone.py")), Target(Span("b.py")))
    assert asked(corpus_of(FILES, SPEC), suite_of(Query("q", {"human": "t"}, targets)), "t") == [Hit("b.py")]


def test_oracle_unites_the_targets_of_one_text(corpus_of: CorpusOf) -> None:
    one = Query("one", {"human": "same"}, (Target(Span("a.py")),))
    two = Query("two", {"human": "same"}, (Target(Span("b.py")), Target(Span("a.py"))))
    assert asked(corpus_of(FILES, SPEC), suite_of(one, two), "same") == [Hit("a.py"), Hit("b.py")]


def test_oracle_answers_only_for_its_own_corpus(corpus_of: CorpusOf) -> None:
    here = GoldSet("here", SPEC, (Query("q", {"human": "t"}, (Target(Span("a.py")),)),))
    there = GoldSet("there", CorpusSpec("pypi", "x==1"), (Query("q", {"human": "t"}, (Target(Span("b.py")),)),))
    corpus = corpus_of(FILES, SPEC)
    suite = Suite((here, there))
    assert asked(corpus, suite, "t") == [Hit("a.py")]
    session = make_engine("oracle", suite=suite).open(corpus)
    assert query_session(session, "unknown", 3).status == Status.ERROR
    with pytest.raises(EngineError):
        session.search("unknown", 3)


_targets = st.lists(
    st.tuples(st.sampled_from(sorted(FILES)), st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=6, unique=True
)


@examples(40)
@given(raw=_targets)
def test_oracle_is_perfect_when_everything_is_reachable(corpus_of: CorpusOf, raw: list[tuple[str, int, int]]) -> None:
    targets = tuple(Target(Span(path, line, line), grade) for path, line, grade in raw)
    hits = asked(corpus_of(FILES, SPEC), suite_of(Query("q", {"human": "t"}, targets)), "t")
    best = {target.span: 0 for target in targets}
    for target in targets:
        best[target.span] = max(best[target.span], target.grade)
    assert {hit.span for hit in hits} == set(best)
    gains = [best[hit.span] for hit in hits]
    assert gains == sorted(gains, reverse=True)


def test_oracle_follows_links_and_finds_implementations_of_overloads(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({"a.py": "@overload\ndef f(x: int): ...\ndef f(x):\n    return x\n"}, SPEC)
    (corpus.root / "link.py").symlink_to("a.py")
    query = Query("q", {"human": "?"}, (Target(Span("link.py"), 2, "f"),))
    assert asked(corpus, suite_of(query), "?") == [Hit("a.py", 3, 4)]
