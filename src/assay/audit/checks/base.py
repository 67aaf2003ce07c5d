"""The check interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assay.audit.records import AuditFinding
from assay.audit.sessions import AuditSessions

#: Why a law is not looked at that compares two answers of one engine; `determinism` tells of it.
UNSTEADY = "not tried: the engine does not answer the same twice"

Run = Callable[[AuditSessions], Iterator[AuditFinding]]


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """A family of laws: its name on the command line, the question it answers, and the function that finds out."""

    name: str
    about: str
    run: Run
