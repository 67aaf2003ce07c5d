"""Lint gold sets: rules with codes, each a verifiable fact about the set and its corpus."""

from assay.gold.lint.coverage import Power
from assay.gold.lint.fixes import FixAllResult, FixResult, fix, fix_all
from assay.gold.lint.reach import chunk_list, read_chunks
from assay.gold.lint.registry import RULES, RuleSelection, join, lint
from assay.gold.lint.rules import (
    SEVERITIES,
    EngineReach,
    Leaks,
    LintConfig,
    LintDependencies,
    LintFinding,
    LintReport,
    LintRule,
    Repair,
    Severity,
)

__all__ = [
    "RULES",
    "SEVERITIES",
    "EngineReach",
    "FixAllResult",
    "FixResult",
    "Leaks",
    "LintConfig",
    "LintDependencies",
    "LintFinding",
    "LintReport",
    "LintRule",
    "Power",
    "Repair",
    "RuleSelection",
    "Severity",
    "chunk_list",
    "fix",
    "fix_all",
    "join",
    "lint",
    "read_chunks",
]
