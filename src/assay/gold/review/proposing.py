"""A place that a reviewer marks in the code: a proposal like any other, for everybody to vote on."""

from __future__ import annotations

from dataclasses import replace

from assay.errors import GoldError
from assay.gold.anchors.lookup import Library, Missing
from assay.gold.circumstances import today
from assay.gold.place import Place
from assay.gold.review.desk import Desk
from assay.gold.review.items import Item, Origin, make_item
from assay.gold.targets import parse_target
from assay.types import Query


def other_place(desk: Desk, item: Item, anchor: str) -> Item:
    """Propose another place for the query of an item; who proposed it is not kept, for that would be a vote."""
    target = parse_target(anchor, Place("the place"))
    found = Library(desk.corpus).look_up(target)
    if isinstance(found, Missing):
        raise GoldError(found.message, hint=found.hint)
    about = replace(_whole(desk, item.query), targets=(target,), adversaries=(), rationale=None)
    return make_item("target", about, Origin("reviewer"), on=today(), commit=desk.commit)


def _whole(desk: Desk, query: Query) -> Query:
    """Give a query as the set has it by now: an item about one phrasing has no other."""
    gold = desk.load()
    return next((known for known in (gold.queries if gold else ()) if known.id == query.id), query)
