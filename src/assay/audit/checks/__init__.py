"""The checks in execution order; those that may change an engine's state come last."""

from __future__ import annotations

from collections.abc import Sequence

from assay.audit.checks import determinism, edge_cases, filters, paths, rankings, reachability, ties, update
from assay.audit.sessions import AuditCheck
from assay.settings import unknown_name

CHECKS: tuple[AuditCheck, ...] = (
    AuditCheck("answers", "are ordinary queries answered at all?", rankings.check_answers),
    AuditCheck("determinism", "does the same question get the same answer every time?", determinism.check_determinism),
    AuditCheck("prefix", "is a short ranking the beginning of a longer one?", rankings.check_prefix),
    AuditCheck("depth", "are k results given where k are asked for?", rankings.check_depth),
    AuditCheck("ties", "do scores go with the rank, and are equal ones in a stable order?", ties.check_ties),
    AuditCheck("paths", "do results exist in the corpus, written from its root?", paths.check_paths),
    AuditCheck("filters", "does a filter only strike results out?", filters.check_filters),
    AuditCheck("reachability", "can the targets of the gold set be returned at all?", reachability.check_reachability),
    AuditCheck("update", "after edits, does an update equal a rebuild?", update.check_update),
    AuditCheck("odd", "what becomes of odd queries, and of ordinary ones after them?", edge_cases.check_edge_cases),
)


def choose_checks(names: Sequence[str]) -> tuple[AuditCheck, ...]:
    """Return checks by name; all without names."""
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise unknown_name("there is no check", name, known, "checks")
    return tuple(check for check in CHECKS if not names or check.name in names)
