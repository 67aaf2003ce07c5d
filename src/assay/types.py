"""Records that the packages exchange."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from assay.errors import SetupError
from assay.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

#: Known phrasings in display order. The first one that a query has is its headline.
FORMS = ("human", "ai_optimized", "keyword", "wrong_terminology", "cross_module")

#: Grades of the native format. Other formats keep theirs: any integer from 1 is relevant.
PRIMARY = 2
SECONDARY = 1

#: Default error rate and equivalence margin of comparisons; the margin is in units of the measure.
ALPHA = 0.05
MARGIN = 0.02

#: Role of an engine in results: `random` is the floor, `oracle` the ceiling, `keywords` the reference.
EngineRole = Literal["candidate", "reference", "floor", "ceiling"]
#: Roles in files of versions before 0.2.
OLD_ROLES: Mapping[str, EngineRole] = {"contestant": "candidate", "yardstick": "reference"}
_OLD_KEYS = {"claim": "analysis_plan"}


def current_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a record, those of older versions under their current keys."""
    return {_OLD_KEYS.get(key, key): value for key, value in row.items()}


@dataclass(frozen=True, slots=True)
class TimeLimits:
    query: float = 60.0  # seconds per query: no user waits longer for a search
    index: float = 3600.0  # seconds to open an engine on one corpus: a large repository with a neural model


TIME_LIMITS = TimeLimits()

ResultLevel = Literal["file", "lines"]
FileKind = Literal["code", "docs", "config", "other"]
CorpusKind = Literal["path", "stdlib", "git", "pypi", "npm"]


def sort_phrasings(forms: Iterable[str]) -> tuple[str, ...]:
    """Return phrasing names in display order: known ones first, others by name."""
    given = set(forms)
    return tuple(f for f in FORMS if f in given) + tuple(sorted(given.difference(FORMS)))


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Lines `start` to `end` (1-based, inclusive) of a file; both are None for the whole file."""

    path: str
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        return self.path if self.start is None else f"{self.path}:{self.start}-{self.end}"

    def common_lines(self, other: Span) -> int:
        """Return the number of common lines: 0 for different paths, 1 if both spans are whole files."""
        if self.path != other.path:
            return 0
        if self.start is None or self.end is None:
            return 1 if other.start is None or other.end is None else other.end - other.start + 1
        if other.start is None or other.end is None:
            return self.end - self.start + 1
        return max(0, min(self.end, other.end) - max(self.start, other.start) + 1)


@dataclass(frozen=True, slots=True)
class Target:
    """A labeled location with its grade. `gold.anchors` fills in the lines of symbol anchors."""

    span: Span
    grade: int = PRIMARY  # the gain of nDCG; 0 only in `Query.irrelevant`
    symbol: str | None = None
    unit: Span | None = None  # the innermost definition that contains the span, once resolved
    digest: str | None = None  # of the lines when they were labeled; used to find them after they moved
    link: str | None = None  # the symbolic link named in the gold file, if `span` has the path it points to

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
    """A plausible non-target and its relationship to the targets."""

    target: Target
    relationship: str
    strength: str
    confusion: str


@dataclass(frozen=True, slots=True)
class Rationale:
    """Why the targets of a query are relevant, and why similar code is not."""

    owner: str = ""
    reason: str = ""
    boundary: str = ""


@dataclass(frozen=True, slots=True)
class LabelProvenance:
    """The origin of the label of a target or adversary."""

    target: str  # the anchor of a target or an adversary, as written
    by: tuple[str, ...] = ()  # reviewers
    on: str = ""  # ISO 8601 date
    commit: str = ""  # of the corpus that was reviewed
    shown_by: tuple[str, ...] = ()  # engines whose results prompted the review


@dataclass(frozen=True, slots=True)
class Query:
    """A labeled query in one or more phrasings."""

    id: str
    forms: Mapping[str, str]
    targets: tuple[Target, ...]
    adversaries: tuple[Adversary, ...] = ()
    rationale: Rationale | None = None
    measures: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    line: int | None = None  # in the gold file; not part of the query's identity
    labels: tuple[LabelProvenance, ...] = ()  # provenance of targets and adversaries, where recorded
    irrelevant: tuple[Target, ...] = ()  # locations judged irrelevant (grade 0); of all measures, only Judged uses them

    @property
    def primaries(self) -> tuple[Target, ...]:
        """The targets of grade 2 and above; if there are none, those of the best grade."""
        least = min(PRIMARY, max((target.grade for target in self.targets), default=PRIMARY))
        return tuple(target for target in self.targets if target.grade >= least)

    @property
    def ordered_forms(self) -> tuple[str, ...]:
        """The phrasing names in display order."""
        return sort_phrasings(self.forms)

    @property
    def headline(self) -> str:
        """The text of the first phrasing in display order."""
        return self.forms[self.ordered_forms[0]]


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """The source of a corpus, as written in a gold set."""

    kind: CorpusKind
    value: str = ""  # directory, git URL, package name with version; empty for stdlib
    rev: str | None = None
    root: str | None = None  # subdirectory that becomes the corpus root
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def repository(self) -> str:
        """The identity of the corpus without its revision; queries are clustered by repository."""
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
    """Labeled queries over one corpus."""

    name: str
    corpus: CorpusSpec
    queries: tuple[Query, ...]
    provenance: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None  # path of the gold file

    @property
    def synthetic(self) -> bool:
        """Whether the queries were generated from the code."""
        return "synthetic" in self.provenance

    @property
    def level(self) -> ResultLevel:
        """`lines` if more than half of the queries have a primary target with a line range or symbol."""
        precise = sum(any(target.symbol or target.span.start for target in query.primaries) for query in self.queries)
        return "lines" if 2 * precise > len(self.queries) else "file"


@dataclass(frozen=True, slots=True)
class Suite:
    """Gold sets that are run together; their names are unique."""

    golds: tuple[GoldSet, ...]

    @property
    def name(self) -> str:
        """The names of the gold sets, joined by `+`."""
        return "+".join(gold.name for gold in self.golds)

    @property
    def level(self) -> ResultLevel:
        """Level of the headline measure: `lines` if every gold set has that level."""
        return "lines" if self.golds and all(gold.level == "lines" for gold in self.golds) else "file"


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    size: int
    kind: FileKind
    language: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """An excluded file or directory; `reason` is a category, `detail` is for display."""

    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus on this machine with its files in path order."""

    root: Path
    spec: CorpusSpec
    files: tuple[SourceFile, ...]
    digest: str  # over paths and contents, machine independent
    skipped: tuple[SkippedFile, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the user, such as a missing test/ package
    revision: str | None = None  # commit or version of a fetched corpus
    hashes: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)  # path -> sha256 of each file


