"""What counts as right? Gold sets: read, checked against the code, hashed."""

from assay.gold.anchors.resolving import Problem, Resolution, resolve
from assay.gold.identity import gold_hash, query_hash
from assay.gold.leaks import leak, overlaps
from assay.gold.loading import join, load_gold
from assay.gold.native.writing import write_native
from assay.gold.tags import TagRule

__all__ = [
    "Problem",
    "Resolution",
    "TagRule",
    "gold_hash",
    "join",
    "leak",
    "load_gold",
    "overlaps",
    "query_hash",
    "resolve",
    "write_native",
]
