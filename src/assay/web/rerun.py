"""Rerun a query of a builtin engine with other settings."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from assay.corpus.opening import find_local
from assay.engines import make_engine
from assay.engines.base import EngineReply, ExplainingSession, FullEngine, Session, SharedCache, sharing_engine
from assay.engines.kinds import KINDS, SettingPage
from assay.errors import ConfigError, closest_match
from assay.experiment.corpora import PreparedGold, check_corpus_here, reopen
from assay.experiment.tracing import QueryTrace, choose_explainable, rebuild_engine
from assay.report.explorer.data import waterfall_data
from assay.report.scored_run import level_of
from assay.scoring import parse_measure, score
from assay.scoring.match import HitMark, HitMarker, match_hits
from assay.search.config import SHIPPED
from assay.settings import apply_overrides, flatten
from assay.store.store import Store
from assay.types import EngineRun, GoldSet, Hit, Query, Ranking, Run, Status, Suite, Waterfall
from assay.web.runs import CachedRun, ExploringLimits
from assay.web.server import HttpError, LruCache

_CLOSED = ("url", "token_env")  # settings that would let a page send code to another host
_CHOICES = "one of "


@cache
def _settings() -> Mapping[str, SettingPage]:
    builtin = KINDS["builtin"].describe_settings()
    return {page.name: page for page in builtin if page.name.rpartition(".")[2] not in _CLOSED}


def describe_settings() -> list[dict[str, Any]]:
    """Return the settings of the builtin engine that a page may change."""
    return [
        {
            "name": page.name,
            "type": page.type,
            "choices": page.type.removeprefix(_CHOICES).split(", ") if page.type.startswith(_CHOICES) else None,
            "default": _default(page),
            "about": page.about,
            "index": page.name.startswith("search.index."),
            "model": page.name.endswith("model"),
        }
        for page in _settings().values()
    ]


def changed_settings(engine: EngineRun) -> dict[str, object]:
    """Return the settings of an engine that are not the default."""
    given = _flatten(engine.config)
    return {name: given[name] for name, page in _settings().items() if name in given and given[name] != _default(page)}


def _change_config(engine: EngineRun, changes: Mapping[str, object]) -> dict[str, Any]:
    for name, value in changes.items():
        if name not in _settings():
            near = closest_match(name, _settings())
            hint = f"did you mean {near[0]}?" if near else "the panel lists the settings"
            raise ConfigError(f"{name!r} is no setting that can be changed here", hint=hint)
        if name.endswith("model") and value not in ("", SHIPPED, _flatten(engine.config).get(name)):
            raise ConfigError(
                f"{name} = {value!r}: a page names no new models",
                hint="here a model is turned off, or taken as it ships; set others in assay.toml",
            )
    return apply_overrides(dict(engine.config), changes)


def _flatten(config: Mapping[str, object]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in flatten(config).items()}


def _default(page: SettingPage) -> object:
    return None if page.default in (None, "none") else json.loads(page.default)


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """A query to an engine of a run, with some settings changed."""

    engine: str
    gold: str
    text: str
    changes: Mapping[str, object] = field(default_factory=dict)
    follow: tuple[str, ...] = ()  # files that are traced at any rank


@dataclass(frozen=True, slots=True)
class RerunResult:
    """The rankings with the settings of the run and with the changed ones, and the trace of the second."""

    engine: EngineRun
    place: PreparedGold
    before: tuple[Hit, ...]
    after: tuple[Hit, ...]
    trace: Waterfall
    seconds: float  # of the second query, without indexing
    opening: float  # until both engines were open


@dataclass(frozen=True, slots=True)
class _OpenIndex:
    shelf: SharedCache
    lock: threading.Lock = field(default_factory=threading.Lock)  # one query at a time


class RerunService:
    """The last used indexes; query-time settings share one."""

    def __init__(self, limits: ExploringLimits) -> None:
        self._limits = limits
        self._places: LruCache[tuple[str, str, str, int], PreparedGold] = LruCache(limits.corpora)
        self._indexes: LruCache[tuple[str, ...], _OpenIndex] = LruCache(limits.indexes, lambda one: one.shelf.close())

    def run(self, opened: CachedRun, request: RerunRequest) -> RerunResult:
        """Query the engine with the settings of the run, and with the changed ones."""
        if not request.text.strip() or len(request.text) > self._limits.query:
            raise HttpError(400, f"a query has 1 to {self._limits.query} characters", hint="write what you look for")
        engine = choose_explainable(opened.run, request.engine)
        own, changed = rebuild_engine(engine), make_engine(_change_config(engine, request.changes))
        place = self._prepare(opened, opened.gold(request.gold))
        began = time.perf_counter()
        before_session = self._open(own, place, keep=True)
        after_session = self._open(changed, place, keep=False)
        opening = time.perf_counter() - began
        k = max(opened.run.k, self._limits.deep)
        before = before_session.search(request.text, k)
        began = time.perf_counter()
        after = after_session.search(request.text, k)
        seconds = time.perf_counter() - began
        trace = after_session.explain(request.text, opened.run.k, request.follow)
        return RerunResult(engine, place, tuple(before), tuple(after), trace, seconds, opening)

    def _prepare(self, opened: CachedRun, gold: GoldSet) -> PreparedGold:
        """Open the corpus of a gold set as it is now, without fetching it."""

        def prepare() -> PreparedGold:
            facts = opened.run.header.corpora.get(gold.name)
            base = Path(gold.source).parent if gold.source else None
            check_corpus_here(gold)
            find_local(gold.corpus, base=base, revision=facts.revision if facts else None)
            return reopen(gold, None)

        moment = int(time.monotonic() / self._limits.fresh)
        return self._places.get((opened.found.id, opened.digest, gold.name, moment), prepare)

    def _open(self, engine: FullEngine, place: PreparedGold, *, keep: bool) -> _LockedSession:
        shares = sharing_engine(engine)
        steps = shares.steps()[:2] if shares else ()
        key = (place.corpus.digest, str(place.corpus.root), *(step.digest for step in steps))
        index = self._indexes.get(key, lambda: _OpenIndex(SharedCache(place.corpus)))
        with index.lock, Store() as store:
            index.shelf.artifacts = store if keep else None
            try:
                session = shares.open_shared(place.corpus, index.shelf, None) if shares else engine.open(place.corpus)
            finally:
                index.shelf.artifacts = None
        return _LockedSession(session, index.lock)


@dataclass(frozen=True, slots=True)
class _LockedSession:
    """A session that shares its index with others."""

    session: Session
    lock: threading.Lock

    def search(self, text: str, k: int) -> Sequence[Hit]:
        with self.lock:
            reply = self.session.search(text, k)
        return reply.hits if isinstance(reply, EngineReply) else reply

    def explain(self, text: str, k: int, also: Sequence[str]) -> Waterfall:
        with self.lock:
            return cast(ExplainingSession, self.session).explain(text, k, also)


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query of the run in one phrasing."""

    gold: GoldSet
    query: Query
    form: str


