"""Rerun a query of a built-in engine with other settings."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from assay.corpus.opening import find_local
from assay.engines import make_engine
from assay.engines.base import (
    EngineReply,
    ExplainingSession,
    FullEngine,
    Session,
    SharedCache,
    sharing_engine,
)
from assay.experiment.corpora import PreparedGold, check_corpus_here, reopen
from assay.experiment.tracing import choose_explainable, rebuild_engine
from assay.store import Store
from assay.types import EngineRun, GoldSet, Hit, Waterfall
from assay.web.runs import CachedRun, ExploringLimits, changed_config
from assay.web.server import HttpError, LruCache


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """What is to be asked: of which engine and gold set, in which words, with which settings changed."""

    engine: str
    gold: str
    text: str
    changes: Mapping[str, object] = field(default_factory=dict)
    follow: tuple[str, ...] = ()  # files whose way is shown wherever they end


@dataclass(frozen=True, slots=True)
class RerunResult:
    """Both rankings, with the run's settings and with those of the order, and why the second is as it is."""

    engine: EngineRun
    place: PreparedGold
    before: tuple[Hit, ...]
    after: tuple[Hit, ...]
    trace: Waterfall
    seconds: float  # of the second answer, its index made before
    opening: float  # until both could be asked


@dataclass(frozen=True, slots=True)
class _OpenIndex:
    """An index, and who may ask it: one at a time."""

    shelf: SharedCache
    lock: threading.Lock = field(default_factory=threading.Lock)


class RerunService:
    """The indexes that were used last; settings of the query time share one."""

    def __init__(self, limits: ExploringLimits) -> None:
        self._limits = limits
        self._places: LruCache[tuple[str, str, str, int], PreparedGold] = LruCache(limits.corpora)
        self._desks: LruCache[tuple[str, ...], _OpenIndex] = LruCache(limits.indexes, lambda desk: desk.shelf.close())

    def ask(self, opened: CachedRun, order: RerunRequest) -> RerunResult:
        """Ask with the settings that the run had, and with those that are wanted."""
        if not order.text.strip() or len(order.text) > self._limits.query:
            raise HttpError(400, f"a query has 1 to {self._limits.query} characters", hint="write what you look for")
        subject = choose_explainable(opened.run, order.engine)
        again, wanted = rebuild_engine(subject), make_engine(changed_config(subject, order.changes))
        place = self.place(opened, opened.gold(order.gold))
        began = time.perf_counter()
        own, other = self._session(again, place, keep=True), self._session(wanted, place, keep=False)
        opening = time.perf_counter() - began
        k = max(opened.run.k, self._limits.deep)
        before = own.search(order.text, k)
        began = time.perf_counter()
        after = other.search(order.text, k)
        seconds = time.perf_counter() - began
        trace = other.explain(order.text, opened.run.k, order.follow)
        return RerunResult(subject, place, tuple(before), tuple(after), trace, seconds, opening)

    def place(self, opened: CachedRun, gold: GoldSet) -> PreparedGold:
        """Open the corpus of a gold set as it is now; one that is not on this machine is not fetched."""
        moment = int(time.monotonic() / self._limits.fresh)
        return self._places.get((opened.found.id, opened.digest, gold.name, moment), lambda: _reopened(opened, gold))

    def _session(self, engine: FullEngine, place: PreparedGold, *, keep: bool) -> _Locked:
        shares = sharing_engine(engine)
        steps = shares.steps()[:2] if shares else ()
        key = (place.corpus.digest, str(place.corpus.root), *(step.digest for step in steps))
        desk = self._desks.get(key, lambda: _OpenIndex(SharedCache(place.corpus)))
        with desk.lock, Store() as artefacts:
            desk.shelf.artifacts = artefacts if keep else None
            try:
                session = shares.open_shared(place.corpus, desk.shelf, None) if shares else engine.open(place.corpus)
            finally:
                desk.shelf.artifacts = None
        return _Locked(session, desk.lock)


@dataclass(frozen=True, slots=True)
class _Locked:
    """A session that shares its index with others."""

    session: Session
    lock: threading.Lock

    def search(self, text: str, k: int) -> Sequence[Hit]:
        with self.lock:
            answer = self.session.search(text, k)
        return answer.hits if isinstance(answer, EngineReply) else answer

    def explain(self, text: str, k: int, also: Sequence[str]) -> Waterfall:
        with self.lock:
            return cast(ExplainingSession, self.session).explain(text, k, also)


def _reopened(opened: CachedRun, gold: GoldSet) -> PreparedGold:
    facts = opened.run.header.corpora.get(gold.name)
    base = Path(gold.source).parent if gold.source else None
    check_corpus_here(gold)
    find_local(gold.corpus, base=base, revision=facts.revision if facts else None)
    return reopen(gold, None)
