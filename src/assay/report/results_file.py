from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from assay.report.decision import Decision
from assay.report.render.formatting import plain
from assay.report.rows_file import EngineRow
from assay.stats.records import Comparison, SliceRow
from assay.types import EngineRole, RunMetadata


@dataclass(frozen=True, slots=True)
class EngineSummary:
    """Failures, duplicates and ties of an engine."""

    name: str
    role: EngineRole
    asked: int
    failed: int
    statuses: dict[str, int]
    distinct: float  # mean number of distinct files among the results of a headline query
    tie_rate: float  # share of headline queries with equal scores among their results
    tie_range: tuple[float, float, float] | None  # primary measure over shuffles of ties: lowest, mean, highest
    notes: tuple[str, ...]

    @property
    def answered_nothing(self) -> bool:
        """Whether every query failed."""
        return 0 < self.asked == self.failed


@dataclass(frozen=True, slots=True)
class EngineResources:
    """Time, memory, disk and billed calls of an engine over all gold sets; None if not measured."""

    engine: str
    version: str
    startup_seconds: float | None = None  # until its server answered
    index_seconds: float | None = None  # to open, without startup
    index_by_gold: dict[str, float] = field(default_factory=dict)
    first_ms: float | None = None  # first query on a corpus, median over corpora
    warm_ms: float | None = None  # median of the other queries; failed queries count as the timeout in all times
    warm_p95_ms: float | None = None
    warm_queries: int = 0
    charged: int = 0  # failed queries
    peak_bytes: int | None = None  # of memory, on the corpus with the highest peak
    index_bytes: int | None = None
    calls: int | None = None  # billed, if the engine reports them
    tokens: int | None = None
    index_ratio: float | None = None  # to the fastest competing engine
    warm_ratio: float | None = None
    limit_seconds: float = 0.0  # timeout of a query: the engine's own if shorter
    first_failed: bool = False  # on most corpora
    warm_failed: int = 0  # failed warm queries
    answered_ms: float | None = None  # median of the warm queries that did not fail
    failed_ms: float | None = None  # median of the actual time of failed queries

    @property
    def mostly_failed(self) -> bool:
        """Whether at least half of the warm queries failed."""
        return self.warm_failed * 2 >= self.warm_queries > 0


@dataclass(frozen=True, slots=True)
class TimingConditions:
    """Conditions under which times were measured."""

    pinned: int | None  # threads of each engine; None: unlimited
    interleaved: bool  # whether queries were interleaved across engines
    alone: bool  # whether there was only one engine
    machine: str
    cores: int
    in_flight: dict[str, int]  # engines with several queries at once


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """Failed queries of an engine with the same kind of error."""

    engine: str
    kind: str  # could not be opened, crash, timeout, error
    queries: int
    share: float  # of all its queries
    message: str  # of the first query
    first: str  # gold/query (form)


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """Invalid engine output of one kind, repaired or scored as returned."""

    engine: str
    kind: str
    queries: int
    times: int  # hits or lines, if counted
    of: int
    example: str


@dataclass(frozen=True, slots=True)
class PathMismatch:
    """An engine whose paths are all missing from a corpus."""

    engine: str
    gold: str
    results: int
    returned: str
    there: str  # a path of the corpus, similar to the returned path if there is one
    cause: str


@dataclass(frozen=True, slots=True)
class StderrTail:
    """The end of an engine's stderr on one gold set."""

    engine: str
    gold: str
    text: str


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of the primary measure over one group of queries."""

    engine: str
    group: str
    queries: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Means by phrasing, difficulty, leakage or another property of queries."""

    by: str
    measure: str
    groups: tuple[GroupMean, ...]


@dataclass(frozen=True, slots=True)
class Phrasing:
    """The mean of a measure that combines the phrasings of each query."""

    engine: str
    measure: str
    mean: float
    low: float
    high: float
    intents: int


@dataclass(frozen=True, slots=True)
class AdversaryStats:
    """The effect of one group of adversaries on one engine."""

    engine: str
    by: str  # all, relationship or strength
    value: str
    queries: int
    found: float  # share of queries with a primary target among the results
    displacement: float
    rank_gap: float


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ranks of the first relevant result over the headline queries."""

    engine: str
    counts: tuple[int, ...]  # rank 1, 2, ...
    missed: int
    sentence: str
    level: str  # at which results match: that of the primary measure
    measure: str  # the reciprocal rank that the ranks come from


@dataclass(frozen=True, slots=True)
class LowScore:
    """A query with a low score, its targets and its top results."""

    engine: str
    gold: str
    query: str
    form: str
    text: str
    value: float
    rank: int | None
    expected: tuple[str, ...]
    top: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class LayerMean:
    """The mean of a measure over the queries whose evaluation layer names it."""

    engine: str
    measure: str
    queries: int
    mean: float


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A suspicious pattern in the results, with the next step."""

    kind: str  # such as identical rankings or paths only
    names: tuple[str, ...]  # of the engines or of the parameter
    sentence: str
    next: str
    evidence: Mapping[str, object]
    grave: bool = True  # False: a note, not a warning

    @property
    def text(self) -> str:
        return f"{self.sentence} {self.next}"


@dataclass(frozen=True, slots=True)
class Results:
    """The analysis of one run."""

    suite: str
    k: int
    queries: int
    repositories: int
    forms: tuple[str, ...]
    headline: str  # the phrasings behind the headline numbers
    measures: tuple[str, ...]
    leader: str  # the best engine on the primary measure; of equals the baseline, then the one with the fewest changes
    challenger: str  # the best engine compared with the baseline; without one, the leader
    comparison: Comparison
    engines: tuple[EngineSummary, ...]
    reading: str
    breakdowns: tuple[Breakdown, ...]
    slices: tuple[SliceRow, ...]  # the challenger against the baseline by group; exploratory
    phrasings: tuple[Phrasing, ...]
    adversaries: tuple[AdversaryStats, ...]
    layers: tuple[LayerMean, ...]
    ranks: tuple[Ranks, ...]
    low_scores: tuple[LowScore, ...]
    warnings: tuple[str, ...]  # limits of every number
    notes: tuple[str, ...]  # on the corpora
    header: RunMetadata
    spending: tuple[EngineResources, ...]
    conditions: TimingConditions
    failed_queries: tuple[QueryFailure, ...]
    contract_violations: tuple[ContractViolation, ...]
    path_mismatches: tuple[PathMismatch, ...]
    stderr: tuple[StderrTail, ...]
    synthetic: tuple[str, ...] = ()  # gold sets generated from code
    rows: tuple[EngineRow, ...] = ()  # engines of this run, skipped engines, engines of earlier runs
    diagnostics: tuple[Diagnostic, ...] = ()
    tables: tuple[str, ...] = ()  # optional tables
    numbers: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # of the optional tables, by name
    decision: Decision = field(kw_only=True)

    def label(self, engine: str) -> str:
        """Return the name of an engine, marked if all its queries failed."""
        dead = any(facts.name == engine and facts.answered_nothing for facts in self.engines)
        return f"{engine} (failed)" if dead else engine


def results_json(results: Results) -> dict[str, Any]:
    """Return the results as JSON types."""
    fields = cast(dict[str, Any], plain(results))
    for facts in fields["header"]["corpora"].values():
        facts.pop("file_digests")  # in run.json
    return {"schema": "assay/results/2", **fields, "skipped": fields["header"]["skipped"]}