def rerun_payload(opened: CachedRun, result: RerunResult, known: JudgedQuery | None) -> dict[str, Any]:
    """Return the JSON of a rerun query; `known` is the gold query, if it is one."""
    k, level = opened.run.k, level_of(opened.claim.primary)
    marker = HitMarker(known.query, level) if known else _no_marks
    moved = match_hits(result.before, result.after, level)  # new rank -> old rank
    rows = [
        _row(hit, mark, rank, moved.get(rank))
        for rank, (hit, mark) in enumerate(zip(result.after, marker(result.after), strict=True), start=1)
    ]
    old_hits, new_ranks = result.before[:k], {old: new for new, old in moved.items()}
    gone = [
        _row(hit, mark, new_ranks.get(rank), rank)
        for rank, (hit, mark) in enumerate(zip(old_hits, marker(old_hits), strict=True), start=1)
        if new_ranks.get(rank, k + 1) > k
    ]
    return {
        "schema": "assay/ask/1",
        "k": k,
        "hits": rows[:k],
        "gone": gone,
        "followed": len(result.after),
        "value": None if known is None else _values(opened, result, known),
        "trace": waterfall_data(QueryTrace(result.engine.name, result.trace)),
        "seconds": result.seconds,
        "opening": result.opening,
        "notes": _notes(opened.run, result, known),
    }


def _no_marks(hits: Sequence[Hit]) -> Sequence[HitMark]:
    return [HitMark(rank) for rank in range(1, len(hits) + 1)]


def _row(hit: Hit, mark: HitMark, rank: int | None, before: int | None) -> dict[str, Any]:
    location = {"path": hit.path, "start": hit.start, "end": hit.end, "score": hit.score}
    return location | {"rank": rank, "before": before, "target": mark.target, "adversary": mark.adversary}


def _values(opened: CachedRun, result: RerunResult, known: JudgedQuery) -> dict[str, Any] | None:
    """Score both rankings of the query by the primary measure."""
    measure = parse_measure(opened.claim.primary)
    measure = measure.of or measure
    run, gold = opened.run, known.gold.name
    engines, paths = [], set()
    for name, ranking in (("before", result.before), ("after", result.after)):
        hits = tuple(Hit(hit.path, hit.start, hit.end, hit.score) for hit in ranking[: run.k])
        tokens = tuple(result.place.sizes.tokens(hit) for hit in hits)
        engines.append(EngineRun(name, (Ranking(gold, known.query.id, known.form, hits, tokens, Status.OK),)))
        paths |= {hit.path for hit in hits}
    query = replace(known.query, forms={known.form: known.query.forms[known.form]})
    lines = {**run.lines.get(gold, {}), **{path: result.place.sizes.lines(path) for path in paths}}
    suite = Suite((replace(known.gold, queries=(query,)),))
    single = replace(run, suite=suite, engines=tuple(engines), lines={gold: lines})
    before, after = (float(row[0][0]) for row in score(single, [measure]).values)
    if math.isnan(before) or math.isnan(after):
        return None
    return {"measure": repr(measure), "before": before, "after": after, "higher": measure.higher_is_better}


def _notes(run: Run, result: RerunResult, known: JudgedQuery | None) -> list[str]:
    gold = result.place.gold.name
    facts = run.header.corpora.get(gold)
    if facts is None or facts.digest != result.place.corpus.digest:
        return [f"The corpus of {gold} changed since the run: both answers are of today's files."]
    if known is None:
        return []
    key = (known.gold.name, known.query.id, known.form)
    now = [(hit.path, hit.start, hit.end) for hit in result.before[: run.k]]
    for ranking in result.engine.rankings:
        if (ranking.gold, ranking.query, ranking.form) == key and ranking.status is Status.OK:
            if [(hit.path, hit.start, hit.end) for hit in ranking.hits] == now:
                return []
            return ["With the run's own settings the engine answers otherwise today: Assay or a model changed since."]
    return []
