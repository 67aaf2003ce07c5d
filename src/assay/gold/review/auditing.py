"""Put the labels that a set has already into its queue, so that others can say whether they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assay.gold.review.items import Item, Origin, make_item
from assay.types import Gold


def label_items(gold: Gold, *, on: str = "", commit: str = "") -> Iterator[Item]:
    """Yield an item for each target of each query; its grade is not shown, for reviewers are to give their own."""
    for query in gold.queries:
        for target in query.targets:
            about = replace(query, targets=(target,), adversaries=(), rationale=None)
            yield make_item("target", about, Origin("set", gold.name), on=on, commit=commit)
