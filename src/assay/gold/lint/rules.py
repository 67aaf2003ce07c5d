"""What a rule is, what it finds, and what would be written in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from assay.types import Corpus, Span

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class LintRule:
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
class LintFinding:
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
class LintReport:
    """All that was found, in the order of the sets and their queries, and the strata of leaks."""

    findings: tuple[LintFinding, ...]
    leaks: tuple[Leaks, ...] = ()

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class EngineReach:
    """What an engine can return: the chunks of a file, or None where nothing is known of that file."""

    name: str  # as messages call it: "engines that index definitions only"
    chunks: Callable[[str], Iterable[Span] | None]


@dataclass(frozen=True, slots=True)
class LintDependencies:
    """What linting needs from rooms that gold may not enter; each may be left out, and its rules with it."""

    whole: Callable[[], Corpus | None] | None = None  # the same checkout without include and exclude globs
    aside: Callable[[str], bool] | None = None  # a path of tests, examples, copies: never where a name is at home
    reaches: tuple[EngineReach, ...] = ()


@dataclass(frozen=True, slots=True)
class LintConfig:
    """When something is worth telling. Every number leans towards silence: a false alarm costs more than a miss."""

    copied_lines: int = 6  # lines of code; shorter stretches are alike by idiom, not by copying
    copied_characters: int = 120  # of those lines; six lines of brackets and `else` are no copy
    copied_file_lines: int = 20  # of a whole file; small files of one kind look alike
    near: float = 0.9  # of the lines in order; below, two definitions of a name are two versions, not a copy
    near_length: float = 0.8  # shorter over longer, in lines; a cheap look before the comparison
    shim_lines: int = 400  # of a file; a longer one has code of its own, and need not be parsed to know
    owners: int = 3  # files that define a name; more, and it is a common word
    topic_queries: int = 3  # that name an identifier; then it is what the program is about, like a product's name
    few_queries: int = 5  # of a category; below, its mean says nothing of its own
    leak_half: float = 0.5  # of the words, from which on a query counts as one that names its answer
    module_files: int = 3  # code files; smaller folders are no part of a program that a set must ask about
    module_share: float = 0.05  # of the code files of the corpus
    listed: int = 5  # names in one message: it is one line
    margin: float = 0.02  # DESIGN.md: the smallest difference that anybody would act on
    cutoff: int = 10  # of the measures whose ceiling is told


DEFAULT = LintConfig()
