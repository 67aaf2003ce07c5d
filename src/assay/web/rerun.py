from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from assay.corpus.opening import find_local
from assay.corpus_changes import changed_since
from assay.engines import make_engine
from assay.engines.base import EngineReply, ExplainingSession, FullEngine, Session, SharedCache, sharing_engine
from assay.engines.kinds import KINDS, SettingPage
from assay.errors import ConfigError, closest_match
from assay.experiment.corpora import PreparedGold, check_corpus_here, reopen
from assay.experiment.tracing import QueryTrace, choose_explainable, rebuild_engine
from assay.report.explorer.page_data import waterfall_data
from assay.report.scored_run import level_of
from assay.scoring import parse_measure, score
from assay.scoring.match import HitMark, HitMarker, match_hits
from assay.search.config import SHIPPED
from assay.settings import apply_overrides, flatten
from assay.store.store import Store
from assay.types import EngineRun, GoldSet, Hit, Query, Ranking, Run, Status, Suite
from assay.web.run_list import LIMITS, CachedRun
from assay.web.web_server import HttpError, LruCache

_CLOSED = ("url", "token_env")  # settings that would let a page send code to another host
_CHOICES = "one of "
_Hits = tuple[Hit, ...]


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
            hint = f"did you mean {near[0]}?" if near else "choose one of the settings in the panel"
            raise ConfigError(f"cannot change {name!r} here", hint=hint)
        if name.endswith("model") and value not in ("", SHIPPED, _flatten(engine.config).get(name)):
            raise ConfigError(
                f"{name} = {value!r}: a page cannot select another model",
                hint="turn the model off or use the bundled one here; set others in assay.toml",
            )
    return apply_overrides(dict(engine.config), changes)


def _flatten(config: Mapping[str, object]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in flatten(config).items()}


def _default(page: SettingPage) -> object:
    return None if page.default in (None, "none") else json.loads(page.default)


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    gold: GoldSet
    query: Query
    form: str


