"""Everything a report says, as numbers: what results.json holds and what the documents are made of."""

from __future__ import annotations

from dataclasses import dataclass

from assay.stats.records import Comparison, SliceRow
from assay.types import Header, Role


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """How an engine behaved, beside how well it answered."""

    name: str
    role: Role
    asked: int
    failed: int
    statuses: dict[str, int]
    distinct: float  # mean number of different files among the results of a headline query
    tie_rate: float  # share of headline queries whose results hold equal scores
    tie_range: tuple[float, float, float] | None  # primary measure over shuffles of ties: least, mean, greatest
    median_ms: float
    p95_ms: float
    index_seconds: float
    breaches: dict[str, int]  # contract breaches that were survived, with how often
    notes: tuple[str, ...]


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
class Trap:
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


@dataclass(frozen=True, slots=True)
class Failure:
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
class Layer:
    """A measure's mean over the queries whose evaluation layer names it."""

    engine: str
    measure: str
    queries: int
    mean: float


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
    leader: str  # the best real engine on the primary measure
    comparison: Comparison
    engines: tuple[EngineFacts, ...]
    reading: str
    breakdowns: tuple[Breakdown, ...]
    slices: tuple[SliceRow, ...]  # the leader against the baseline, part by part; exploratory
    phrasings: tuple[Phrasing, ...]
    traps: tuple[Trap, ...]
    layers: tuple[Layer, ...]
    ranks: tuple[Ranks, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]  # what limits every number
    notes: tuple[str, ...]  # what is good to know of the corpora
    header: Header
    synthetic: tuple[str, ...] = ()  # the gold sets that were made from the code, not by people
