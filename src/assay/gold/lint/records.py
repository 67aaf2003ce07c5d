"""What a rule is, what it finds, and what would be written in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from assay.types import Corpus, Span

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of defect. Its code never changes its meaning; one that is gone is not given again."""

    code: str
    name: str
    severity: Severity
    about: str  # what is wrong, in a sentence
    advice: str  # why it matters, or what to do
    fixable: bool = False  # `--fix` can repair some of its findings


@dataclass(frozen=True, slots=True)
class Repair:
    """What `--fix` writes: an anchor in place of another, or nothing in its place."""

    anchor: str
    instead: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: where it stands, a fact that can be checked, and the next step."""

    code: str
    severity: Severity
    gold: str
    query: str  # its id; empty when the whole set is meant
    anchor: str  # as written; empty when no target is meant
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None
    repair: Repair | None = None

    @property
    def fixable(self) -> bool:
        """Whether `--fix` repairs it."""
        return self.repair is not None


@dataclass(frozen=True, slots=True)
class Leaks:
    """How many queries of a set name how much of their answer's path or symbol."""

    gold: str
    none: int  # no word in common
    some: int
    half: int  # at least half of the words that say something


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found, in the order of the sets and their queries, and the strata of leaks."""

    findings: tuple[Finding, ...]
    leaks: tuple[Leaks, ...] = ()

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Reach:
    """What an engine can return: the chunks of a file, or None where nothing is known of that file."""

    name: str  # as messages call it: "engines that index definitions only"
    chunks: Callable[[str], Iterable[Span] | None]


@dataclass(frozen=True, slots=True)
class Tools:
    """What linting needs from rooms that gold may not enter; each may be left out, and its rules with it."""

    whole: Callable[[], Corpus | None] | None = None  # the same checkout without include and exclude globs
    aside: Callable[[str], bool] | None = None  # a path of tests, examples, copies: never where a name is at home
    reaches: tuple[Reach, ...] = ()
