"""Move the anchors of a gold set from one commit to another, by git's diff and the parse tree."""

from assay.gold.reanchor.records import CONFIDENCES, DEFAULT, Confidence, Move, MoveSuggestion, Reanchoring
from assay.gold.reanchor.sets import (
    LabelMove,
    Lines,
    Lost,
    Moves,
    ReanchoredGold,
    RepoCommits,
    apply,
    locate,
    made_at,
    reanchor,
    unlabelled,
    with_digests,
)
from assay.gold.reanchor.trees import GitRepository, read_tree

__all__ = [
    "CONFIDENCES",
    "DEFAULT",
    "Confidence",
    "GitRepository",
    "LabelMove",
    "Lines",
    "Lost",
    "Move",
    "MoveSuggestion",
    "Moves",
    "ReanchoredGold",
    "Reanchoring",
    "RepoCommits",
    "apply",
    "locate",
    "made_at",
    "read_tree",
    "reanchor",
    "unlabelled",
    "with_digests",
]
