"""Two runs side by side, on their common queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.errors import NotComparableError
from assay.experiment.spec.model import analysis_plan_of
from assay.experiment.tracing import QueryTrace
from assay.report.comparison import changed_corpora, require_comparable
from assay.report.explorer.data import waterfall_data
from assay.report.scored_run import engines_under_test, level_of
from assay.scoring import parse_measure, score
from assay.scoring.match import HitMark, HitMarker, Level, match_hits
from assay.stats.records import RunNames
from assay.stats.runs import shared_sentence
from assay.types import AnalysisPlan, EngineRun, GoldSet, Hit, Query, Ranking, Run, Status, Suite
from assay.web.rerun import RerunResult
from assay.web.runs import CachedRun

#: One form of one query: gold set, query, form.
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RunPair:
    """Both runs in one, what is claimed of it, and what must be known about it."""

    run: Run
    claim: AnalysisPlan
    notes: tuple[str, ...]
    origins: Mapping[str, tuple[int, str]]  # engine -> which of the two runs it is of, and its name there


class CorpusChangedError(NotComparableError):
    """Two runs on a corpus that changed between them: they are compared only where somebody wants it all the same."""


def pair_runs(old: Run, new: Run, names: RunNames, *, moved: bool = False) -> RunPair:
    """Put two runs side by side; those that must not be compared are refused, as `assay compare` does.

    `moved` allows a corpus that changed, and says so.
    """
    require_comparable(old, new, moved=True)
    changed = changed_corpora(old, new)
    if changed and not moved:
        hint = "a difference between the runs may come from the code that was searched, not from the engines"
        raise CorpusChangedError(" ".join(changed), hint=hint)
    shared = _asked(old) & _asked(new)
    sentence = _sentence(old, new, shared, names)
    taken = _taken(old, new, names)
    run = replace(
        new,
        suite=replace(new.suite, golds=tuple(gold for one in new.suite.golds if (gold := _only(one, shared)).queries)),
        engines=tuple(_renamed((old, new)[side], name, called, shared) for called, (side, name) in taken.items()),
        lines={gold: {**old.lines.get(gold, {}), **lines} for gold, lines in new.lines.items()},
        header=replace(new.header, skipped={}, timed=old.header.timed and new.header.timed),
    )
    claim = _claim(old, new, names)
    notes = (*changed, sentence, *_set_anew(old, new))
    return RunPair(replace(run, header=replace(run.header, claim=claim)), claim, notes, taken)


def _set_anew(old: Run, new: Run) -> list[str]:
    was = {engine.name: engine.config for engine in old.engines}
    changed = [engine.name for engine in new.engines if engine.name in was and was[engine.name] != engine.config]
    return [f"Settings changed between the runs: {', '.join(changed)}."] if changed else []


def _asked(run: Run) -> set[tuple[_Key, str]]:
    of_each = [{(ranking.gold, ranking.query, ranking.form) for ranking in engine.rankings} for engine in run.engines]
    asked = set.intersection(*of_each) if of_each else set()
    known = ((key, run.hashes.get(f"{key[0]}/{key[1]}", "")) for key in asked)
    return {(key, sha) for key, sha in known if sha}


def _sentence(old: Run, new: Run, shared: set[tuple[_Key, str]], names: RunNames) -> str:
    intents = {key[:2] for key, _ in shared}
    return shared_sentence(len(intents), max(len(old.hashes), len(new.hashes)), names)


def _only(gold: GoldSet, shared: set[tuple[_Key, str]]) -> GoldSet:
    keys = {key for key, _ in shared}
    kept = (_only_forms(gold, query, keys) for query in gold.queries)
    return replace(gold, queries=tuple(query for query in kept if query.forms))


def _only_forms(gold: GoldSet, query: Query, keys: set[_Key]) -> Query:
    return replace(
        query, forms={form: text for form, text in query.forms.items() if (gold.name, query.id, form) in keys}
    )


def _taken(old: Run, new: Run, names: RunNames) -> dict[str, tuple[int, str]]:
    same = {
        engine.name
        for engine in new.engines
        if engine.role != "contestant"
        and _answers(engine) in [_answers(one) for one in old.engines if one.name == engine.name]
    }
    taken: dict[str, tuple[int, str]] = {}
    for side, (run, called) in enumerate(((old, names.old), (new, names.new))):
        for engine in run.engines:
            if engine.name not in same:
                taken[f"{engine.name} @ {called}"] = (side, engine.name)
    return taken | {name: (1, name) for name in (engine.name for engine in new.engines) if name in same}


def _answers(engine: EngineRun) -> dict[_Key, object]:
    return {(one.gold, one.query, one.form): (one.hits, one.status) for one in engine.rankings}


def _renamed(run: Run, name: str, called: str, shared: set[tuple[_Key, str]]) -> EngineRun:
    engine = next(one for one in run.engines if one.name == name)
    keys = {key for key, _ in shared}
    kept: list[Ranking] = [one for one in engine.rankings if (one.gold, one.query, one.form) in keys]
    tail = called.removeprefix(name)
    return replace(
        engine,
        name=called,
        rankings=tuple(kept),
        variation=engine.variation and replace(engine.variation, base=engine.variation.base + tail),
        date=engine.date or run.header.date,
        assay=engine.assay or run.header.assay,
        environment=engine.environment or run.header.environment,
    )


def _claim(old: Run, new: Run, names: RunNames) -> AnalysisPlan:
    before, after = engines_under_test(old), engines_under_test(new)
    shared = [name for name in after if name in before]
    if not before or not after:
        raise NotComparableError("one of the runs has no engine under test", hint="run one more engine")
    declared = [name for name in analysis_plan_of(new).family if name in shared]
    baseline = (declared or shared or [before[0]])[0]
    return replace(analysis_plan_of(new), baseline=f"{baseline} @ {names.old}", family=(), tables=())


SCHEMA = "assay/ask/1"


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query of the run in one of its forms, of which is known what is right."""

    gold: GoldSet
    query: Query
    form: str


