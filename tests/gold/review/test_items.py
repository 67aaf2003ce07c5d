"""A proposal is known by what it proposes, and says so on disk."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.journal import read_row
from assay.gold.review.items import PROPOSAL_SOURCES, ItemOrigin, ReviewItem, item_mapping, make_item, read_item
from assay.types import FORMS, Adversary, Query, Span, Target
from tests.properties import examples

texts = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text.strip())
spans = st.sampled_from([Span("a.py"), Span("a/b.py", 1, 9), Span("ünï/ö.py", 4, 4)])
queries = st.builds(
    Query,
    id=st.sampled_from(["one", "two-2"]),
    forms=st.dictionaries(st.sampled_from(FORMS), texts, min_size=1, max_size=3),
    targets=spans.map(lambda span: (Target(span),)),
)


def read_back(item: ReviewItem, path) -> ReviewItem:
    return read_item(read_row(item_mapping(item), path, 7), 7)


@examples(40)
@given(
    query=queries,
    kind=st.sampled_from(["query", "target"]),
    origin=st.builds(
        ItemOrigin, st.sampled_from(PROPOSAL_SOURCES), texts | st.just(""), st.lists(texts, max_size=2).map(tuple)
    ),
    notes=st.lists(texts | st.just("  "), max_size=3),
)
def test_an_item_reads_back_as_it_was(tmp_path_factory, query, kind, origin, notes):
    item = make_item(kind, query, origin, on="2026-01-02", commit="abc", notes=notes)
    assert read_back(item, tmp_path_factory.getbasetemp() / "items.jsonl") == item


@pytest.mark.parametrize("kind", ["adversary", "phrasing"])
def test_items_about_part_of_a_query_read_back(tmp_path, kind):
    wrong = Adversary(Target(Span("b.py"), symbol="C.d"), "sibling", "weak", "looks alike")
    query = Query("q", {"human": "a?"}, (Target(Span("a.py", 1, 2)), Target(Span("c.py"), 1)), (wrong,))
    item = make_item(kind, query, ItemOrigin("names"))
    assert read_back(item, tmp_path / "x") == item
    assert (item.adversary == wrong) if kind == "adversary" else (item.form == "human")


def test_the_same_proposal_is_the_same_wherever_it_comes_from():
    query = Query("q", {"human": "a?"}, (Target(Span("a.py")),))
    one = make_item("target", query, ItemOrigin("pool", "x", ("mine",)), on="2026-01-02", commit="abc", notes=["n"])
    other = make_item("target", replace(query, tags={"a": "b"}, line=7), ItemOrigin("confusion"))
    assert one.id == other.id


def test_another_place_question_or_kind_is_another_proposal():
    query = Query("q", {"human": "a?"}, (Target(Span("a.py")),))
    origin = ItemOrigin("pool")
    others = [
        make_item("target", replace(query, targets=(Target(Span("b.py")),)), origin),
        make_item("target", replace(query, forms={"human": "b?"}), origin),
        make_item("target", replace(query, id="r"), origin),
        make_item("query", query, origin),
        make_item("phrasing", query, origin),
        make_item("target", query, origin),
    ]
    assert len({item.id for item in others}) == len(others)
    assert all(len(item.id) == 12 for item in others)


def test_what_else_a_query_has_by_now_does_not_make_another_proposal():
    query = Query("q", {"human": "a?"}, (Target(Span("a.py")),))
    more = replace(query, forms={"human": "a?", "keyword": "a"})
    assert make_item("target", query, ItemOrigin("pool")).id == make_item("target", more, ItemOrigin("pool")).id


def test_the_grade_of_a_lone_target_is_not_shown():
    query = Query("q", {"human": "a?"}, (Target(Span("a.py"), 1),))
    item = make_item("target", query, ItemOrigin("set"))
    assert item.target.grade == 2
    assert item.id == make_item("target", replace(query, targets=(Target(Span("a.py"), 2),)), ItemOrigin("set")).id


@pytest.mark.parametrize("kind", ["target", "adversary", "phrasing"])
def test_an_item_is_about_one_thing(kind):
    query = Query("q", {"human": "a?", "keyword": "a"}, (Target(Span("a.py")), Target(Span("b.py"))))
    with pytest.raises(GoldError, match=f"expected one {kind} in an item, got [02]"):
        make_item(kind, query, ItemOrigin("pool"))


def test_an_edited_line_is_refused(tmp_path):
    item = make_item("target", Query("q", {"human": "a?"}, (Target(Span("a.py")),)), ItemOrigin("pool"))
    line = item_mapping(item)
    edited = json.loads(json.dumps(line).replace("a.py", "b.py"))
    with pytest.raises(GoldError, match="was edited after it was queued") as caught:
        read_item(read_row(edited, tmp_path / "items.jsonl", 7), 7)
    assert caught.value.line == 7
