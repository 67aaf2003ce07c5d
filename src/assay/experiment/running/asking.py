"""Run engines on one gold set and validate their output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from assay.corpus.opening import directory_size
from assay.engines.base import FullEngine, Session, SessionUsage, SharedCache, TimedEngine, sharing_engine
from assay.engines.normalize import Normalizer
from assay.engines.resources import AddedMemory
from assay.engines.runner import (
    QueryOutcome,
    close_session,
    open_session,
    query_session,
    session_notes,
    session_usage,
    summarize,
)
from assay.errors import EngineError, SetupError
from assay.experiment.corpora import PhrasedQuery, PreparedGold, workplace
from assay.redaction import make_redactor
from assay.types import Corpus, Hit, Ranking, Resources, Status

#: Times are kept to the microsecond, so that what is computed from memory and from disk is the same.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """What an engine has."""

    query: float  # seconds
    index: float  # seconds
    give_up: int = 0  # time-outs in a row after which it is not asked any more; 0: never
    stderr: int = 8_000  # characters of the end of what it said that are kept: a traceback with its message


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, for whoever shows it."""

    engine: str
    gold: str
    done: int
    total: int
    step: Literal["corpus", "index", "search", "trouble", "cells"]
    trouble: str = ""  # of an engine that is asked no more, in a line


Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class EngineOutcome:
    """All that one engine answered, took and said on one gold set."""

    rankings: tuple[Ranking, ...]
    index_seconds: float | None  # None: it did not open
    resources: Resources = field(default_factory=Resources)
    version: str = ""
    stderr: str = ""
    notes: tuple[str, ...] = ()
    parallel: int = 1


def run_interleaved(
    engines: Mapping[str, FullEngine],
    place: PreparedGold,
    k: int,
    limits: EngineLimits,
    tell: Tell,
    *,
    shelf: SharedCache | None = None,
) -> dict[str, EngineOutcome]:
    """Open every engine, ask them in turns, close them; the order rotates, so that nobody always follows the same.

    With a shelf, engines share what they can; nothing of what they take is measured then.
    """
    with ExitStack() as stack:
        order = _Order(place, k, limits, tell, shelf)
        desks = [stack.enter_context(_desk(name, engine, order)) for name, engine in engines.items()]
        taking_turns = [desk for desk in desks if desk.parallel == 1]
        for number, question in enumerate(place.questions):
            first = number % len(taking_turns) if taking_turns else 0
            for desk in (*taking_turns[first:], *taking_turns[:first]):
                desk.ask(question)
        for desk in desks:
            if desk.parallel > 1:
                desk.ask_side_by_side(place.questions)
        return {desk.name: desk.leave() for desk in desks}


@dataclass(frozen=True, slots=True)
class _Order:
    """What every engine on one gold set is told."""

    place: PreparedGold
    k: int
    limits: EngineLimits
    tell: Tell
    shelf: SharedCache | None = None


@contextmanager
def _desk(name: str, engine: FullEngine, order: _Order) -> Iterator[_EngineSlot]:
    place = order.place
    order.tell(Progress(name, place.gold.name, 0, len(place.questions), "index"))
    shares = order.shelf is not None and sharing_engine(engine) is not None
    with nullcontext(place.corpus) if shares else workplace(engine, place.corpus) as corpus:
        desk = _EngineSlot(name, engine, corpus, order)
        try:
            desk.open()
            yield desk
        finally:
            desk.close()


