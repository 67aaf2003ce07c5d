"""Who says that it is right? Proposals, votes that are blind to each other, decisions, and what becomes gold."""

from assay.gold.review.items import Item, ItemKind, Origin, make_item
from assay.gold.review.queue import Added, Queue

__all__ = ["Added", "Item", "ItemKind", "Origin", "Queue", "make_item"]
