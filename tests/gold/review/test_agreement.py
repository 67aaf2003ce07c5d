"""Agreement is over blind votes, kind by kind."""

import pytest

from assay.gold.review.agreement import Resampling, compute_agreement
from assay.gold.review.items import ItemOrigin, make_item
from assay.gold.review.votes import Adjudication, Vote
from assay.types import Query, Span, Target

FEW = Resampling(draws=20)


def item(number, kind="target"):
    return make_item(kind, Query("q", {"human": f"{number}?"}, (Target(Span("a.py")),)), ItemOrigin("pool"))


def votes(items, **said):
    return [
        Vote(one.id, name, value, "why", f"2026-01-01T00:00:0{at}")
        for name, values in said.items()
        for at, (one, value) in enumerate(zip(items, values, strict=True))
        if value
    ]


def test_each_kind_has_its_own_numbers():
    grades, whole = [item(n) for n in range(4)], [item(n, "query") for n in range(4)]
    said = votes(grades, ada="2102", bob="2101")
    said += [
        Vote(one.id, name, "accept" if at else "reject", "y", "0") for at, one in enumerate(whole) for name in "ab"
    ]
    targets, queries = sorted(compute_agreement([*grades, *whole], said, [], FEW), key=lambda found: -len(found.alpha))
    assert (targets.kind, targets.items, targets.votes, targets.reviewers) == ("target", 4, 8, ("ada", "bob"))
    assert list(targets.alpha) == ["nominal", "ordinal", "interval"]
    assert targets.percent == pytest.approx(0.75)
    assert targets.pairs[0].table == ((1, 0, 0), (0, 1, 0), (0, 1, 1))  # rows: ada said 0, 1, 2
    assert targets.pairs[0].weighted is not None
    assert (queries.kind, queries.percent, queries.pairs[0].weighted) == ("query", 1, None)
    assert queries.pairs[0].kappa.value == 1


def test_unsure_is_a_missing_vote():
    items = [item(n) for n in range(3)]
    said = votes(items[:2], ada="21", bob="21") + [Vote(items[2].id, "ada", "unsure", "?", "0")]
    said.append(Vote(items[2].id, "bob", "2", "y", "0"))
    found = compute_agreement(items, said, [], FEW)[0]
    assert (found.items, found.unsure, found.percent) == (2, 1, 1)


def test_the_last_vote_counts_and_votes_after_a_decision_do_not():
    one, two = item(1), item(2)
    said = [
        Vote(one.id, "ada", "0", "y", "2026-01-01"),
        Vote(one.id, "ada", "2", "y", "2026-01-02"),  # a change of mind, still blind
        Vote(one.id, "bob", "2", "y", "2026-01-02"),
        Vote(two.id, "ada", "0", "y", "2026-01-01"),
        Vote(two.id, "bob", "2", "y", "2026-01-01"),
        Vote(two.id, "ada", "2", "y", "2026-01-09"),  # after the decision was there to be read
    ]
    decided = [Adjudication(two.id, "cy", "2", "y", "2026-01-05"), Adjudication(two.id, "cy", "2", "y", "2026-01-10")]
    assert compute_agreement([one, two], said, decided, FEW)[0].percent == 0.5


def test_votes_after_the_set_took_an_item_up_do_not_count():
    one = item(1)
    said = [Vote(one.id, name, "2", "y", "2026-01-01") for name in ("ada", "bob")]
    said.append(Vote(one.id, "bob", "0", "y", "2026-01-09"))
    assert compute_agreement([one], said, [], FEW)[0].percent == 0
    assert compute_agreement([one], said, [], FEW, {one.id: "2026-01-05"})[0].percent == 1
    late = [Adjudication(one.id, "cy", "0", "y", "2026-01-10")]
    assert compute_agreement([one], said, late, FEW, {one.id: "2026-01-05"})[0].percent == 1


def test_what_was_said_before_a_look_counts_and_what_was_changed_after_it_is_told():
    items = [item(n) for n in range(3)]
    said = votes(items, ada="210", bob="012")
    said += [
        Vote(one.id, "bob", value, "y", "2026-01-02", after="look") for one, value in zip(items, "210", strict=True)
    ]
    said.append(Vote(items[0].id, "cy", "2", "never blind", "2026-01-02", after="look"))
    found, blind = (compute_agreement(items, some, [], FEW)[0] for some in (said, said[:6]))
    assert (found.changed, blind.changed) == (4, 0)
    assert (found.percent, found.pairs, found.reviewers) == (blind.percent, blind.pairs, ("ada", "bob"))


def test_three_reviewers_make_three_pairs():
    items = [item(n) for n in range(4)]
    found = compute_agreement(items, votes(items, ada="2102", bob="2101", cy="2100"), [], FEW)[0]
    assert [(pair.first, pair.second) for pair in found.pairs] == [("ada", "bob"), ("ada", "cy"), ("bob", "cy")]
    assert found.alpha["ordinal"].items == 4
