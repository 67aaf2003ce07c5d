"""Gold sets: load, resolve against a corpus, hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.gold.anchors import AnchorProblem, Resolution, resolve
    from assay.gold.build import gold_hash, query_hash
    from assay.gold.formats.native import write_native
    from assay.gold.leaks import leakage, overlaps
    from assay.gold.load import TagRule, join, load_gold

#: Modules of the public names, imported on first use: a report needs no gold formats.
_HOMES = {
    "AnchorProblem": "anchors",
    "Resolution": "anchors",
    "TagRule": "load",
    "gold_hash": "build",
    "join": "load",
    "leakage": "leaks",
    "load_gold": "load",
    "overlaps": "leaks",
    "query_hash": "build",
    "resolve": "anchors",
    "write_native": "formats.native",
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
