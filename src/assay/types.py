"""The records that travel between the rooms. Frozen, slotted, no behaviour beyond what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

#: The phrasings of one intent, in the order they are shown. The first one a query has is its headline.
FORMS = ("human", "ai_optimized", "keyword", "wrong_terminology", "cross_module")

#: Grades of the native format. Sets in other formats keep theirs: any whole number from 1 on is relevant.
PRIMARY = 2
SECONDARY = 1

#: What an engine is in a table: most compete; chance is the floor, the gold answers the ceiling, grep the yardstick.
Role = Literal["contestant", "yardstick", "floor", "ceiling"]


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long an engine may take where nobody says otherwise: the same in a run, an audit and a check."""

    query: float = 60.0  # seconds for one query: nobody who searches waits longer
    index: float = 3600.0  # seconds to open an engine on one corpus: a big repository and a neural model take long


TIME_LIMITS = TimeLimits()

Kind = Literal["code", "docs", "config", "other"]
CorpusKind = Literal["path", "stdlib", "git", "pypi", "npm"]


def sort_phrasings(forms: Iterable[str]) -> tuple[str, ...]:
    """Put forms in the order they are shown: the known ones first, others by name."""
    given = set(forms)
    return tuple(f for f in FORMS if f in given) + tuple(sorted(given.difference(FORMS)))


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Lines `start`-`end` (1-based, inclusive) of a file; both None is the whole file."""

    path: str
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        return self.path if self.start is None else f"{self.path}:{self.start}-{self.end}"

    def common_lines(self, other: Span) -> int:
        """Count the lines both hold; a whole file holds every line of the other, two whole files one."""
        if self.path != other.path:
            return 0
        if self.start is None or self.end is None:
            return 1 if other.start is None or other.end is None else other.end - other.start + 1
        if other.start is None or other.end is None:
            return self.end - self.start + 1
        return max(0, min(self.end, other.end) - max(self.start, other.start) + 1)


@dataclass(frozen=True, slots=True)
class Target:
    """A place that answers a query. A symbol anchor has its lines filled in by `gold.anchors`."""

    span: Span
    grade: int = PRIMARY  # the gain of nDCG; 0 only in `Query.irrelevant`
    symbol: str | None = None
    unit: Span | None = None  # the innermost definition the span lies in, once resolved
    digest: str | None = None  # of the lines when they were chosen, so that they are known again after they moved
    link: str | None = None  # the symbolic link that the gold file names, once `span` has the file it leads to

    @property
    def anchor(self) -> str:
        """The target as it is written in a gold file."""
        path = self.link or self.span.path
        if self.symbol:
            return f"{path}::{self.symbol}"
        span = str(replace(self.span, path=path) if self.link else self.span)
        return f"{span}#{self.digest}" if self.digest else span


@dataclass(frozen=True, slots=True)
class Adversary:
    """A plausible wrong answer: how it relates to the right one, how strong the trap is, what confuses."""

    target: Target
    relationship: str
    strength: str
    confusion: str


@dataclass(frozen=True, slots=True)
class Rationale:
    """Who owns the behaviour, why, and where the neighbour's part begins."""

    owner: str = ""
    reason: str = ""
    boundary: str = ""


@dataclass(frozen=True, slots=True)
class LabelProvenance:
    """Where a label of a query comes from. One that an engine's result brought up favours that engine."""

    target: str  # the anchor of a target or an adversary, as written
    by: tuple[str, ...] = ()  # who gave it
    on: str = ""  # the day, ISO 8601
    commit: str = ""  # of the corpus they looked at
    shown_by: tuple[str, ...] = ()  # engines whose results were the reason to look there