class Hit(NamedTuple):  # created twice as fast as a dataclass; a run has hundreds of thousands
    """One result of an engine; the position in the ranking is its rank."""

    path: str
    start: int | None = None
    end: int | None = None
    score: float | None = None
    snippet: str | None = None

    @property
    def span(self) -> Span:
        return Span(self.path, self.start, self.end)


class Status(StrEnum):
    """The outcome of a query; a query that is not OK gets the worst value of each measure that applies."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Cost:
    """The requests and tokens that an engine reports for one or more queries; None if not reported."""

    calls: int | None = None  # billed requests
    tokens: int | None = None

    def __add__(self, other: Cost) -> Cost:
        return Cost(_plus(self.calls, other.calls), _plus(self.tokens, other.tokens))


def _plus(first: int | None, second: int | None) -> int | None:
    return second if first is None else first + (second or 0)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of one engine for one phrasing of one query; one line of the records on disk."""

    gold: str
    query: str
    form: str
    hits: tuple[Hit, ...] = ()
    tokens: tuple[int, ...] = ()  # of each hit, by `syntax.text.estimate_tokens`
    status: Status = Status.OK
    seconds: float = 0.0
    error: str | None = None
    notes: tuple[str, ...] = ()  # tolerated contract violations: absolute paths, unknown files
    cost: Cost | None = None  # None: not reported


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources that an engine used on one corpus; None where not measured."""

    startup_seconds: float | None = None  # until the engine's server responded
    index_bytes: int | None = None  # written to its copy of the corpus and to its data directory
    peak_bytes: int | None = None  # memory of all its processes; the increase for in-process engines


@dataclass(frozen=True, slots=True)
class VariantInfo:
    """The base engine, changed settings and sweep of a variant."""

    base: str
    changes: Mapping[str, object] = field(default_factory=dict)  # dotted setting -> value
    sweep: str = ""  # name of the sweep that created the variant; empty for none


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The rankings of one engine in suite order, with the conditions of the run."""

    name: str
    rankings: tuple[Ranking, ...]
    role: EngineRole = "candidate"
    oversample: int = 1  # factor on the requested k
    config: Mapping[str, object] = field(default_factory=dict)  # settings that affect the ranking; no secrets
    index_seconds: Mapping[str, float] = field(default_factory=dict)  # by gold set name: opening, startup included
    notes: tuple[str, ...] = ()
    resources: Mapping[str, Resources] = field(default_factory=dict)  # by gold set name
    version: str = ""  # as reported by the engine
    stderr: Mapping[str, str] = field(default_factory=dict)  # by gold set name: the last output, redacted
    parallel: int = 1  # concurrent queries
    variation: VariantInfo | None = None
    date: str = ""  # day of the run, UTC
    assay: str = ""  # Assay version; empty: that of the run
    environment: Mapping[str, object] = field(default_factory=dict)  # empty: that of the run
    fingerprint: str = ""  # of the tool and its models; empty: unknown
    code: str = ""  # digest of the Assay code that affects results; empty: unknown

    @property
    def failed_throughout(self) -> bool:
        return bool(self.rankings) and all(ranking.status != Status.OK for ranking in self.rankings)


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """Recorded facts about the corpus of a gold set, and problems with the labels."""

    repository: str
    revision: str | None
    digest: str
    files: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # by reason
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()  # line ranges without a content hash whose text changed since they were committed
    root_commit: str | None = None  # first commit of the work tree; None outside of git and in a shallow clone
    file_digests: Mapping[str, str] = field(default_factory=dict)  # short, by path; empty for a very large corpus


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """Predeclared settings for the comparison of the engines of a run."""

    measures: tuple[str, ...]  # the primary measure first
    baseline: str  # empty: the runner-up, with p-values adjusted for all pairs
    margin: float = MARGIN
    alpha: float = ALPHA
    seed: int = 0
    family: tuple[str, ...] = ()  # compared engines; empty: every candidate except the baseline
    cluster: str = "auto"  # independent sampling unit: auto, repository, intent or tag:NAME
    tables: tuple[str, ...] = ()  # additional tables: matrix, bootstrap, forest, ranks
    auto_level: bool = False  # measures by lines become measures by file if an engine returns no lines

    @property
    def primary(self) -> str:
        return self.measures[0]


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """The conditions of a run and, if declared, its analysis plan."""

    assay: str = ""
    date: str = ""
    gold_hash: str = ""
    corpora: Mapping[str, CorpusInfo] = field(default_factory=dict)  # by gold set name
    environment: Mapping[str, object] = field(default_factory=dict)
    timeout: float = TIME_LIMITS.query  # seconds per query; also the time charged for a failed query
    analysis_plan: AnalysisPlan | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)  # engine -> reason
    timed: bool = True  # False: cells ran in parallel or came from the cache, so there are no timings


