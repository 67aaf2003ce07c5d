"""Engine sessions of an audit: copies of the corpus, deadlines, recorded output."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.audit.records import AuditConfig, AuditFinding, AuditQuery, Proportion, Severity
from assay.audit.subject import AuditTarget
from assay.engines.base import SearchFilter, Session
from assay.engines.normalize import Normalizer
from assay.engines.resources import THREAD_VARIABLES, pinned
from assay.engines.runner import (
    QueryOutcome,
    close_session,
    open_session,
    query_filtered,
    query_session,
    update_session,
)
from assay.errors import AssayError, EngineError
from assay.experiment.corpora import private_copy
from assay.experiment.spec.model import EngineFactory
from assay.processes.running import ProgramSpec, run_process
from assay.store.scratch import scratch
from assay.types import Corpus, Hit, Status


@dataclass(frozen=True, slots=True)
class ResultLocation:
    """Where a result points, exactly as given; a path is written as the corpus writes it where that is certain."""

    path: str
    start: object
    end: object

    def __str__(self) -> str:
        return self.path if self.start is None else f"{self.path}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class AuditRanking:
    """One answer: how it ended and what it held, in order."""

    status: Status
    hits: tuple[Hit, ...] = ()  # as the engine gave them
    places: tuple[ResultLocation, ...] = ()
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether the engine answered."""
        return self.status == Status.OK

    @property
    def scores(self) -> tuple[object, ...]:
        """The score of each result, where it has one."""
        return tuple(hit.score for hit in self.hits)

    @property
    def outcome(self) -> tuple[Status, tuple[ResultLocation, ...]]:
        """What must be the same when the same is asked; the words of an error may differ."""
        return self.status, self.places

    def show(self, most: int) -> str:
        """Write it on one line."""
        if not self.ok:
            return f"{self.status}: {self.error}"
        shown = ", ".join(map(str, self.places[:most])) or "no results"
        return shown + (f", … ({len(self.places)} results)" if len(self.places) > most else "")


def differ(one: AuditRanking, other: AuditRanking) -> bool:
    """Tell whether two answers differ in how they ended, in places or in scores."""
    return one.outcome != other.outcome or score_gap(one, other) > 0


def first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    """Give the first rank, from 1, at which two rankings differ; 0 when they do not."""
    for rank, (a, b) in enumerate(zip_longest(one, other), start=1):
        if a != b:
            return rank
    return 0


def is_prefix(short: Sequence[object], long: Sequence[object]) -> bool:
    """Tell whether one ranking begins the other."""
    return len(short) <= len(long) and all(a == b for a, b in zip(short, long, strict=False))


def score_gap(one: AuditRanking, other: AuditRanking) -> float:
    """Give the largest difference between the scores of two answers with the same places; 0 without numbers."""
    pairs = zip(one.scores, other.scores, strict=False)
    gaps = [abs(a - b) for a, b in pairs if isinstance(a, int | float) and isinstance(b, int | float) and a != b]
    return max((gap for gap in gaps if gap == gap), default=0.0)  # NaN is for the check of scores


class ResultReader:
    """Answers on one corpus, as the checks compare them."""

    def __init__(self, subject: AuditTarget, corpus: Corpus) -> None:
        self._subject = subject
        self._path = Normalizer(corpus, also=(subject.corpus.root,)).path

    def __call__(self, answer: QueryOutcome) -> AuditRanking:
        """Read one answer; our own files are left out, as in a run."""
        named = [(hit, self._path(hit.path) if isinstance(hit.path, str) else str(hit.path)) for hit in answer.hits]
        kept = [(hit, path) for hit, path in named if not self._subject.ours(path)]
        places = tuple(ResultLocation(path, hit.start, hit.end) for hit, path in kept)
        return AuditRanking(answer.status, tuple(hit for hit, _ in kept), places, answer.error or "")


class EngineClient:
    """One open session."""

    def __init__(self, session: Session, subject: AuditTarget, corpus: Corpus, config: AuditConfig) -> None:
        self._session = session
        self._config = config
        self._subject = subject
        self.corpus = corpus
        self._read = ResultReader(subject, corpus)

    def ask(self, query: str, k: int) -> AuditRanking:
        """Ask one query."""
        return self._read(query_session(self._session, query, k, self._config.timeout))

    def ask_filtered(self, query: str, k: int, wanted: SearchFilter) -> AuditRanking | None:
        """Ask for a part of the corpus; None when the engine has no such filter."""
        answer = query_filtered(self._session, query, k, wanted, self._config.timeout)
        return None if answer is None else self._read(answer)

    def update(self, corpus: Corpus) -> AuditRanking | None:
        """Let the engine take in changed files; None when it cannot."""
        answer = update_session(self._session, corpus, self._config.index_timeout)
        self.corpus, self._read = corpus, ResultReader(self._subject, corpus)
        return None if answer is None else self._read(answer)


