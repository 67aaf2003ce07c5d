"""Measures of rankings against labeled targets, and the scores of runs."""

from assay.scoring.checks import IdenticalEngines, Ties, identical_rankings, ranking_codes, ties
from assay.scoring.match import LEVELS, Level, Match, match
from assay.scoring.measures import RR, Measure, nDCG, parse_measure
from assay.scoring.score import EvaluationMean, Slice, breakdown, evaluation_means, evaluation_measures, score

__all__ = [
    "LEVELS", "RR", "EvaluationMean", "IdenticalEngines", "Level", "Match", "Measure", "Slice", "Ties", "breakdown",
    "evaluation_means", "evaluation_measures", "identical_rankings", "match", "nDCG", "parse_measure", "ranking_codes",
    "score", "ties",
]  # fmt: skip
