"""Proposals for a gold set, mined from a repository and from logs; reviewers decide on each."""

from assay.gold.mining.adversaries import mine_adversaries
from assay.gold.mining.asked import mine_shell, mine_transcript
from assay.gold.mining.codebase import CodeIndex
from assay.gold.mining.config import DEFAULT_SOURCES, SOURCES
from assay.gold.mining.docs import mine_comments, mine_docs, mine_names
from assay.gold.mining.endpoint import ask_phrasings, propose
from assay.gold.mining.history import mine_history
from assay.gold.mining.intake import (
    Intake,
    IntakeResult,
    MinedItems,
    ProposalInfo,
    Rejection,
    UnlocatedQuery,
    check_same_corpus,
    lint_check,
)
from assay.gold.mining.phrasings import mine_phrasings

#: Miners of a repository by source name.
MINERS = {"history": mine_history, "docs": mine_docs, "comments": mine_comments, "names": mine_names}

__all__ = [
    "DEFAULT_SOURCES",
    "MINERS",
    "SOURCES",
    "CodeIndex",
    "Intake",
    "IntakeResult",
    "MinedItems",
    "ProposalInfo",
    "Rejection",
    "UnlocatedQuery",
    "ask_phrasings",
    "check_same_corpus",
    "lint_check",
    "mine_adversaries",
    "mine_phrasings",
    "mine_shell",
    "mine_transcript",
    "propose",
]
