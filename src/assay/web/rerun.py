"""A query asked again: the builtin engine of a run with other settings, over the corpus as it is now."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from assay.corpus.opening import find_kept
from assay.engines import make_engine
from assay.engines.base import ExplainingSession, FullEngine, Reply, Session
from assay.engines.sharing import Shelf, on_shelf, sharing
from assay.experiment.corpora import Place, check_home, reopen
from assay.experiment.tracing import choose_explainable, engine_again
from assay.store import Artefacts
from assay.types import EngineRun, Gold, Hit, Waterfall
from assay.web.runs import ExploringLimits, Opened, changed_config
from assay.web.server import Kept, Refused


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be asked: of which engine and gold set, in which words, with which settings changed."""

    engine: str
    gold: str
    text: str
    changes: Mapping[str, object] = field(default_factory=dict)
    follow: tuple[str, ...] = ()  # files whose way is shown wherever they end


@dataclass(frozen=True, slots=True)
class Answered:
    """Both rankings, with the run's settings and with those of the order, and why the second is as it is."""

    engine: EngineRun
    place: Place
    before: tuple[Hit, ...]
    after: tuple[Hit, ...]
    trace: Waterfall
    seconds: float  # of the second answer, its index made before
    opening: float  # until both could be asked


@dataclass(frozen=True, slots=True)
class _Desk:
    """An index, and who may ask it: one at a time."""

    shelf: Shelf
    lock: threading.Lock = field(default_factory=threading.Lock)


class Asker:
    """The indexes that were used last; settings of the query time share one."""

    def __init__(self, limits: ExploringLimits) -> None:
        self._limits = limits
        self._places: Kept[tuple[str, str, str, int], Place] = Kept(limits.corpora)
        self._desks: Kept[tuple[str, ...], _Desk] = Kept(limits.indexes, lambda desk: desk.shelf.close())

    def ask(self, opened: Opened, order: Order) -> Answered:
        """Ask with the settings that the run had, and with those that are wanted."""
        if not order.text.strip() or len(order.text) > self._limits.query:
            raise Refused(400, f"a query has 1 to {self._limits.query} characters", hint="write what you look for")
        subject = choose_explainable(opened.run, order.engine)
        again, wanted = engine_again(subject), make_engine(changed_config(subject, order.changes))
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
        return Answered(subject, place, tuple(before), tuple(after), trace, seconds, opening)

    def place(self, opened: Opened, gold: Gold) -> Place:
        """Open the corpus of a gold set as it is now; one that is not on this machine is not fetched."""
        moment = int(time.monotonic() / self._limits.fresh)
        return self._places.get((opened.found.id, opened.digest, gold.name, moment), lambda: _reopened(opened, gold))

    def _session(self, engine: FullEngine, place: Place, *, keep: bool) -> _Locked:
        """Open an engine on the index that its settings need; only that of a run's own settings is kept for good."""
        shares = sharing(engine)
        steps = shares.steps()[:2] if shares else ()
        key = (place.corpus.digest, str(place.corpus.root), *(step.digest for step in steps))
        desk = self._desks.get(key, lambda: _Desk(Shelf(place.corpus)))
        with desk.lock, Artefacts() as artefacts:
            desk.shelf.artefacts = artefacts if keep else None
            try:
                session = on_shelf(engine, desk.shelf).open(place.corpus)
            finally:
                desk.shelf.artefacts = None
        return _Locked(session, desk.lock)


@dataclass(frozen=True, slots=True)
class _Locked:
    """A session that shares its index with others."""

    session: Session
    lock: threading.Lock

    def search(self, text: str, k: int) -> Sequence[Hit]:
        """Ask it."""
        with self.lock:
            answer = self.session.search(text, k)
        return answer.hits if isinstance(answer, Reply) else answer

    def explain(self, text: str, k: int, also: Sequence[str]) -> Waterfall:
        """Ask it why."""
        with self.lock:
            return cast(ExplainingSession, self.session).explain(text, k, also)


def _reopened(opened: Opened, gold: Gold) -> Place:
    """Open a corpus that lies on this machine."""
    facts = opened.run.header.corpora.get(gold.name)
    base = Path(gold.source).parent if gold.source else None
    check_home(gold)
    find_kept(gold.corpus, base=base, revision=facts.revision if facts else None)
    return reopen(gold, None)