class RerunService:
    """Reruns of queries, one at a time, with a cache of the last used indexes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prepared: LruCache[tuple[str, str, str, int], PreparedGold] = LruCache(LIMITS.corpora)
        self._indexes: LruCache[tuple[str, ...], SharedCache] = LruCache(LIMITS.indexes, SharedCache.close)

    def run(
        self,
        opened: CachedRun,
        name: str,
        gold: GoldSet,
        text: str,
        changes: Mapping[str, object],
        known: JudgedQuery | None,
    ) -> dict[str, Any]:
        """Run a query with the settings of the run and with changed settings; `known` is the gold query, if any."""
        if not text.strip() or len(text) > LIMITS.query:
            raise HttpError(400, f"expected a query of 1 to {LIMITS.query} characters", hint="enter another query")
        engine = choose_explainable(opened.run, name)
        own, changed = rebuild_engine(engine), make_engine(_change_config(engine, changes))
        prepared, k = self._prepare(opened, gold), opened.run.k
        follow = tuple(dict.fromkeys(target.span.path for target in known.query.targets)) if known else ()
        with self._lock:
            start = time.perf_counter()
            before_session, after_session = (
                self._open(own, prepared, keep=True),
                self._open(changed, prepared, keep=False),
            )
            opening = time.perf_counter() - start
            before = _search(before_session, text, max(k, LIMITS.deep))
            start = time.perf_counter()
            after = _search(after_session, text, max(k, LIMITS.deep))
            seconds = time.perf_counter() - start
            trace = cast(ExplainingSession, after_session).explain(text, k, follow)
        hits, removed = _rows(opened, before, after, known)
        return {
            "schema": "assay/ask/2",
            "k": k,
            "hits": hits,
            "removed": removed,
            "ranked": len(after),
            "value": None if known is None else _values(opened, prepared, known, before=before, after=after),
            "trace": waterfall_data(QueryTrace(engine.name, trace)),
            "seconds": seconds,  # of the second query, without indexing
            "opening": opening,  # until both engines were open
            "notes": _notes(opened.run, engine, prepared, before, known),
        }

    def _prepare(self, opened: CachedRun, gold: GoldSet) -> PreparedGold:
        """Open the corpus of a gold set as it is now, without fetching it."""

        def prepare() -> PreparedGold:
            facts = opened.run.header.corpora.get(gold.name)
            base = Path(gold.source).parent if gold.source else None
            check_corpus_here(gold)
            find_local(gold.corpus, base=base, revision=facts.revision if facts else None)
            return reopen(gold, None)

        moment = int(time.monotonic() / LIMITS.fresh)
        return self._prepared.get((opened.found.id, opened.digest, gold.name, moment), prepare)

    def _open(self, engine: FullEngine, prepared: PreparedGold, *, keep: bool) -> Session:
        corpus, shares = prepared.corpus, sharing_engine(engine)
        if shares is None:
            return engine.open(corpus)
        key = (corpus.digest, str(corpus.root), *(step.digest for step in shares.steps()[:2]))
        index = self._indexes.get(key, lambda: SharedCache(corpus))
        with Store() as store:
            index.artifacts = store if keep else None
            try:
                return shares.open_shared(corpus, index, None)
            finally:
                index.artifacts = None


def _search(session: Session, text: str, k: int) -> _Hits:
    reply = session.search(text, k)
    return tuple(reply.hits if isinstance(reply, EngineReply) else reply)


def _rows(opened: CachedRun, before: _Hits, after: _Hits, known: JudgedQuery | None) -> tuple[list[Any], list[Any]]:
    """Return the new hits with their old ranks, and the old hits that are no longer among the first k."""
    k, level = opened.run.k, level_of(opened.plan.primary)
    marker = HitMarker(known.query, level) if known else _no_marks
    moved = match_hits(before, after, level)  # new rank -> old rank
    rows = [
        _row(hit, mark, rank, moved.get(rank))
        for rank, (hit, mark) in enumerate(zip(after, marker(after), strict=True), start=1)
    ]
    old_hits, new_ranks = before[:k], {old: new for new, old in moved.items()}
    removed = [
        _row(hit, mark, new_ranks.get(rank), rank)
        for rank, (hit, mark) in enumerate(zip(old_hits, marker(old_hits), strict=True), start=1)
        if new_ranks.get(rank, k + 1) > k
    ]
    return rows[:k], removed


def _no_marks(hits: Sequence[Hit]) -> Sequence[HitMark]:
    return [HitMark(rank) for rank in range(1, len(hits) + 1)]


def _row(hit: Hit, mark: HitMark, rank: int | None, before: int | None) -> dict[str, Any]:
    location = {"path": hit.path, "start": hit.start, "end": hit.end, "score": hit.score}
    return location | {"rank": rank, "before": before, "target": mark.target, "adversary": mark.adversary}


def _values(opened: CachedRun, prepared: PreparedGold, known: JudgedQuery, **rankings: _Hits) -> dict[str, Any] | None:
    measure = parse_measure(opened.plan.primary)
    measure = measure.of or measure
    run, gold = opened.run, known.gold.name
    engines, paths = [], set()
    for name, ranking in rankings.items():
        hits = tuple(Hit(hit.path, hit.start, hit.end, hit.score) for hit in ranking[: run.k])
        tokens = tuple(prepared.sizes.tokens(hit) for hit in hits)
        engines.append(EngineRun(name, (Ranking(gold, known.query.id, known.form, hits, tokens, Status.OK),)))
        paths |= {hit.path for hit in hits}
    query = replace(known.query, forms={known.form: known.query.forms[known.form]})
    lines = {**run.lines.get(gold, {}), **{path: prepared.sizes.lines(path) for path in paths}}
    suite = Suite((replace(known.gold, queries=(query,)),))
    single = replace(run, suite=suite, engines=tuple(engines), lines={gold: lines})
    before, after = (float(row[0][0]) for row in score(single, [measure]).values)
    if math.isnan(before) or math.isnan(after):
        return None
    return {"measure": repr(measure), "before": before, "after": after, "higher": measure.higher_is_better}


def _notes(run: Run, engine: EngineRun, prepared: PreparedGold, before: _Hits, known: JudgedQuery | None) -> list[str]:
    gold = prepared.gold.name
    if changed_since(run.header.corpora.get(gold), prepared.corpus.digest):
        return [f"The corpus of {gold} changed since the run: both rankings are on the current files."]
    if known is None:
        return []
    key = (known.gold.name, known.query.id, known.form)
    now = [(hit.path, hit.start, hit.end) for hit in before[: run.k]]
    for ranking in engine.rankings:
        if (ranking.gold, ranking.query, ranking.form) == key and ranking.status is Status.OK:
            if [(hit.path, hit.start, hit.end) for hit in ranking.hits] == now:
                return []
            return ["The ranking with the settings of the run differs from the record: Assay or a model changed."]
    return []