def rerun_payload(opened: CachedRun, answered: RerunResult, known: JudgedQuery | None) -> dict[str, Any]:
    """Say all that the page shows of a query that was asked again."""
    run, k = opened.run, opened.run.k
    marks = _marks(opened, answered.after, known)
    moved = match_hits(answered.before, answered.after, _level(opened))
    rows = [
        _row(hit, mark, rank, moved.get(rank))
        for rank, (hit, mark) in enumerate(zip(answered.after, marks, strict=True), start=1)
    ]
    old_marks = _marks(opened, answered.before[:k], known)
    came_to = {old: new for new, old in moved.items()}
    gone = [
        _row(hit, mark, came_to.get(rank), rank)
        for rank, (hit, mark) in enumerate(zip(answered.before[:k], old_marks, strict=True), start=1)
        if came_to.get(rank, k + 1) > k
    ]
    return {
        "schema": SCHEMA,
        "k": k,
        "hits": rows[:k],
        "gone": gone,
        "followed": len(answered.after),
        "value": None if known is None else _values(opened, answered, known),
        "trace": waterfall_data(QueryTrace(answered.engine.name, answered.trace)),
        "seconds": answered.seconds,
        "opening": answered.opening,
        "notes": _notes(run, answered, known),
    }


def _row(hit: Hit, mark: HitMark, rank: int | None, before: int | None) -> dict[str, Any]:
    place = {"path": hit.path, "start": hit.start, "end": hit.end, "score": hit.score}
    return place | {"rank": rank, "before": before, "target": mark.target, "adversary": mark.adversary}


def _marks(opened: CachedRun, hits: Sequence[Hit], known: JudgedQuery | None) -> Sequence[HitMark]:
    if known is None:
        return [HitMark(rank) for rank in range(1, len(hits) + 1)]
    return HitMarker(known.query, _level(opened))(hits)


def _level(opened: CachedRun) -> Level:
    return level_of(opened.claim.primary)


def _values(opened: CachedRun, answered: RerunResult, known: JudgedQuery) -> dict[str, Any] | None:
    measure = parse_measure(opened.claim.primary)
    measure = measure.of or measure
    run = _run_of_one(opened.run, answered, known)
    values = [float(row[0][0]) for row in score(run, [measure]).values]
    if any(map(math.isnan, values)):
        return None
    return {"measure": repr(measure), "before": values[0], "after": values[1], "higher": measure.higher_is_better}


def _run_of_one(run: Run, answered: RerunResult, known: JudgedQuery) -> Run:
    query = replace(known.query, forms={known.form: known.query.forms[known.form]})
    sizes = answered.place.sizes
    sides = {"before": answered.before[: run.k], "after": answered.after[: run.k]}
    paths = {hit.path for hits in sides.values() for hit in hits}
    return replace(
        run,
        suite=Suite((replace(known.gold, queries=(query,)),)),
        engines=tuple(_engine_of_one(name, hits, answered, known) for name, hits in sides.items()),
        lines={known.gold.name: {**run.lines.get(known.gold.name, {}), **{path: sizes.lines(path) for path in paths}}},
    )


def _engine_of_one(name: str, hits: Sequence[Hit], answered: RerunResult, known: JudgedQuery) -> EngineRun:
    shown = tuple(Hit(hit.path, hit.start, hit.end, hit.score) for hit in hits)
    tokens = tuple(answered.place.sizes.tokens(hit) for hit in shown)
    return EngineRun(name, (Ranking(known.gold.name, known.query.id, known.form, shown, tokens, Status.OK),))


def _notes(run: Run, answered: RerunResult, known: JudgedQuery | None) -> list[str]:
    gold = answered.place.gold.name
    facts = run.header.corpora.get(gold)
    notes = []
    if facts is None or facts.digest != answered.place.corpus.digest:
        notes.append(f"The corpus of {gold} changed since the run: both answers are of today's files.")
    recorded = None if known is None else _recorded(answered.engine, known)
    now = [(hit.path, hit.start, hit.end) for hit in answered.before[: run.k]]
    if recorded is not None and recorded != now and not notes:
        notes.append("With the run's own settings the engine answers otherwise today: Assay or a model changed since.")
    return notes


def _recorded(engine: EngineRun, known: JudgedQuery) -> list[tuple[str, int | None, int | None]] | None:
    key = (known.gold.name, known.query.id, known.form)
    for one in engine.rankings:
        if (one.gold, one.query, one.form) == key and one.status is Status.OK:
            return [(hit.path, hit.start, hit.end) for hit in one.hits]
    return None