@dataclass(frozen=True, slots=True)
class Run:
    """The rankings of all engines, with the data to rescore them without engines or corpora."""

    suite: Suite  # anchors resolved
    k: int
    engines: tuple[EngineRun, ...]
    lines: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    # gold set name -> path -> UTF-8 bytes of each line with newline; only files named by hits or targets
    hashes: Mapping[str, str] = field(default_factory=dict)  # "gold/query" -> hash of the query
    header: RunMetadata = field(default_factory=RunMetadata)


@dataclass(frozen=True, slots=True)
class Unit:
    """One column of a score table: one phrasing of one query."""

    gold: str
    query: str
    form: str
    repository: str
    hash: str = ""
    headline: bool = True
    tags: Mapping[str, str] = field(default_factory=dict)
    shared: str = ""  # common digest of queries with shared targets; empty: none shared

    @property
    def intent(self) -> str:
        return f"{self.gold}/{self.query}"


@dataclass(frozen=True, slots=True)
class Scores:
    """Values by engine × measure × unit; NaN where a measure does not apply.

    A measure over all phrasings of a query is stored at the query's headline unit.
    """

    engines: tuple[str, ...]
    measures: tuple[str, ...]  # repr of each measure
    units: tuple[Unit, ...]
    values: FloatArray  # shape (engines, measures, units)

    def means(self) -> dict[str, dict[str, float]]:
        """Return engine → measure → mean over the first phrasing of each query, NaN if the measure never applies."""
        headline = [at for at, unit in enumerate(self.units) if unit.headline]

        def mean(column: FloatArray) -> float:
            values = column[headline]
            applicable = values[values == values]  # NaN: the measure does not apply
            return float(applicable.mean()) if applicable.size else float("nan")

        return {
            engine: {measure: mean(column) for measure, column in zip(self.measures, table, strict=True)}
            for engine, table in zip(self.engines, self.values, strict=True)
        }

    def to_dict(self) -> dict[str, list[object]]:
        """Return columns: engine, gold, query, form, and one per measure, with a row per engine and unit."""
        rows = [(engine, unit) for engine in self.engines for unit in self.units]
        columns: dict[str, list[object]] = {"engine": [engine for engine, _ in rows]}
        columns |= {name: [getattr(unit, name) for _, unit in rows] for name in ("gold", "query", "form")}
        for at, name in enumerate(self.measures):
            columns[name] = list(self.values[:, at].ravel().tolist())
        return columns

    def to_frame(self) -> Any:  # noqa: ANN401  # pandas is optional
        """Return the columns of `to_dict` as a pandas DataFrame; raise SetupError if pandas is not installed."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            hint = "run pip install pandas, or use to_dict()"
            raise SetupError("cannot make a DataFrame: pandas is not installed", hint=hint) from error
        return pandas.DataFrame(self.to_dict())


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A definition; `name` includes the scopes (`Cart.total`) and, for a repeated name, a suffix such as `~2`."""

    start: int
    end: int
    name: str
    kind: str  # class, function, method, constant


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    stage: str
    score: float
    change: float
    rank: int  # after the stage, from 1; 0 without a match
    before: int  # rank before the stage


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    path: str
    start: int | None
    end: int | None
    steps: tuple[WaterfallStep, ...]  # one per stage


@dataclass(frozen=True, slots=True)
class Waterfall:
    """An explanation of one ranking: the searched terms and the effect of each stage."""

    kind: str  # detected query type
    terms: tuple[str, ...]
    stages: tuple[str, ...]
    candidates: tuple[WaterfallRow, ...]  # in ranking order, then additionally traced ones