class _EngineSlot:
    """One engine on one gold set."""

    def __init__(self, name: str, engine: FullEngine, corpus: Corpus, order: _Order) -> None:
        self.name = name
        self.engine = engine
        self.parallel = engine.parallel if isinstance(engine, TimedEngine) else 1  # the others have one thread
        self._place = order.place
        self._corpus = corpus
        self._k = order.k
        self._limits = order.limits
        self._tell = order.tell
        self._shelf = order.shelf
        self._redactor = make_redactor(engine.secrets)
        self._session: Session | None = None
        self._problem = ""
        self._last_words = ""  # of an engine that did not open
        self._seconds: float | None = None
        self._memory = AddedMemory()
        self._left: int | None = None
        self._timeouts = 0
        self._rankings: dict[int, Ranking] = {}
        self._notes: list[str] = []

    def open(self) -> None:
        measured = self.engine.private and self._shelf is None
        before = directory_size(self._corpus.root) if measured else 0
        try:
            with self._watching():
                opened = open_session(self.engine, self._corpus, self._limits.index, cache=self._shelf)
        except (EngineError, SetupError) as error:
            self._problem = self._clean(summarize(error)).removeprefix("cannot be opened: ")
            self._last_words = error.stderr if isinstance(error, EngineError) else ""
            self._notes.append(f"could not be opened on {self._place.gold.name}: {self._problem}")
            self._tell_trouble(self._notes[-1])
            return
        self._session = opened.session
        self._seconds = round(opened.seconds, _DIGITS)
        if measured:
            self._left = max(0, directory_size(self._corpus.root) - before)

    def ask(self, question: PhrasedQuery) -> None:
        self._keep(question, self._put(question))

    def ask_side_by_side(self, questions: Sequence[PhrasedQuery]) -> None:
        with ThreadPoolExecutor(self.parallel, thread_name_prefix="assay-asking") as pool:
            for question, answer in zip(questions, pool.map(self._put, questions), strict=True):
                self._keep(question, answer)

    def leave(self) -> EngineOutcome:
        usage = SessionUsage() if self._session is None else session_usage(self._session)
        self.close()
        rankings = tuple(self._rankings[number] for number in range(len(self._rankings)))
        return EngineOutcome(
            rankings,
            self._seconds,
            self._resources(usage),
            self._clean(usage.version),
            self._clean(usage.stderr or self._last_words)[-self._limits.stderr :],
            tuple(map(self._clean, self._notes)),
            self.parallel,
        )

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            trouble = close_session(session)
            self._notes += [*session_notes(session), *([trouble] if trouble else [])]

    def _put(self, question: PhrasedQuery) -> QueryOutcome:
        if self._session is None:
            return QueryOutcome(Status.ERROR, error=self._problem)
        if self._limits.give_up and self._timeouts >= self._limits.give_up:
            return QueryOutcome(Status.TIMEOUT, error=f"not asked: {self._timeouts} queries in a row ran out of time")
        with self._watching():
            asked = query_session(self._session, question.text, self._k * self.engine.oversample, self._limits.query)
        self._timeouts = self._timeouts + 1 if asked.status is Status.TIMEOUT else 0
        if self._timeouts and self._timeouts == self._limits.give_up:
            self._tell_trouble(f"is asked no more: {self._timeouts} queries in a row ran out of time")
        return asked

    def _watching(self) -> AbstractContextManager[None]:
        apart = isinstance(self.engine, TimedEngine) or self._shelf is not None
        return nullcontext() if apart else self._memory.measure()

    def _tell_trouble(self, text: str) -> None:
        done, total = len(self._rankings), len(self._place.questions)
        self._tell(Progress(self.name, self._place.gold.name, done, total, "trouble", text))

    def _keep(self, question: PhrasedQuery, answer: QueryOutcome) -> None:
        normal = self._normalizer(answer.hits, self._k, oversample=self.engine.oversample)
        shown = [Hit(self._clean_path(hit.path), hit.start, hit.end, hit.score) for hit in normal.hits]
        ours = [hit.path for hit in shown if self._place.is_ours(hit.path)]
        kept = [hit for hit in shown if hit.path not in ours]
        self._rankings[len(self._rankings)] = Ranking(
            gold=self._place.gold.name,
            query=question.query.id,
            form=question.form,
            hits=tuple(kept),
            tokens=tuple(self._place.sizes.tokens(hit) for hit in kept),
            status=answer.status,
            seconds=round(answer.seconds, _DIGITS),
            error=None if answer.error is None else self._clean(answer.error),
            notes=tuple(map(self._clean, (*answer.notes, *normal.notes, *_dropped(ours)))),
            cost=answer.cost,
        )
        if self._session is not None:  # of one that did not open there is nothing to count
            done, total = len(self._rankings), len(self._place.questions)
            self._tell(Progress(self.name, self._place.gold.name, done, total, "search"))

    @cached_property
    def _normalizer(self) -> Normalizer:
        original = self._place.corpus.root
        return Normalizer(self._corpus, lambda path: len(self._place.sizes.lines(path)), also=(original,))

    def _resources(self, usage: SessionUsage) -> Resources:
        sizes = [size for size in (self._left, usage.store_bytes) if size is not None]
        return Resources(
            None if usage.startup_seconds is None else round(usage.startup_seconds, _DIGITS),
            sum(sizes) if sizes else None,
            self._memory.peak if usage.peak_bytes is None else usage.peak_bytes,
        )

    def _clean(self, text: str) -> str:
        short = text.replace(str(self._corpus.root), "{root}") if self.engine.private else text
        return self._redactor.text(short)

    def _clean_path(self, path: str) -> str:
        return path if path in self._place.sizes else self._clean(path)


def _dropped(ours: Sequence[str]) -> list[str]:
    return [f"results that are Assay's own files were dropped, e.g. {ours[0]}"] if ours else []
