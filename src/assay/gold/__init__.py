"""Load, resolve, hash and write gold sets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.gold.anchors import AnchorProblem, Resolution, resolve
    from assay.gold.build import gold_hash, query_hash
    from assay.gold.formats.native import write_native
    from assay.gold.load import TagRule, join, load_gold
    from assay.gold.query_properties import leakage, overlaps

#: Module -> public names. Modules are imported on first use, since a report needs no gold formats.
_MODULES = {
    "anchors": ("AnchorProblem", "Resolution", "resolve"),
    "build": ("gold_hash", "query_hash"),
    "formats.native": ("write_native",),
    "query_properties": ("leakage", "overlaps"),
    "load": ("TagRule", "join", "load_gold"),
}

__all__ = [
    "AnchorProblem", "Resolution", "TagRule", "gold_hash", "join", "leakage", "load_gold", "overlaps", "query_hash",
    "resolve", "write_native",
]  # fmt: skip


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
