"""Measures for the Python API: `from assay.measures import nDCG, RR`."""

from assay.scoring import RR, nDCG, parse_measure
from assay.scoring.measures import (
    AP,
    All,
    Any,
    Displacement,
    Drop,
    Hit,
    Judged,
    LineP,
    LineR,
    P,
    R,
    RankGap,
    RecallAtTokens,
    SpanR,
    Spread,
    TokensToHit,
    Worst,
)

__all__ = [
    "AP", "RR", "All", "Any", "Displacement", "Drop", "Hit", "Judged", "LineP", "LineR", "P", "R", "RankGap",
    "RecallAtTokens", "SpanR", "Spread", "TokensToHit", "Worst", "nDCG", "parse_measure",
]  # fmt: skip
