"""Is a gold set sound? Rules with codes, each a fact about the set and its corpus that anybody can check."""

from assay.gold.lint.chunks import read_chunks
from assay.gold.lint.config import LintConfig
from assay.gold.lint.fixing import Fixed, fix
from assay.gold.lint.mending import Mended, mend
from assay.gold.lint.reaching import chunk_list
from assay.gold.lint.records import SEVERITIES, Finding, Leaks, Reach, Repair, Report, Rule, Severity, Tools
from assay.gold.lint.registry import RULES, Selection
from assay.gold.lint.running import join, lint
from assay.gold.lint.sets import Power

__all__ = [
    "RULES",
    "SEVERITIES",
    "Finding",
    "Fixed",
    "Leaks",
    "LintConfig",
    "Mended",
    "Power",
    "Reach",
    "Repair",
    "Report",
    "Rule",
    "Selection",
    "Severity",
    "Tools",
    "chunk_list",
    "fix",
    "join",
    "lint",
    "mend",
    "read_chunks",
]
