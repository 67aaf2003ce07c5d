"""Review of proposals: a queue of items, blinded votes, adjudication, and acceptance into the gold set."""

from assay.gold.review.items import Added, Item, ItemKind, Origin, Queue, make_item

__all__ = ["Added", "Item", "ItemKind", "Origin", "Queue", "make_item"]
