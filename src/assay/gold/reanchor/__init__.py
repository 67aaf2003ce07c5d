"""Gold that survives edits: anchors moved from one commit to another through git's diff and the parse tree."""

from assay.gold.reanchor.records import CONFIDENCES, DEFAULT, Candidate, Confidence, Move, Reanchoring
from assay.gold.reanchor.sets import (
    Applied,
    Lines,
    Located,
    Lost,
    Moves,
    Row,
    apply,
    locate,
    made_at,
    reanchor,
    unlabelled,
    with_digests,
)
from assay.gold.reanchor.trees import Repository, read_tree

__all__ = [
    "CONFIDENCES",
    "DEFAULT",
    "Applied",
    "Candidate",
    "Confidence",
    "Lines",
    "Located",
    "Lost",
    "Move",
    "Moves",
    "Reanchoring",
    "Repository",
    "Row",
    "apply",
    "locate",
    "made_at",
    "read_tree",
    "reanchor",
    "unlabelled",
    "with_digests",
]
