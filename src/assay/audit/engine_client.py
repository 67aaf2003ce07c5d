from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeVar

from assay.audit.findings import AuditConfig, AuditFinding, AuditQuery, ReproCommand, Severity, make_finding
from assay.engines.base import FullEngine, SearchFilter, Session
from assay.engines.calls import (
    QueryOutcome,
    close_session,
    open_session,
    query_filtered,
    query_session,
    update_session,
)
from assay.engines.normalize import Normalizer
from assay.experiment.corpora import private_copy
from assay.experiment.spec.engine_entries import EngineFactory
from assay.store.scratch import scratch
from assay.types import Corpus, Hit, Query, Span, Status

if TYPE_CHECKING:
    from assay.gold.lint.rules import EngineReach

_Item = TypeVar("_Item")
#: Reason not to try a law that compares two rankings of an engine that is not deterministic.
UNSTEADY = "the engine is not deterministic"


@dataclass(frozen=True, slots=True)
class AuditTarget:
    name: str
    engine: FullEngine
    corpus: Corpus
    queries: tuple[AuditQuery, ...]
    repro: ReproCommand
    factory: EngineFactory | None = None  # for other processes; None if the engine was passed as an object
    gold: tuple[Query, ...] = ()  # queries whose targets should be reachable, anchors resolved
    reach: EngineReach | None = None  # everything that the engine can return, if known
    ours: Callable[[str], bool] = field(default=lambda _: False)  # gold file and configuration in the corpus
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditRanking:
    """Outcome of one query, with unnormalized results."""

    status: Status
    hits: tuple[Hit, ...] = ()  # as returned by the engine
    locations: tuple[Span, ...] = ()  # lines as returned, paths relative to the corpus where that is certain
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status == Status.OK

    @property
    def scores(self) -> tuple[object, ...]:
        return tuple(hit.score for hit in self.hits)

    @property
    def outcome(self) -> tuple[Status, tuple[Span, ...]]:
        """Status and locations, which are equal for equal queries of a deterministic engine."""
        return self.status, self.locations

    def text(self, limit: int) -> str:
        if not self.ok:
            return f"{self.status}: {self.error}"
        shown = ", ".join(map(str, self.locations[:limit])) or "no results"
        return shown + (f", … ({len(self.locations)} results)" if len(self.locations) > limit else "")


def differ(one: AuditRanking, other: AuditRanking) -> bool:
    """Return whether two rankings differ in status, locations or scores."""
    return one.outcome != other.outcome or score_gap(one, other) > 0


def changed_queries(pairs: Sequence[Sequence[tuple[AuditRanking, AuditRanking]]]) -> tuple[Severity, list[int]]:
    """Return the severity and the indexes of queries with different rankings, or else with different scores."""
    moved = [index for index, own in enumerate(pairs) if any(a.outcome != b.outcome for a, b in own)]
    rescored = [index for index, own in enumerate(pairs) if any(score_gap(a, b) for a, b in own)]
    if moved:
        return Severity.BROKEN, moved
    return (Severity.WEAKNESS if rescored else Severity.FINE), rescored


