"""Is a gold set sound? Rules with codes, each a fact about the set and its corpus that anybody can check."""

from assay.gold.lint.coverage import Power
from assay.gold.lint.fixes import Fixed, Mended, fix, mend
from assay.gold.lint.reach import chunk_list, read_chunks
from assay.gold.lint.registry import RULES, Selection, join, lint
from assay.gold.lint.rules import SEVERITIES, Finding, Leaks, LintConfig, Reach, Repair, Report, Rule, Severity, Tools

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