@dataclass(frozen=True, slots=True)
class Query:
    """One intent in several phrasings."""

    id: str
    forms: Mapping[str, str]
    targets: tuple[Target, ...]
    adversaries: tuple[Adversary, ...] = ()
    rationale: Rationale | None = None
    measures: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    line: int | None = None  # where it stands in its gold file; not part of its identity
    labels: tuple[LabelProvenance, ...] = ()  # where its targets and adversaries come from, as far as that was kept
    irrelevant: tuple[Target, ...] = ()  # judged and found not relevant (grade 0): they count for Judged@k alone

    @property
    def primaries(self) -> tuple[Target, ...]:
        """Its targets of grade 2 and above; where there are none, those of the best grade it has."""
        least = min(PRIMARY, max((target.grade for target in self.targets), default=PRIMARY))
        return tuple(target for target in self.targets if target.grade >= least)

    @property
    def ordered_forms(self) -> tuple[str, ...]:
        """Its phrasings in the order they are shown; the first is the headline."""
        return sort_phrasings(self.forms)

    @property
    def headline(self) -> str:
        """The text that its score is about."""
        return self.forms[self.ordered_forms[0]]


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """Where a corpus comes from, as a gold set names it."""

    kind: CorpusKind
    value: str = ""  # folder, git url, package name with version; empty for stdlib
    rev: str | None = None
    root: str | None = None  # sub-folder that becomes the corpus root
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def repository(self) -> str:
        """The identity without the revision: what queries are nested in."""
        value = self.value
        if self.kind == "pypi":
            value = value.partition("==")[0]
        elif self.kind == "npm":
            value = value[:1] + value[1:].partition("@")[0]  # a scope begins with @
        elif self.kind == "git":
            value = value.rstrip("/").removesuffix(".git")
        name = f"{self.kind}:{value}" if value else self.kind
        return f"{name}/{self.root}" if self.root else name


@dataclass(frozen=True, slots=True)
class GoldSet:
    """What counts as right on one corpus."""

    name: str
    corpus: CorpusSpec
    queries: tuple[Query, ...]
    provenance: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None  # the file it was read from

    @property
    def synthetic(self) -> bool:
        """Whether the code was made to ask about itself; people's questions are another matter."""
        return "synthetic" in self.provenance


@dataclass(frozen=True, slots=True)
class Suite:
    """One or more gold sets that are run together. Names are unique."""

    golds: tuple[GoldSet, ...]

    @property
    def name(self) -> str:
        """The names of its parts."""
        return "+".join(gold.name for gold in self.golds)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a corpus that counts."""

    path: str
    size: int
    kind: Kind
    language: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that was left out, and why; `reason` is a word to count by, `detail` is for people."""

    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on this machine: its files in path order, what was left out, and a hash of it all."""

    root: Path
    spec: CorpusSpec
    files: tuple[SourceFile, ...]
    digest: str  # over paths and contents; the same tree gives the same digest anywhere
    skipped: tuple[SkippedFile, ...] = ()
    notes: tuple[str, ...] = ()  # sentences a person should see, such as a missing test/ package
    revision: str | None = None  # what was really checked out or unpacked: commit, version
    hashes: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)  # path -> sha256 of each file


class Hit(NamedTuple):  # no dataclass: a run has hundreds of thousands of them, and these are made in half the time
    """One result of an engine; its place in the list is its rank."""

    path: str
    start: int | None = None
    end: int | None = None
    score: float | None = None
    snippet: str | None = None

    @property
    def span(self) -> Span:
        """Where it points."""
        return Span(self.path, self.start, self.end)


class Status(StrEnum):
    """How a query ended. Everything but OK takes the worst value of every measure."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Cost:
    """What an engine says that an answer cost, None where it does not say; added up over a run."""

    calls: int | None = None  # requests that somebody is billed for
    tokens: int | None = None

    def __add__(self, other: Cost) -> Cost:
        return Cost(_plus(self.calls, other.calls), _plus(self.tokens, other.tokens))


