"""Gold sets: load, resolve against a corpus, hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.gold.anchors import AnchorProblem, Resolution, resolve
    from assay.gold.building import gold_hash, query_hash
    from assay.gold.leaks import leakage, overlaps
    from assay.gold.loading import TagRule, join, load_gold
    from assay.gold.native.layers import write_native

#: Modules of the public names, imported on first use: a report needs no gold formats.
_HOMES = {
    "AnchorProblem": "anchors",
    "Resolution": "anchors",
    "TagRule": "loading",
    "gold_hash": "building",
    "join": "loading",
    "leakage": "leaks",
    "load_gold": "loading",
    "overlaps": "leaks",
    "query_hash": "building",
    "resolve": "anchors",
    "write_native": "native.layers",
}

__all__ = [
    "AnchorProblem",
    "Resolution",
    "TagRule",
    "gold_hash",
    "join",
    "leakage",
    "load_gold",
    "overlaps",
    "query_hash",
    "resolve",
    "write_native",
]


def __getattr__(name: str) -> object:
    """Import a public name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
