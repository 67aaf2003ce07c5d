"""Audit findings, each with its share, an example and a reproduction command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.errors import ConfigError
from assay.types import TIME_LIMITS


class Severity(StrEnum):
    """How bad it is; the worst first."""

    BROKEN = "broken law"
    WEAKNESS = "weakness"
    FINE = "fine"
    NOT_APPLICABLE = "not applicable"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Proportion:
    """How many of how many, with the Wilson interval of the share."""

    count: int
    of: int
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.count} of {self.of} ({self.low:.0%}–{self.high:.0%})"


def share_of(count: int, of: int) -> Proportion | None:
    """Give a share with its 95 % Wilson interval; none of nothing."""
    if of == 0:
        return None
    from assay.stats.intervals import share_interval

    found = share_interval(count, of)
    return Proportion(count, of, found.low, found.high, found.level)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One law, and how the engine keeps it."""

    check: str
    law: str  # in a few words; with the check it names the finding
    severity: Severity
    sentence: str
    share: Proportion | None = None
    example: tuple[str, ...] = ()  # lines
    commands: tuple[str, ...] = ()  # each shows it again


@dataclass(frozen=True, slots=True)
class AuditQuery:
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
    questions: tuple[AuditQuery, ...]
    findings: tuple[AuditFinding, ...]
    notes: tuple[str, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)  # of the engine, without secrets
    settings: Mapping[str, object] = field(default_factory=dict)  # of the audit
    environment: Mapping[str, object] = field(default_factory=dict)
    answered: int = 0  # ordinary queries that were answered at all; none: there is nothing to audit

    def count(self, severity: Severity) -> int:
        """Count the findings of one severity."""
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """What is asked, how often and how deep."""

    queries: int = 20  # a law that is broken on 14 % of the queries is then seen with 95 % chance
    seed: int = 0
    k: int = 10
    repeats: int = 2  # times that each query is asked again in one session
    timeout: float = TIME_LIMITS.query  # seconds for one query, as in a run
    index_timeout: float = TIME_LIMITS.index  # seconds to open the engine, as in a run
    start: float = 60.0  # seconds that starting another interpreter and importing an engine there may take
    only: tuple[str, ...] = ()  # checks to make; none: all
    depths: tuple[int, ...] = (1, 5, 10, 20)  # each must begin the next
    deep: int = 100  # results asked for where as many as possible are wanted; more is beyond most tools' limits
    hash_seeds: tuple[int, ...] = (0, 1, 2)  # the first is what the others are compared with
    many_ties: float = 0.5  # share of neighbours with one score from which scores say little about the order
    nothing: int = 5  # queries asked under a filter that nothing passes: it fails on all or on none
    namesakes: int = 10  # names of files that are asked for under a filter, besides the ordinary queries
    targets: int = 60  # of a gold set that are looked for by asking, each with up to four questions
    passage: int = 300  # characters of a target's own text that are asked for: what every tool takes
    largest_edited: int = 200_000  # bytes; larger files are seldom written by people
    give_up: int = 3  # time-outs in a row after which no more odd queries are asked: each may take a minute
    shown: int = 5  # results of a ranking that an example shows at least

    def __post_init__(self) -> None:
        """Refuse an audit that asks nothing."""
        for name in ("queries", "k", "repeats"):
            if getattr(self, name) < 1:
                raise ConfigError(f"--{name} is {getattr(self, name)}", hint="it must be 1 or more")
        for name in ("timeout", "index_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"--{name} is {getattr(self, name):g}", hint="it must be more than 0 seconds")
        if self.seed < 0:
            raise ConfigError(f"--seed is {self.seed}", hint="seeds begin at 0")
