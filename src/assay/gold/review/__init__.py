"""Who says that it is right? Proposals, votes that are blind to each other, decisions, and what becomes gold."""

from assay.gold.review.items import Added, Item, ItemKind, Origin, Queue, make_item

__all__ = ["Added", "Item", "ItemKind", "Origin", "Queue", "make_item"]
