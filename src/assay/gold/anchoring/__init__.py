"""Gold that survives edits: anchors moved from one commit to another through git's diff and the parse tree."""

from assay.gold.anchoring.config import DEFAULT, Reanchoring
from assay.gold.anchoring.hashing import Lines, with_digests
from assay.gold.anchoring.locating import Located, locate
from assay.gold.anchoring.records import CONFIDENCES, Candidate, Confidence, Move
from assay.gold.anchoring.sets import Applied, Lost, Moves, Row, apply, reanchor
from assay.gold.anchoring.trees import Repository, read_tree

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
    "read_tree",
    "reanchor",
    "with_digests",
]
