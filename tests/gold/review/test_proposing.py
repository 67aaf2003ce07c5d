"""A place that a reviewer marks is a proposal like any other; and what would be accepted is known before it is."""

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.review.acceptance import accept, preview
from assay.gold.review.reviewers import VoteInput, make_vote, propose_location
from assay.gold.review.views import ReviewWorkspace
from assay.types import CorpusSpec, Span
from tests.gold.review.conftest import cast, phrasing_item, query_item, target_item


def test_another_place_is_about_the_query_as_the_set_has_it(queue):
    made = propose_location(ReviewWorkspace(queue.gold_file), phrasing_item(queue), "shop/tax.py::with_tax")
    assert (made.kind, made.anchor, made.origin.how, made.origin.source) == (
        "target", "shop/tax.py::with_tax", "reviewer", "",
    )  # fmt: skip
    assert sorted(made.query.forms) == ["human", "keyword", "wrong_terminology"]
    assert queue.add([made, made]).new == 1
    assert queue.items() == (made,)


def test_source_date_epoch_dates_a_proposal_and_no_vote(queue, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    desk, item = ReviewWorkspace(queue.gold_file), target_item(queue)
    assert propose_location(desk, item, "shop/tax.py::with_tax").on == "1970-01-02"
    assert make_vote(desk, "ada", item, VoteInput(item.id, "1", "why")).on > "2026"


def test_another_place_for_a_query_that_is_no_gold_yet(queue):
    item = query_item(queue)
    made = propose_location(ReviewWorkspace(queue.gold_file), item, "shop/cart.py:4-6")
    assert (made.query.id, made.query.headline) == (item.query.id, item.query.headline)


def test_the_same_place_from_engines_and_from_a_reviewer_is_one_item(queue):
    pooled = target_item(queue, Span("shop/tax.py", 11, 13))
    assert propose_location(ReviewWorkspace(queue.gold_file), pooled, "shop/tax.py:11-13").id == pooled.id


@pytest.mark.parametrize("anchor", ["shop/tax.py:1-99", "shop/tax.py::nobody", "../x.py", "shop/none.py", ""])
def test_a_place_that_is_not_there_is_refused(queue, anchor):
    with pytest.raises(GoldError):
        propose_location(ReviewWorkspace(queue.gold_file), target_item(queue), anchor)


def test_what_is_foreseen_is_what_is_accepted_and_writes_nothing(queue):
    items = [target_item(queue), query_item(queue)]
    queue.add(items)
    for name in ("ada", "bob"):
        cast(queue, name, items[0], "1")
        cast(queue, name, items[1], "accept")
    before = queue.gold_file.read_bytes()

    def load():
        return load_gold(queue.gold_file).golds[0]

    seen = preview(queue, load(), lambda _: ())
    assert queue.gold_file.read_bytes() == before
    assert not (queue.directory / "accepted.jsonl").exists()
    made = accept(queue, load, lambda _: (), on="2026-02-03")
    assert (seen.taken, seen.refused, seen.gold) == (made.taken, made.refused, made.gold)
    assert seen.added == 2
    assert preview(queue, load(), lambda _: ()).taken == ()


def test_what_would_begin_a_set_needs_its_code(tmp_path):
    from assay.gold.review.items import ReviewQueue

    queue = ReviewQueue(tmp_path / "new.yaml")
    item = query_item(queue)
    queue.add([item])
    for name in ("ada", "bob"):
        cast(queue, name, item, "accept")
    with pytest.raises(GoldError, match="the gold set does not exist"):
        preview(queue, None, lambda _: ())
    seen = preview(queue, None, lambda _: (), corpus=CorpusSpec("path", "."))
    assert seen.gold is not None
    assert seen.added == 1
    assert not queue.gold_file.exists()