def _plus(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one engine answered to one form of one query: a line of the records on disk."""

    gold: str
    query: str
    form: str
    hits: tuple[Hit, ...] = ()
    tokens: tuple[int, ...] = ()  # of each hit, by `syntax.tokens.approx4`
    status: Status = Status.OK
    seconds: float = 0.0
    error: str | None = None
    notes: tuple[str, ...] = ()  # contract breaches that were survived: absolute paths, unknown files
    cost: Cost | None = None  # None: the engine does not say


@dataclass(frozen=True, slots=True)
class Resources:
    """What an engine took on one corpus; None where it was not measured."""

    startup_seconds: float | None = None  # of the opening: until a server of its own answered
    index_bytes: int | None = None  # what it left in its copy of the corpus and in its store
    peak_bytes: int | None = None  # of memory, over its processes; inside our own process what was added


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """What an engine is a variant of, and by which settings."""

    base: str
    changes: Mapping[str, object] = field(default_factory=dict)  # dotted setting -> value
    sweep: str = ""  # the sweep that made it, if one did


@dataclass(frozen=True, slots=True)
class EngineRun:
    """All that one engine answered, in suite order, with what is known of how it was run."""

    name: str
    rankings: tuple[Ranking, ...]
    role: Role = "contestant"
    oversample: int = 1  # how many times k it was asked for
    config: Mapping[str, object] = field(default_factory=dict)  # settings that shape the ranking; no secrets
    index_seconds: Mapping[str, float] = field(default_factory=dict)  # by gold name: opening, start-up included
    notes: tuple[str, ...] = ()
    resources: Mapping[str, Resources] = field(default_factory=dict)  # by gold name
    version: str = ""  # what it says of itself
    stderr: Mapping[str, str] = field(default_factory=dict)  # by gold name: the end of what it said, secrets struck out
    parallel: int = 1  # questions that were in flight at once
    variation: VariantInfo | None = None
    date: str = ""  # the day it was asked, UTC
    assay: str = ""  # the version that asked it; empty: that of the run
    environment: Mapping[str, object] = field(default_factory=dict)  # it was asked in; empty: that of the run
    fingerprint: str = ""  # of the tool and models that answered; empty: not known
    code: str = ""  # digest of Assay's own code that decides answers; empty: not known

    @property
    def failed_throughout(self) -> bool:
        """Whether every query failed: all values are then the worst, and say nothing about the rankings."""
        return bool(self.rankings) and all(ranking.status != Status.OK for ranking in self.rankings)


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """What is kept of a corpus: what was measured on, what was left out, what of the gold set did not fit."""

    repository: str
    revision: str | None
    digest: str
    files: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # by reason
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """What is going to be said of a run, declared before it is made."""

    measures: tuple[str, ...]  # the primary one, which verdicts are about, first
    baseline: str
    margin: float = 0.02  # the smallest difference anybody would act on
    alpha: float = 0.05
    seed: int = 0
    family: tuple[str, ...] = ()  # engines whose comparisons were declared; none: every contestant but the baseline
    cluster: str = "auto"  # what is drawn independently: auto, repository, intent or tag:NAME
    tables: tuple[str, ...] = ()  # shown beside the usual ones: matrix, bootstrap, forest, ranks, pairs

    @property
    def primary(self) -> str:
        """The measure that verdicts are about."""
        return self.measures[0]


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """What a run was made with."""

    assay: str = ""
    date: str = ""
    gold_hash: str = ""
    corpora: Mapping[str, CorpusInfo] = field(default_factory=dict)  # by gold name
    environment: Mapping[str, object] = field(default_factory=dict)
    timeout: float = TIME_LIMITS.query  # seconds that one query had: what a failed one is charged
    claim: AnalysisPlan | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # engine -> why it was not run
    timed: bool = True  # False: cells ran side by side or were kept from earlier, so there are no times


@dataclass(frozen=True, slots=True)
class Run:
    """Engines × queries, with all that is needed to score them again without engine or corpus."""

    suite: Suite  # anchors resolved
    k: int
    engines: tuple[EngineRun, ...]
    lines: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    # gold name -> path -> UTF-8 bytes of each line, newline included; for the files that hits or targets name
    hashes: Mapping[str, str] = field(default_factory=dict)  # of every query: "gold/query" -> hash
    header: RunMetadata = field(default_factory=RunMetadata)


@dataclass(frozen=True, slots=True)
class Unit:
    """One column of a score table: one form of one intent."""

    gold: str
    query: str
    form: str
    repository: str
    hash: str = ""
    headline: bool = True
    tags: Mapping[str, str] = field(default_factory=dict)
    shared: str = ""  # digest that queries with shared targets have in common; empty: shares none

    @property
    def intent(self) -> str:
        """What phrasings share."""
        return f"{self.gold}/{self.query}"


@dataclass(frozen=True, slots=True)
class Scores:
    """Values by engine × measure × unit. NaN where a measure does not apply, never for a failure.

    A measure over the phrasings of an intent stands at the intent's headline unit.
    """

    engines: tuple[str, ...]
    measures: tuple[str, ...]  # repr of each measure
    units: tuple[Unit, ...]
    values: FloatArray  # shape (engines, measures, units)


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A definition: `name` with its scopes joined by `.`, a repeated one with `~2`."""

    start: int
    end: int
    name: str
    kind: str  # class, function, method, constant


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """What one stage of an engine did to one candidate."""

    stage: str
    score: float
    change: float
    rank: int  # after the stage, from 1; 0 when it does not match at all
    before: int


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """A candidate and its way through the stages."""

    path: str
    start: int | None
    end: int | None
    steps: tuple[WaterfallStep, ...]  # one a stage


@dataclass(frozen=True, slots=True)
class Waterfall:
    """Why the results of one query are where they are: what was looked up, and what each stage did."""

    kind: str  # what the engine took the query for
    terms: tuple[str, ...]
    stages: tuple[str, ...]
    candidates: tuple[WaterfallRow, ...]  # in the order of the answer, then those that were followed beside it
