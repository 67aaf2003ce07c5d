"""Votes settle an item by rules that anybody can follow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.gold.review.items import ItemOrigin, make_item
from assay.gold.review.votes import Adjudication, ReviewRules, Vote, compute_statuses
from assay.types import Query, Span, Target

ITEM = make_item("target", Query("q", {"human": "a?"}, (Target(Span("a.py")),)), ItemOrigin("pool"))
ON = "2026-02-03T04:05:06.000+00:00"


def stand(*said, decided=None, written=None, least=2):
    votes = [Vote(ITEM.id, name, value, "why", ON) for name, value in said]
    decisions = [Adjudication(ITEM.id, "cy", decided, "why", ON)] if decided else []
    return compute_statuses([ITEM], votes, decisions, {ITEM.id: written} if written else {}, ReviewRules(least))[0]


@pytest.mark.parametrize(
    ("said", "state", "value"),
    [
        ([], "open", None),
        ([("a", "2")], "waiting", None),
        ([("a", "unsure")], "waiting", None),
        ([("a", "2"), ("b", "2")], "agreed", "2"),
        ([("a", "0"), ("b", "0")], "agreed", "0"),
        ([("a", "2"), ("b", "1")], "disputed", None),
        ([("a", "2"), ("b", "unsure")], "disputed", None),
        ([("a", "unsure"), ("b", "unsure")], "disputed", None),
        ([("a", "2"), ("b", "2"), ("c", "0")], "disputed", None),
        ([("a", "0"), ("b", "2"), ("a", "2")], "agreed", "2"),  # a changed their mind
    ],
)
def test_votes_make_a_state(said, state, value):
    found = stand(*said)
    assert (found.state, found.value) == (state, value)


def test_one_reviewer_is_enough_only_where_that_was_said():
    assert stand(("a", "2"), least=1).state == "agreed"
    assert stand(("a", "2"), ("b", "2"), least=3).state == "waiting"
    with pytest.raises(ConfigError):
        ReviewRules(0)


def test_a_decision_holds_whatever_was_voted():
    found = stand(("a", "2"), ("b", "0"), decided="1")
    assert (found.state, found.value, found.supporters) == ("decided", "1", ("cy",))
    assert stand(("a", "2"), ("b", "0"), decided="2").supporters == ("a", "cy")


def test_what_was_written_is_done_until_something_else_holds():
    assert stand(("a", "2"), ("b", "2"), written="2").state == "accepted"
    assert stand(("a", "0"), ("b", "0"), written="0").state == "rejected"
    assert stand(("a", "1"), ("b", "1"), written="2").state == "agreed"
    assert stand(("a", "2"), ("b", "0"), written="2").state == "disputed"
    assert stand(("a", "2"), written="2").state == "accepted"  # settled by one, looked at with two


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["2", "1", "0", "unsure"])), max_size=6), st.data())
def test_the_order_in_which_reviewers_are_read_does_not_matter(said, data):
    names = data.draw(st.permutations("abc"))
    other = [pair for name in names for pair in said if pair[0] == name]
    one, two = stand(*said), stand(*other)
    assert (one.state, one.value, one.supporters) == (two.state, two.value, two.supporters)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["2", "1", "0", "unsure"])), max_size=6))
def test_agreed_means_that_enough_said_the_same_and_nobody_anything_else(said):
    found = stand(*said)
    last = dict(said)
    agreed = len(last) >= 2 and len(set(last.values())) == 1 and "unsure" not in last.values()
    assert (found.state == "agreed") == agreed
