"""Proposals for a gold set, from where questions and answers lie already; a person decides on every one."""

from assay.gold.mining.adversaries.choosing import mine_adversaries
from assay.gold.mining.config import DEFAULT_SOURCES, SOURCES
from assay.gold.mining.foreign import foreign
from assay.gold.mining.ground import Ground
from assay.gold.mining.linting import lint_check
from assay.gold.mining.phrasings.asking import ask_phrasings
from assay.gold.mining.phrasings.rules import mine_phrasings
from assay.gold.mining.proposals import Found, Intake, Passed, Refused, Stamp, Unplaced
from assay.gold.mining.proposing import propose
from assay.gold.mining.repository.comments import mine_comments
from assay.gold.mining.repository.docs import mine_docs
from assay.gold.mining.repository.history import mine_history
from assay.gold.mining.repository.names import mine_names
from assay.gold.mining.traces.asked import mine_shell, mine_transcript

#: The miners of a repository, by the names that the command line has for them.
MINERS = {"history": mine_history, "docs": mine_docs, "comments": mine_comments, "names": mine_names}

__all__ = [
    "DEFAULT_SOURCES",
    "MINERS",
    "SOURCES",
    "Found",
    "Ground",
    "Intake",
    "Passed",
    "Refused",
    "Stamp",
    "Unplaced",
    "ask_phrasings",
    "foreign",
    "lint_check",
    "mine_adversaries",
    "mine_phrasings",
    "mine_shell",
    "mine_transcript",
    "propose",
]
