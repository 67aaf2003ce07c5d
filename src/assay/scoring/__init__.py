"""Measures of rankings against labeled targets, and the scores of runs."""

from assay.scoring.checks import IdenticalEngines, Ties, identical_rankings, ranking_codes, ties
from assay.scoring.match import LEVELS, Level, Match, match
from assay.scoring.measures import (
    AP,
    MEASURES,
    RR,
    All,
    Any,
    Displacement,
    Drop,
    Hit,
    Judged,
    LineP,
    LineR,
    Measure,
    P,
    R,
    RankGap,
    RecallAtTokens,
    SpanR,
    Spread,
    TokensToHit,
    Worst,
    nDCG,
    parse_measure,
)
from assay.scoring.score import EvaluationMean, Slice, breakdown, evaluation_means, evaluation_measures, score

__all__ = [
    "AP", "LEVELS", "MEASURES", "RR", "All", "Any", "Displacement", "Drop", "EvaluationMean", "Hit", "IdenticalEngines",
    "Judged", "Level", "LineP", "LineR", "Match", "Measure", "P", "R", "RankGap", "RecallAtTokens", "Slice", "SpanR",
    "Spread", "Ties", "TokensToHit", "Worst", "breakdown", "evaluation_means", "evaluation_measures",
    "identical_rankings", "match", "nDCG", "parse_measure", "ranking_codes", "score", "ties",
]  # fmt: skip
