"""Lint rules, findings, reports and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from assay.types import Corpus, Span

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class LintRule:
    """A kind of defect. Codes are stable, and codes of removed rules are not reused."""

    code: str
    name: str
    severity: Severity
    about: str  # the defect, in a sentence
    advice: str  # why it matters, or what to do
    fixable: bool = False  # `--fix` can repair some of its findings


@dataclass(frozen=True, slots=True)
class Repair:
    """The edit that `--fix` makes: replace an anchor, or remove it."""

    anchor: str
    instead: str | None


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One defect: its location, a verifiable message, and the next step."""

    code: str
    severity: Severity
    gold: str
    query: str  # its id; empty for the whole set
    anchor: str  # as written; empty without a target
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None
    repair: Repair | None = None

    @property
    def fixable(self) -> bool:
        """Return whether `--fix` repairs it."""
        return self.repair is not None


@dataclass(frozen=True, slots=True)
class Leaks:
    """Leakage: queries by the share of their words found in their targets' paths and symbols."""

    gold: str
    none: int  # no word in common
    some: int
    half: int  # at least half of the content words


@dataclass(frozen=True, slots=True)
class LintReport:
    """The findings in the order of sets and queries, and the leakage of each set."""

    findings: tuple[LintFinding, ...]
    leaks: tuple[Leaks, ...] = ()

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class EngineReach:
    """The chunks that an engine can return for a file; None when unknown."""

    name: str  # in messages, such as "engines that index definitions only"
    chunks: Callable[[str], Iterable[Span] | None]


@dataclass(frozen=True, slots=True)
class LintDependencies:
    """Functions from packages that gold may not import; a missing one disables its rules."""

    whole: Callable[[], Corpus | None] | None = None  # the same checkout without include and exclude globs
    aside: Callable[[str], bool] | None = None  # tests, examples, vendored copies: they never own a name
    reaches: tuple[EngineReach, ...] = ()


@dataclass(frozen=True, slots=True)
class LintConfig:
    """Thresholds of the rules. All are conservative: a false positive costs more than a miss."""

    copied_lines: int = 6  # lines of code; shorter ranges are alike by idiom
    copied_characters: int = 120  # in those lines; six lines of brackets and `else` are not a copy
    copied_file_lines: int = 20  # of a whole file; small files of a kind look alike
    near: float = 0.9  # share of lines in order; below, two definitions of a name are versions, not copies
    near_length: float = 0.8  # shorter over longer, in lines; checked before the comparison because it is cheap
    shim_lines: int = 400  # of a file; longer ones are never shims and are not parsed
    owners: int = 3  # files that define a name; with more it is a common word
    topic_queries: int = 3  # that use an identifier; from here on it names the program, not one definition
    few_queries: int = 5  # of a category; below, its mean is noise
    leak_half: float = 0.5  # share of words from which a query counts as naming its target
    module_files: int = 3  # code files; smaller directories need no query
    module_share: float = 0.05  # of the code files of the corpus
    listed: int = 5  # names in one message, so that it fits on a line
    margin: float = 0.02  # DESIGN.md: the smallest difference worth acting on
    cutoff: int = 10  # of the measures whose ceiling is reported


DEFAULT = LintConfig()
