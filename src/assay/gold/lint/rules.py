from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from assay.corpus import read_text
from assay.gold.anchors import AnchorLines, resolve
from assay.syntax.outline import Outline, parse_outline
from assay.syntax.parsing import grammar_name
from assay.syntax.symbols import extract_symbols
from assay.types import Corpus, GoldSet, Query, Span, Target

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class LintRule:
    name: str
    code: str
    severity: Severity
    about: str  # the defect, in a sentence
    advice: str  # why it matters, or what to do
    fixable: bool = False  # whether `--fix` can repair some of the findings


_TEXT = resources.files("assay.data").joinpath("lint.toml").read_text(encoding="utf-8")
RULE_BY_NAME = {name: LintRule(name, **fields) for name, fields in tomllib.loads(_TEXT).items()}
RULES = tuple(sorted(RULE_BY_NAME.values(), key=lambda rule: rule.code))


@dataclass(frozen=True, slots=True)
class Repair:
    anchor: str
    instead: str | None


@dataclass(frozen=True, slots=True)
class LintFinding:
    code: str
    severity: Severity
    gold: str
    query: str  # id of the query; empty for the whole set
    anchor: str  # as written in the gold file; empty if the finding is not about a label
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None
    repair: Repair | None = None

    @property
    def fixable(self) -> bool:
        return self.repair is not None


@dataclass(frozen=True, slots=True)
class LeakageCounts:
    """Counts of queries by the share of their content words found in the paths and symbols of their targets."""

    gold: str
    none: int  # no word in common
    some: int
    half: int  # at least half of the content words


@dataclass(frozen=True, slots=True)
class LintReport:
    findings: tuple[LintFinding, ...]
    leaks: tuple[LeakageCounts, ...] = ()

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class EngineReach:
    """The chunks that an engine, or a kind of engine, can return."""

    name: str  # in messages, such as "engines that index definitions only"
    chunks: Callable[[str], Iterable[Span] | None]  # path -> chunks; None if unknown


@dataclass(frozen=True, slots=True)
class LintDependencies:
    """Optional inputs that the caller supplies; a check whose input is missing is skipped."""

    whole: Callable[[], Corpus | None] | None = None  # the same checkout without include and exclude globs
    reaches: tuple[EngineReach, ...] = ()


@dataclass(frozen=True, slots=True)
class LintConfig:
    """Settings of the rules; thresholds are conservative, since a false positive costs more than a miss."""

    copied_lines: int = 6  # lines of code; shorter ranges are alike by chance
    copied_characters: int = 120  # in those lines; six lines of brackets and `else` are not a copy
    copied_file_lines: int = 20  # of a whole file; small files of a kind look alike
    copied_share: float = 0.9  # of lines in order; below, two definitions of a name are versions, not copies
    copied_length: float = 0.8  # shorter over longer, in lines; a cheap check before the comparison
    shim_lines: int = 400  # of a file; longer ones are never shims and are not parsed
    owners: int = 3  # files that define a name; with more it is a common word
    topic_queries: int = 3  # queries; an identifier in this many of them names the program, not one definition
    few_queries: int = 5  # of a category; below, its mean is noise
    leak_half: float = 0.5  # share of words from which a query counts as naming its target
    module_files: int = 3  # code files; smaller directories need no query
    module_share: float = 0.05  # of the code files of the corpus
    listed: int = 5  # names in one message, so that it fits on a line
    margin: float = 0.02  # the smallest difference worth acting on, as in comparisons
    cutoff: int = 10  # of the measures whose best possible values are reported


DEFAULT = LintConfig()


class SourceCache:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.files = {file.path: file for file in corpus.files}
        self.text = cache(lambda path: read_text(corpus, path))
        self.outline = cache(self._outline)
        self.symbols = cache(lambda path: extract_symbols(path, self.text(path), self.files[path].language))

    def is_code(self, path: str) -> bool:
        return path in self.files and self.files[path].kind == "code"

    def _outline(self, path: str) -> Outline | None:
        grammar = grammar_name(path, self.files[path].language, self.text(path))
        parsed = parse_outline(self.text(path), grammar) if grammar else None
        return None if parsed and parsed.problem else parsed


class LintContext(SourceCache):
    def __init__(self, gold: GoldSet, corpus: Corpus, tools: LintDependencies, config: LintConfig) -> None:
        super().__init__(corpus)
        self.gold, self.tools, self.config = gold, tools, config
        self.resolution = resolve(gold, corpus, missing="report")
        self._lines = AnchorLines(gold)

    def resolved(self) -> list[Query]:
        """Return the queries with at least one resolved primary target, in file order."""
        resolved = {query.id: query for query in self.resolution.gold.queries}
        return [resolved[query.id] for query in self.gold.queries if query.id in resolved]

    def finding(
        self, rule: str, query: Query | None, anchor: str, message: str, hint: str = "", repair: Repair | None = None
    ) -> LintFinding:
        line = None if query is None else self._lines.find(query, anchor)
        name = "" if query is None else query.id
        code, severity = RULE_BY_NAME[rule].code, RULE_BY_NAME[rule].severity
        return LintFinding(code, severity, self.gold.name, name, anchor, message, hint, self.gold.source, line, repair)


def written_anchor(query: Query, target: Target) -> str:
    if not target.symbol and target.span.start is not None:
        same = [t.anchor for t in query.targets if t.digest is not None and t.digest == target.digest]
        if len(same) == 1:
            return same[0]
    return target.anchor
