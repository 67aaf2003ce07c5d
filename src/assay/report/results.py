"""The contents of results.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from assay.report.render.terminal import plain
from assay.report.rows import EngineRow
from assay.stats.records import Comparison, SliceRow
from assay.types import EngineRole, RunMetadata


@dataclass(frozen=True, slots=True)
class EngineSummary:
    """How an engine behaved, beside how well it answered."""

    name: str
    role: EngineRole
    asked: int
    failed: int
    statuses: dict[str, int]
    distinct: float  # mean number of different files among the results of a headline query
    tie_rate: float  # share of headline queries whose results hold equal scores
    tie_range: tuple[float, float, float] | None  # primary measure over shuffles of ties: least, mean, greatest
    notes: tuple[str, ...]

    @property
    def answered_nothing(self) -> bool:
        """Whether every query failed: its values are then no measurement."""
        return 0 < self.asked == self.failed


@dataclass(frozen=True, slots=True)
class EngineResources:
    """What an engine took over all gold sets; None where it was not measured."""

    engine: str
    version: str
    startup_seconds: float | None  # until a server of its own answered
    index_seconds: float | None  # opening without start-up
    index_by_gold: dict[str, float]
    first_ms: float | None  # the first query on a corpus; the median over corpora
    warm_ms: float | None  # median of the others; a failed one is charged the limit that held, here and above and below
    warm_p95_ms: float | None
    warm_queries: int
    charged: int  # queries that failed
    peak_bytes: int | None  # of memory, on the corpus that took most
    index_bytes: int | None
    calls: int | None  # billed, where the engine says so
    tokens: int | None
    index_ratio: float | None = None  # to the fastest engine that competes
    warm_ratio: float | None = None
    limit_seconds: float = 0.0  # that held for one query: the engine's own where that is shorter
    first_failed: bool = False  # on most corpora
    warm_failed: int = 0  # of the warm queries
    answered_ms: float | None = None  # median of the warm queries that were answered
    failed_ms: float | None = None  # median of the time that failed queries really took; None: none failed or was asked

    @property
    def mostly_failed(self) -> bool:
        """Whether most warm queries failed: their median is then what failures are charged."""
        return self.warm_failed * 2 >= self.warm_queries > 0


@dataclass(frozen=True, slots=True)
class TimingConditions:
    """What times were taken under."""

    pinned: int | None  # threads that each engine had; None: as many as it liked
    interleaved: bool  # whether engines took turns, question by question
    alone: bool  # whether there was one engine only
    machine: str
    cores: int
    in_flight: dict[str, int]  # engines that were asked several questions at once


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """Queries that an engine gave no answer to, for one reason."""

    engine: str
    kind: str  # could not be opened, crash, timeout, error
    queries: int
    share: float  # of all that it was asked
    message: str  # of the first
    first: str  # gold/query (form)


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """A contract that an engine broke and that was survived."""

    engine: str
    kind: str
    queries: int
    times: int  # hits or lines, where they were counted
    of: int
    example: str


@dataclass(frozen=True, slots=True)
class PathMismatch:
    """An engine that named no file of a corpus at all."""

    engine: str
    gold: str
    results: int
    returned: str
    there: str  # a path of the corpus, the like of what was returned where there is one
    cause: str


@dataclass(frozen=True, slots=True)
class StderrTail:
    """The end of what an engine wrote to stderr on one gold set."""

    engine: str
    gold: str
    text: str


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The primary measure's mean over one group of queries."""

    engine: str
    group: str
    queries: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One way of cutting the queries into groups: forms, difficulty, leaks, ..."""

    by: str
    measure: str
    groups: tuple[GroupMean, ...]


@dataclass(frozen=True, slots=True)
class Phrasing:
    """How much the wording decides, over the forms of each intent."""

    engine: str
    measure: str
    mean: float
    low: float
    high: float
    intents: int


@dataclass(frozen=True, slots=True)
class AdversaryStats:
    """Adversaries of one kind against one engine."""

    engine: str
    by: str  # all, relationship or strength
    value: str
    queries: int
    found: float  # share whose primary answer is among the results
    displacement: float
    rank_gap: float


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where the first right answer stood, over the headline queries; `missed` ones stand nowhere."""

    engine: str
    counts: tuple[int, ...]  # rank 1, 2, ...
    missed: int
    sentence: str
    level: str  # at which an answer is right: that of the primary measure
    measure: str  # the reciprocal rank that they are read from


@dataclass(frozen=True, slots=True)
class LowScore:
    """A query an engine did badly on: what was expected, what came."""

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
    """A measure's mean over the queries whose evaluation layer names it."""

    engine: str
    measure: str
    queries: int
    mean: float


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What of a run cannot mean what it seems to mean, and what to do about it."""

    kind: str  # identical rankings, dead knob, nearly dead knob, within noise, best of many
    names: tuple[str, ...]  # the engines; of a knob its name
    sentence: str
    next: str
    evidence: Mapping[str, object]
    grave: bool = True  # False: a note, not a warning

    @property
    def text(self) -> str:
        """What a person reads."""
        return f"{self.sentence} {self.next}"


@dataclass(frozen=True, slots=True)
class Results:
    """All that may be said of one run."""

    suite: str
    k: int
    queries: int
    repositories: int
    forms: tuple[str, ...]
    headline: str  # which form the headline numbers are about, in words
    measures: tuple[str, ...]
    leader: str  # the best engine on the primary measure; of equals the baseline, then the one with the fewest changes
    challenger: str  # the best of those that are compared with the baseline; where it stands alone, the leader
    comparison: Comparison
    engines: tuple[EngineSummary, ...]
    reading: str
    breakdowns: tuple[Breakdown, ...]
    slices: tuple[SliceRow, ...]  # the leader against the baseline, part by part; exploratory
    phrasings: tuple[Phrasing, ...]
    traps: tuple[AdversaryStats, ...]
    layers: tuple[LayerMean, ...]
    ranks: tuple[Ranks, ...]
    failures: tuple[LowScore, ...]
    warnings: tuple[str, ...]  # what limits every number
    notes: tuple[str, ...]  # what is good to know of the corpora
    header: RunMetadata
    spending: tuple[EngineResources, ...]
    conditions: TimingConditions
    mishaps: tuple[QueryFailure, ...]
    breaches: tuple[ContractViolation, ...]
    strayed: tuple[PathMismatch, ...]
    stderr: tuple[StderrTail, ...]
    synthetic: tuple[str, ...] = ()  # the gold sets that were made from the code, not by people
    rows: tuple[EngineRow, ...] = ()  # one an engine: of this run, skipped in it, or of an earlier one
    alarms: tuple[Diagnostic, ...] = ()
    tables: tuple[str, ...] = ()  # that were wanted beside the usual ones
    numbers: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # of those tables, by their names

    def shown(self, engine: str) -> str:
        """Name an engine in a table of scores, marked where its values are those of failures only."""
        dead = any(facts.name == engine and facts.answered_nothing for facts in self.engines)
        return f"{engine} (failed)" if dead else engine


def results_json(results: Results) -> dict[str, Any]:
    """Give the results as JSON can hold them."""
    fields = cast(dict[str, Any], plain(results))
    return {"schema": "assay/results/1", **fields, "skipped": fields["header"]["skipped"]}
