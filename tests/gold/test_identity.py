"""What changes a hash and what does not."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold import gold_hash, load_gold, query_hash, resolve
from assay.types import Adversary, CorpusSpec, GoldSet, Query, Rationale, Span, Target

CORPUS = CorpusSpec("git", "https://x/y", rev="abc", root="src", include=("*.py",), exclude=("build",))
QUERY = Query(
    "q",
    {"human": "how?", "keyword": "k"},
    (Target(Span("a.py"), symbol="f"), Target(Span("b.py", 1, 2), 1)),
    (Adversary(Target(Span("c.py")), "sibling", "strong", "looks right"),),
)

CHANGED = {
    "id": replace(QUERY, id="p"),
    "form text": replace(QUERY, forms={"human": "how", "keyword": "k"}),
    "form name": replace(QUERY, forms={"human": "how?", "ai_optimized": "k"}),
    "form gone": replace(QUERY, forms={"human": "how?"}),
    "target": replace(QUERY, targets=(Target(Span("a.py"), symbol="g"), *QUERY.targets[1:])),
    "range": replace(QUERY, targets=(QUERY.targets[0], Target(Span("b.py", 1, 3), 1))),
    "grade": replace(QUERY, targets=(QUERY.targets[0], Target(Span("b.py", 1, 2), 2))),
    "adversary": replace(QUERY, adversaries=()),
    "irrelevant": replace(QUERY, irrelevant=(Target(Span("d.py"), 0),)),
    "relationship": replace(QUERY, adversaries=(replace(QUERY.adversaries[0], relationship="test"),)),
    "strength": replace(QUERY, adversaries=(replace(QUERY.adversaries[0], strength="weak"),)),
    "confusion": replace(QUERY, adversaries=(replace(QUERY.adversaries[0], confusion="else"),)),
    "adversary path": replace(QUERY, adversaries=(replace(QUERY.adversaries[0], target=Target(Span("d.py"))),)),
}
SAME = {
    "line": replace(QUERY, line=99),
    "rationale": replace(QUERY, rationale=Rationale("a", "b", "c")),
    "tags": replace(QUERY, tags={"difficulty": "hard"}),
    "measures": replace(QUERY, measures=("RR@10",)),
    "form order": replace(QUERY, forms={"keyword": "k", "human": "how?"}),
    "resolved": replace(
        QUERY, targets=(replace(QUERY.targets[0], span=Span("a.py", 3, 9), unit=Span("a.py", 3, 9)), QUERY.targets[1])
    ),
}


@pytest.mark.parametrize("query", CHANGED.values(), ids=CHANGED)
def test_query_hash_changes_with_what_is_measured(query):
    assert query_hash(query, CORPUS) != query_hash(QUERY, CORPUS)


@pytest.mark.parametrize("query", SAME.values(), ids=SAME)
def test_query_hash_stays_with_what_is_not(query):
    assert query_hash(query, CORPUS) == query_hash(QUERY, CORPUS)


@pytest.mark.parametrize("part", ["kind", "value", "rev", "root", "include", "exclude"])
def test_query_hash_covers_the_corpus(part):
    changed: dict[str, Any] = {part: ("x",) if part in ("include", "exclude") else "npm"}
    other = replace(CORPUS, **changed)
    assert query_hash(QUERY, other) != query_hash(QUERY, CORPUS)


@given(st.permutations(sorted(CHANGED)))
def test_gold_hash_does_not_depend_on_order_name_or_source(order):
    queries = {name: replace(CHANGED[name], id=name.replace(" ", "-")) for name in CHANGED}
    first = GoldSet("a", CORPUS, tuple(queries[name] for name in sorted(CHANGED)), {"by": "x"}, "a.yaml")
    assert gold_hash(GoldSet("b", CORPUS, tuple(queries[name] for name in order))) == gold_hash(first)
    assert gold_hash(replace(first, queries=first.queries[1:])) != gold_hash(first)


def test_gold_hash_is_the_same_before_and_after_resolving(native, make_corpus):
    gold = load_gold(native()).golds[0]
    assert gold_hash(resolve(gold, make_corpus()).gold) == gold_hash(gold)


def test_query_hash_is_pinned_so_that_old_records_stay_comparable():
    assert query_hash(QUERY, CORPUS) == "e7a8a837b5153c3da6dcb189cd6830041befeae977ad59c804e4cb76ba6e6e06"
