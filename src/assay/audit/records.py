"""What an audit says: findings, each with its share, an example and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is; the worst first."""

    BROKEN = "broken law"
    WEAKNESS = "weakness"
    FINE = "fine"
    NOT_APPLICABLE = "not applicable"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many, with the Wilson interval of the share."""

    count: int
    of: int
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.count} of {self.of} ({self.low:.0%}–{self.high:.0%})"


def share_of(count: int, of: int) -> Share | None:
    """Give a share with its 95 % Wilson interval; none of nothing."""
    if of == 0:
        return None
    from assay.stats.intervals import share_interval

    found = share_interval(count, of)
    return Share(count, of, found.low, found.high, found.level)


@dataclass(frozen=True, slots=True)
class Finding:
    """One law, and how the engine keeps it."""

    check: str
    law: str  # in a few words; with the check it names the finding
    severity: Severity
    sentence: str
    share: Share | None = None
    example: tuple[str, ...] = ()  # lines
    commands: tuple[str, ...] = ()  # each shows it again


@dataclass(frozen=True, slots=True)
class Question:
    """A query that engines are audited with, and where it comes from."""

    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Audit:
    """All that was found of one engine on one corpus."""

    engine: str
    corpus: str
    digest: str
    files: int
    questions: tuple[Question, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)  # of the engine, without secrets
    settings: Mapping[str, object] = field(default_factory=dict)  # of the audit
    environment: Mapping[str, object] = field(default_factory=dict)
    answered: int = 0  # ordinary queries that were answered at all; none: there is nothing to audit

    def count(self, severity: Severity) -> int:
        """Count the findings of one severity."""
        return sum(finding.severity == severity for finding in self.findings)
