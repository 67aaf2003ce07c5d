"""Gold that survives edits: anchors moved from one commit to another through git's diff and the parse tree."""

from assay.gold.reanchor.config import DEFAULT, Reanchoring
from assay.gold.reanchor.hashing import Lines, with_digests
from assay.gold.reanchor.locating import Located, locate, made_at, unlabelled
from assay.gold.reanchor.records import CONFIDENCES, Candidate, Confidence, Move
from assay.gold.reanchor.sets import Applied, Lost, Moves, Row, apply, reanchor
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
