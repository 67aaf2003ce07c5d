"""The checks in execution order; those that may change an engine's state come last."""

from __future__ import annotations

from collections.abc import Sequence

from assay.audit.checks import determinism, edge_cases, filters, paths, rankings, reachability, ties, update
from assay.audit.sessions import AuditCheck
from assay.settings import unknown_name

CHECKS: tuple[AuditCheck, ...] = (
    AuditCheck("answers", "do ordinary queries succeed?", rankings.check_answers),
    AuditCheck("determinism", "does the same query always give the same ranking?", determinism.check_determinism),
    AuditCheck("prefix", "is the top 5 a prefix of the top 10?", rankings.check_prefix),
    AuditCheck("depth", "does the engine return k distinct results?", rankings.check_depth),
    AuditCheck("ties", "do scores follow the rank, and are ties stable?", ties.check_ties),
    AuditCheck("paths", "do results name existing files and lines?", paths.check_paths),
    AuditCheck("filters", "does a filter only remove results?", filters.check_filters),
    AuditCheck("reachability", "can the engine return the targets of the gold set?", reachability.check_reachability),
    AuditCheck("update", "after edits, does an update equal a rebuild?", update.check_update),
    AuditCheck("odd", "how does the engine handle edge cases, and queries after them?", edge_cases.check_edge_cases),
)


def choose_checks(names: Sequence[str]) -> tuple[AuditCheck, ...]:
    """Return checks by name; all without names."""
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise unknown_name("unknown check", name, known, "checks")
    return tuple(check for check in CHECKS if not names or check.name in names)
