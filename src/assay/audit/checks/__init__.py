"""The checks in execution order; those that may change an engine's state come last."""

from __future__ import annotations

from collections.abc import Sequence

from assay.audit.checks import (
    answers,
    depth,
    determinism,
    filters,
    odd,
    paths,
    prefix,
    reachability,
    ties,
    update,
)
from assay.audit.checks.base import AuditCheck
from assay.settings import unknown_name

CHECKS: tuple[AuditCheck, ...] = (
    answers.CHECK,
    determinism.CHECK,
    prefix.CHECK,
    depth.CHECK,
    ties.CHECK,
    paths.CHECK,
    filters.CHECK,
    reachability.CHECK,
    update.CHECK,
    odd.CHECK,
)


def choose(names: Sequence[str]) -> tuple[AuditCheck, ...]:
    """Choose checks by name; none is all."""
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise unknown_name("there is no check", name, known, "checks")
    return tuple(check for check in CHECKS if not names or check.name in names)
