from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.engines.base import SearchFilter
from assay.errors import ConfigError
from assay.types import TIME_LIMITS


class Severity(StrEnum):
    BROKEN = "broken law"
    WEAKNESS = "weakness"
    FINE = "fine"
    NOT_APPLICABLE = "not applicable"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Proportion:
    """Share of cases with its Wilson interval."""

    count: int
    of: int
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.count} of {self.of} ({self.low:.0%}–{self.high:.0%})"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """Result of a check of one law: a property that rankings must have."""

    check: str
    law: str  # a few words; check and law identify the finding
    severity: Severity
    sentence: str
    share: Proportion | None = None
    example: tuple[str, ...] = ()  # lines
    commands: tuple[str, ...] = ()  # each reproduces the finding


def make_finding(
    law: str,
    severity: Severity,
    sentence: str,
    count: int = 0,
    of: int = 0,
    *,
    example: Iterable[str] = (),
    commands: Iterable[str] = (),
) -> AuditFinding:
    """Return a finding on `count` of `of` cases; the runner adds the check and its command."""
    share = None
    if of:
        from assay.stats.intervals import share_interval

        interval = share_interval(count, of)
        share = Proportion(count, of, interval.low, interval.high, interval.level)
    return AuditFinding("", law, severity, sentence, share, tuple(example), tuple(commands))


def fine(law: str, sentence: str, of: int = 0) -> AuditFinding:
    return make_finding(law, Severity.FINE, sentence, of=of)


def not_tried(law: str, reason: str) -> AuditFinding:
    return make_finding(law, Severity.NOT_TRIED, f"not tried: {reason}")


def not_applicable(law: str, reason: str) -> AuditFinding:
    return make_finding(law, Severity.NOT_APPLICABLE, reason)


@dataclass(frozen=True, slots=True)
class AuditQuery:
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Audit:
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
    answered: int = 0  # ordinary queries that did not fail


@dataclass(frozen=True, slots=True)
class AuditConfig:
    queries: int = 20  # detects a law that is broken on 14 % of the queries with probability 95 %
    seed: int = 0
    k: int = 10
    repeats: int = 2  # repetitions of each query in one session
    timeout: float = TIME_LIMITS.query  # seconds per query, as in a run
    index_timeout: float = TIME_LIMITS.index  # seconds to open the engine, as in a run
    start: float = 60.0  # seconds to start another interpreter and import an engine there
    only: tuple[str, ...] = ()  # names of checks; default: all
    depths: tuple[int, ...] = (1, 5, 10, 20)  # each ranking must be a prefix of the next
    deep: int = 100  # k for full rankings; most tools do not return more
    hash_seeds: tuple[int, ...] = (0, 1, 2)  # the others are compared with the first
    many_ties: float = 0.5  # share of adjacent equal scores from which scores are nearly uninformative
    nothing: int = 5  # queries with a filter that no file passes: it fails on all or on none
    namesakes: int = 10  # file names to query with a filter, besides the ordinary queries
    targets: int = 60  # targets of a gold set to look for, each with up to four queries
    passage: int = 300  # characters of a target's text to query; every tool accepts that many
    largest_edited: int = 200_000  # bytes; larger files are rarely written by people
    max_timeouts: int = 3  # consecutive timeouts after which edge cases stop: each may take a minute
    shown: int = 5  # minimum number of results in an example

    def __post_init__(self) -> None:
        for name in ("queries", "k", "repeats"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}: expected 1 or more, got {getattr(self, name)}")
        for name in ("timeout", "index_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name}: expected more than 0 seconds, got {getattr(self, name):g}")
        if self.seed < 0:
            raise ConfigError(f"seed: expected 0 or more, got {self.seed}")


@dataclass(frozen=True, slots=True)
class ReproCommand:
    """Arguments of an audit, repeated in the commands that reproduce its findings."""

    engine: str
    corpus: str = ""  # default: this directory, or the corpus of the gold set
    gold: str = ""
    config: str = ""  # default: the assay.toml of this directory

    def query(self, query: str, k: int, search_filter: SearchFilter | None = None, environment: str = "") -> str:
        chosen = search_filter or SearchFilter()
        flags = [*self._flags(), "-k", str(k)]
        flags += [f"--paths={glob}" for glob in chosen.paths] + [f"--language={name}" for name in chosen.languages]
        names = [self.engine, query, *filter(None, [self.corpus])]
        words = [*flags, "--", *names] if query.startswith("-") else [*names, *flags]
        quoted = [shell_word(word) for word in ("assay", "engines", "query", *words)]
        return " ".join([environment, *quoted] if environment else quoted)

    def audit(self, check: str, config: AuditConfig) -> str:
        default = AuditConfig()
        flags = {"-k": "k", "--queries": "queries", "--seed": "seed", "--repeats": "repeats", "--timeout": "timeout"}
        changed = [
            text
            for flag, name in flags.items()
            if getattr(config, name) != getattr(default, name)
            for text in (flag, f"{getattr(config, name):g}")
        ]
        words = ["assay", "audit", self.engine, *filter(None, [self.corpus]), *self._flags(), "--only", check, *changed]
        return " ".join(map(shell_word, words))

    def _flags(self) -> list[str]:
        gold = ["--gold", self.gold] if self.gold else []
        return [*gold, *(["--config", self.config] if self.config else [])]


def shell_word(text: str) -> str:
    """Quote a word for a shell; invisible characters are escaped in $'…', as bash, zsh and ksh read it."""
    if all(map(_is_plain, text)):
        return shlex.quote(text)
    return f"$'{''.join(map(_escape, text))}'"


def _escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    return char if _is_plain(char) else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))


def _is_plain(char: str) -> bool:
    return char.isprintable() and not unicodedata.combining(char)