class AuditSessions:
    """Where an engine is audited. Sessions and copies of the corpus live in a folder that is removed at the end."""

    def __init__(self, subject: AuditTarget, config: AuditConfig) -> None:
        self.subject = subject
        self.config = config
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(scratch("assay-audit-")).resolve()
        self._copies = 0
        self._main: EngineClient | None = None
        self._kept: dict[tuple[str, int], AuditRanking] = {}
        self._steady: dict[tuple[str, int], bool] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    @property
    def questions(self) -> tuple[AuditQuery, ...]:
        """The ordinary queries."""
        return self.subject.questions

    @property
    def texts(self) -> tuple[str, ...]:
        """Their texts."""
        return tuple(question.text for question in self.questions)

    @property
    def main(self) -> EngineClient:
        """The session that most checks share, opened when it is first needed."""
        if self._main is None:
            self._main = self._stack.enter_context(self.session())
        return self._main

    def answer(self, query: str, k: int) -> AuditRanking:
        """Give the first answer of the main session to a query at a depth."""
        if (query, k) not in self._kept:
            self._kept[query, k] = self.main.ask(query, k)
        return self._kept[query, k]

    def is_steady(self, query: str, k: int) -> bool:
        """Tell whether the main session answers a query at a depth as it did first; asked only where it matters."""
        if (query, k) not in self._steady:
            first, times = self.answer(query, k).outcome, self.config.repeats
            self._steady[query, k] = all(self.main.ask(query, k).outcome == first for _ in range(times))
        return self._steady[query, k]

    @property
    def is_remote(self) -> bool:
        """Whether a server is asked that somebody else started, on files that Assay does not give it."""
        engine = self.subject.engine
        return not engine.private and bool(engine.config.get("url"))

    def scratch(self) -> Path:
        """Give a new empty folder."""
        self._copies += 1
        folder = self._folder / str(self._copies)
        folder.mkdir()
        return folder

    def ground(self, corpus: Corpus | None = None, *, own: bool = False) -> Corpus:
        """Give the corpus, or another one, to open the engine on: a copy when it is private or `own` says so."""
        return self._stack.enter_context(private_copy(self.subject.engine, corpus or self.subject.corpus, always=own))

    @contextmanager
    def session(self, corpus: Corpus | None = None) -> Iterator[EngineClient]:
        """Open the engine; raises EngineError or EnvironmentFailure when it does not open."""
        ground = corpus or self.ground()
        opened = open_session(self.subject.engine, ground, self.config.index_timeout)
        try:
            yield EngineClient(opened.session, self.subject, ground, self.config)
        finally:
            close_session(opened.session)

    def finding(
        self,
        check: str,
        law: str,
        severity: Severity,
        sentence: str,
        *,
        share: Proportion | None = None,
        example: Iterable[str] = (),
        commands: Iterable[str] = (),
    ) -> AuditFinding:
        """Make a finding; the command that makes the whole check again always comes last."""
        again = self.subject.wording.audit(check, self.config)
        return AuditFinding(check, law, severity, sentence, share, tuple(example), (*commands, again))

    def ask_command(self, query: str, k: int, wanted: SearchFilter | None = None, environment: str = "") -> str:
        """Write how to ask one query by hand."""
        return self.subject.wording.ask(query, k, wanted, environment)


@dataclass(frozen=True, slots=True)
class ProcessConditions:
    """What the other process has of its own."""

    hash_seed: int
    threads: int

    @property
    def environment(self) -> dict[str, str]:
        """The variables that say so."""
        return {"PYTHONHASHSEED": str(self.hash_seed), **dict.fromkeys(THREAD_VARIABLES, str(self.threads))}


@dataclass(frozen=True, slots=True)
class SubprocessJob:
    """What the other process is to do."""

    recipe: EngineFactory
    corpus: Corpus
    queries: tuple[str, ...]
    k: int
    timeout: float
    index_timeout: float
    threads: int

    def run(self) -> tuple[QueryOutcome, ...]:
        """Make the engine, open it and ask everything."""
        with pinned(self.threads):
            opened = open_session(self.recipe.make(), self.corpus, self.index_timeout)
            try:
                return tuple(query_session(opened.session, query, self.k, self.timeout) for query in self.queries)
            finally:
                close_session(opened.session)


class NotPortableError(Exception):
    """The engine cannot be made in another process; says why."""


def query_in_subprocess(bench: AuditSessions, conditions: ProcessConditions) -> tuple[AuditRanking, ...]:
    """Ask every ordinary query in a process of its own; raise EngineError when the engine fails there."""
    recipe = bench.subject.recipe
    if recipe is None:
        raise NotPortableError("the engine was handed in as an object, so no other process can make it")
    config, corpus, folder = bench.config, bench.ground(), bench.scratch()
    job = SubprocessJob(recipe, corpus, bench.texts, config.k, config.timeout, config.index_timeout, conditions.threads)
    _write(job, folder / "job")
    seconds = config.start + config.index_timeout + config.timeout * len(job.queries)
    argv = (sys.executable, "-P", "-m", "assay.audit.worker", str(folder / "job"), str(folder / "answers"))
    finished = run_process(ProgramSpec(argv, None, {**os.environ, **conditions.environment}), seconds)
    if not (folder / "answers").is_file():
        said = finished.last_words or finished.end
        if finished.end == "exit":  # what an engine raises is an answer; this is of our own making
            raise NotPortableError(f"the process that was to ask it ended by itself: {said}")
        raise EngineError(f"in another process it failed: {said}", hint="run it by itself")
    answers = pickle.loads((folder / "answers").read_bytes())  # noqa: S301 - our own process wrote it
    if isinstance(answers, AssayError):
        raise answers
    read = ResultReader(bench.subject, corpus)
    return tuple(map(read, answers))


def _write(job: SubprocessJob, path: Path) -> None:
    try:
        path.write_bytes(pickle.dumps(job))
    except (TypeError, AttributeError, pickle.PicklingError) as problem:
        raise NotPortableError(f"its settings cannot be handed to another process: {problem}") from problem
