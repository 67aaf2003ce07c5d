"""A small set, its code, and proposals to vote on."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.gold import load_gold
from assay.gold.review.items import ItemOrigin, ReviewItem, ReviewQueue, make_item
from assay.gold.review.votes import Vote, VoteLog
from assay.types import PRIMARY, Adversary, Query, Span, Target
from tests.conftest import FILES, GOLD, write_tree

PLACE = Span("shop/tax.py", 11, 13)


@pytest.fixture
def gold_file(tmp_path) -> Path:
    return write_tree(tmp_path / "repo", FILES | {"gold.yaml": GOLD}) / "gold.yaml"


@pytest.fixture
def queue(gold_file) -> ReviewQueue:
    return ReviewQueue(gold_file)


def query_of(queue: ReviewQueue, query_id: str) -> Query:
    """Give a query of the set."""
    return next(q for q in load_gold(queue.gold_file).golds[0].queries if q.id == query_id)


def target_item(queue: ReviewQueue, span: Span = PLACE, query: str = "tax-lookup", engines=("mine",)) -> ReviewItem:
    """Propose a place as an answer, because engines returned it."""
    about = replace(query_of(queue, query), targets=(Target(span),), adversaries=(), rationale=None)
    return make_item(
        "target", about, ItemOrigin("pool", "unjudged results", tuple(engines)), on="2026-01-02", commit="abc"
    )


def query_item(queue: ReviewQueue, query_id: str = "receipt-text", path: str = "shop/receipt.py") -> ReviewItem:
    """Propose a whole query."""
    forms = {"human": "how is a receipt written?"}
    return make_item("query", Query(query_id, forms, (Target(Span(path), PRIMARY),)), ItemOrigin("docs", "README.md"))


def adversary_item(queue: ReviewQueue, path: str = "shop/cart.py") -> ReviewItem:
    """Propose a wrong answer."""
    wrong = Adversary(Target(Span(path)), "sibling", "weak", "prices, not rates")
    return make_item(
        "adversary",
        replace(query_of(queue, "tax-lookup"), adversaries=(wrong,)),
        ItemOrigin("names", shown_by=("mine",)),
    )


def phrasing_item(queue: ReviewQueue, form: str = "ai_optimized", text: str = "RATES lookup by country") -> ReviewItem:
    """Propose a phrasing."""
    return make_item("phrasing", replace(query_of(queue, "tax-lookup"), forms={form: text}), ItemOrigin("rules"))


def cast(
    queue: ReviewQueue, reviewer: str, item: ReviewItem, value: str, on: str = "2026-02-03T04:05:06.000+00:00", **more
) -> Vote:
    """Vote."""
    vote = Vote(item.id, reviewer, value, f"{reviewer} says so", on, **more)
    VoteLog(queue, reviewer).cast([vote])
    return vote