def first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the first rank, from 1, at which two rankings differ; 0 if they are equal."""
    pairs = enumerate(zip_longest(one, other), start=1)
    return next((rank for rank, (a, b) in pairs if a != b), 0)


def is_prefix(short: Sequence[object], long: Sequence[object]) -> bool:
    return tuple(short) == tuple(long[: len(short)])


def score_gap(one: AuditRanking, other: AuditRanking) -> float:
    """Return the largest difference between the scores of two rankings; 0 without numbers."""
    pairs = zip(one.scores, other.scores, strict=False)
    gaps = [abs(a - b) for a, b in pairs if isinstance(a, int | float) and isinstance(b, int | float) and a != b]
    return max((gap for gap in gaps if gap == gap), default=0.0)  # NaN is found by the check of scores


def shuffle(items: Sequence[_Item], seed: int) -> list[_Item]:
    import numpy as np

    return [items[index] for index in np.random.default_rng(seed).permutation(len(items)).tolist()]


class RankingReader:
    """Converter of query outcomes to rankings, without results in the gold file and the configuration."""

    def __init__(self, target: AuditTarget, corpus: Corpus) -> None:
        self._ours = target.ours
        self._path = Normalizer(corpus, also=(target.corpus.root,)).path

    def __call__(self, outcome: QueryOutcome) -> AuditRanking:
        named = [(hit, self._path(hit.path) if isinstance(hit.path, str) else str(hit.path)) for hit in outcome.hits]
        kept = [(hit, path) for hit, path in named if not self._ours(path)]
        locations = tuple(Span(path, hit.start, hit.end) for hit, path in kept)
        return AuditRanking(outcome.status, tuple(hit for hit, _ in kept), locations, outcome.error or "")


class EngineClient:
    def __init__(self, session: Session, target: AuditTarget, corpus: Corpus, config: AuditConfig) -> None:
        self._session = session
        self._config = config
        self._target = target
        self.corpus = corpus
        self._read = RankingReader(target, corpus)

    def query(self, query: str, k: int) -> AuditRanking:
        return self._read(query_session(self._session, query, k, self._config.timeout))

    def query_filtered(self, query: str, k: int, search_filter: SearchFilter) -> AuditRanking | None:
        """Send a query with a filter; return None if the engine does not support the filter."""
        outcome = query_filtered(self._session, query, k, search_filter, self._config.timeout)
        return None if outcome is None else self._read(outcome)

    def update(self, corpus: Corpus) -> AuditRanking | None:
        """Update the index to changed files; return None if the engine has no update."""
        outcome = update_session(self._session, corpus, self._config.index_timeout)
        self.corpus, self._read = corpus, RankingReader(self._target, corpus)
        return None if outcome is None else self._read(outcome)


class AuditSessions(ExitStack):
    """Sessions of an audit, their cached rankings and temporary copies of the corpus."""

    def __init__(self, target: AuditTarget, config: AuditConfig) -> None:
        super().__init__()
        self.target = target
        self.config = config
        self.queries = tuple(query.text for query in target.queries)
        self._directory = self.enter_context(scratch("assay-audit-")).resolve()
        self._main: EngineClient | None = None
        self._rankings: dict[tuple[str, int], AuditRanking] = {}
        self._steady: dict[tuple[str, int], bool] = {}

    @property
    def main(self) -> EngineClient:
        """Session that most checks share, opened on first use."""
        if self._main is None:
            self._main = self.enter_context(self.session())
        return self._main

    def ranking(self, query: str, k: int) -> AuditRanking:
        """Return the first ranking of a query in the main session."""
        if (query, k) not in self._rankings:
            self._rankings[query, k] = self.main.query(query, k)
        return self._rankings[query, k]

    def is_steady(self, query: str, k: int) -> bool:
        """Return whether repetitions of a query in the main session give the first ranking."""
        if (query, k) not in self._steady:
            first = self.ranking(query, k).outcome
            repeats = range(self.config.repeats)
            self._steady[query, k] = all(self.main.query(query, k).outcome == first for _ in repeats)
        return self._steady[query, k]

    def problem(
        self,
        law: str,
        severity: Severity,
        sentence: str,
        query: str,
        *example: str,
        share: tuple[int, int] = (0, 0),
        depths: Sequence[int] = (),
        environments: Sequence[str] = ("",),
    ) -> AuditFinding:
        """Return a finding with an example query and the commands that send it."""
        repro, at = self.target.repro, depths or (self.config.k,)
        commands = [repro.query(query, k, environment=variables) for k in at for variables in environments]
        lines = (f"query: {query}", *example)
        return make_finding(law, severity, sentence, *share, example=lines, commands=commands)

    @property
    def is_remote(self) -> bool:
        """Return whether the engine is a server that Assay did not start."""
        engine = self.target.engine
        return not engine.private and bool(engine.config.get("url"))

    def new_directory(self) -> Path:
        return Path(mkdtemp(dir=self._directory))

    def corpus_for_engine(self, corpus: Corpus | None = None, *, copy: bool = False) -> Corpus:
        """Return the corpus to open the engine on; a copy if the engine is private or `copy` is set."""
        return self.enter_context(private_copy(self.target.engine, corpus or self.target.corpus, always=copy))

    @contextmanager
    def session(self, corpus: Corpus | None = None) -> Iterator[EngineClient]:
        """Open the engine; raise EngineError or SetupError if it does not open."""
        chosen = corpus or self.corpus_for_engine()
        opened = open_session(self.target.engine, chosen, self.config.index_timeout)
        try:
            yield EngineClient(opened.session, self.target, chosen, self.config)
        finally:
            close_session(opened.session)
