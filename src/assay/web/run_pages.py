"""Routes of the run explorer: the list of runs, the page of one run, and of two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.browser.bundle import page
from assay.corpus_changes import change_sentences
from assay.errors import AssayError, NotComparableError, located_message
from assay.experiment.records.merge import comparability_of
from assay.experiment.source_texts import CorpusTexts
from assay.experiment.spec.analysis_plan import analysis_plan_of
from assay.experiment.tracing import explainable_engines
from assay.gold.access_log import log_saved_access
from assay.gold.split import SEALED, split_of
from assay.report.analysis import analyze_scored
from assay.report.comparison import require_comparable
from assay.report.explorer.html_page import TooSmallError, build_page
from assay.report.explorer.page_data import PageLimits
from assay.report.family import tested_engines
from assay.report.results_file import Results
from assay.report.rows_file import carry_over, read_rows
from assay.report.scored_run import ScoredRun, score_run
from assay.stats.records import RunNames
from assay.stats.runs import shared_sentence
from assay.types import AnalysisPlan, EngineRun, GoldSet, Query, Run
from assay.web.rerun import JudgedQuery, RerunService, changed_settings, describe_settings
from assay.web.run_list import LIMITS, CachedRun, RunList, run_entry
from assay.web.web_server import HttpError, LruCache, Response, Route, WebRequest, page_response, status_of

#: Limits of pages above the size of report.html; their source is fetched file by file.
_LARGE = PageLimits(max_bytes=100_000_000, source=False)

_Key = tuple[str, str, str]  # gold set, query, phrasing


def explorer_routes(roots: Sequence[Path], *, review: bool = False) -> tuple[Route, ...]:
    """Return the routes of the explorer for the runs in directories; `review` adds a link to the review."""
    explorer = Explorer(RunList(roots))
    data = json.dumps({"review": review}).encode("utf-8")
    return (
        Route("GET", "/", lambda _: page_response(_small_page("Runs · Assay", "runs", data))),
        Route("GET", "/run/{id}", partial(_page_or_error, explorer.run_page)),
        Route("GET", "/compare/{old}/{new}", partial(_page_or_error, explorer.pair_page)),
        Route("GET", "/api/runs", explorer.list_runs),
        Route("GET", "/api/run/{id}/source", explorer.read_source),
        Route("POST", "/api/run/{id}/ask", explorer.rerun),
    )


def _small_page(title: str, name: str, data: bytes) -> bytes:
    return page(title=title, script="runs/main.js", styles=("base.css", "runs.css"), data={name: data}, live=True)


def _page_or_error(make: Callable[[WebRequest], bytes], request: WebRequest) -> Response:
    try:
        return page_response(make(request))
    except AssayError as error:
        problem = {"message": located_message(error), "hint": error.hint}
        return page_response(_small_page("Assay", "problem", json.dumps(problem).encode("utf-8")), status_of(error))


class Explorer:
    def __init__(self, runs: RunList) -> None:
        self._runs = runs
        self._reruns = RerunService()
        self._pages: LruCache[tuple[str, ...], bytes] = LruCache(LIMITS.pages)

    def list_runs(self, _request: WebRequest) -> dict[str, object]:
        """Return the runs, the newest first."""
        cards = [run_entry(found) for found in self._runs.scan()]
        cards.sort(key=lambda one: one["name"])
        cards.sort(key=lambda one: (one["made"], one["written"]), reverse=True)
        return {"schema": "assay/runs/2", "directories": [str(root) for root in self._runs.roots], "runs": cards}

    def run_page(self, request: WebRequest) -> bytes:
        opened = self._runs.open(request.parts["id"])
        return self._pages.get((opened.found.id, opened.digest), lambda: _run_page(opened))

    def pair_page(self, request: WebRequest) -> bytes:
        if request.parts["old"] == request.parts["new"]:
            raise HttpError(400, "cannot compare a run with itself", hint="go back and pick two runs")
        old, new = self._runs.open(request.parts["old"]), self._runs.open(request.parts["new"])
        key = (old.found.id, old.digest, new.found.id, new.digest)
        return self._pages.get(key, lambda: _pair_page(old, new))

    def read_source(self, request: WebRequest) -> dict[str, object]:
        """Return a source file with a result or target of the run, or raise HttpError."""
        opened = self._runs.open(request.parts["id"])
        gold, path = opened.gold(request.query.get("gold", "")).name, request.query.get("path", "")
        sizes = opened.run.lines.get(gold, {}).get(path)
        if sizes is None:
            raise HttpError(404, "no result or target of this run is in this file")
        if sum(sizes) > LIMITS.source:
            raise HttpError(413, "the file is too large to show", hint="open it in an editor")
        texts = CorpusTexts(opened.run)
        text = texts(gold, path)
        if text is None:
            message = " ".join(texts.notes) or "the file does not exist"
            raise HttpError(404, message, hint="restore the corpus as it was in the run")
        return {"path": path, "text": text}

    def rerun(self, request: WebRequest) -> dict[str, object]:
        opened = self._runs.open(request.parts["id"])
        known = _find_query(opened, request)
        text = known.query.forms[known.form] if known else _own_text(opened, request)
        changes = request.data.get("changes", {})
        if not isinstance(changes, dict):
            raise HttpError(400, "expected an object as 'changes'", hint="reload the page")
        return self._reruns.run(opened, request.text("engine"), opened.gold(request.text("gold")), text, changes, known)


def _find_query(opened: CachedRun, request: WebRequest) -> JudgedQuery | None:
    """Return the gold query that a request names, or None if the request names none."""
    if "query" not in request.data:
        return None
    gold, query_id, form = opened.gold(request.text("gold")), request.text("query"), request.text("form")
    for query in gold.queries:
        if query.id == query_id and form in query.forms:
            _refuse_sealed(query)
            return JudgedQuery(gold, query, form)
    raise HttpError(404, f"no query {query_id[:40]!r} ({form[:40]}) in this run", hint="reload the page")


def _own_text(opened: CachedRun, request: WebRequest) -> str:
    text, gold = request.text("text"), opened.gold(request.text("gold"))
    words = text.casefold().split()
    for query in gold.queries:
        if any(words == form.casefold().split() for form in query.forms.values()):
            _refuse_sealed(query)
    return text


def _refuse_sealed(query: Query) -> None:
    if split_of(query) == SEALED:
        hint = "try settings on queries of the dev split; `assay run` runs sealed queries and logs the access"
        raise HttpError(403, "this query is sealed and cannot be rerun with other settings", hint=hint)


def _run_page(opened: CachedRun) -> bytes:
    run = opened.run
    log_saved_access(run.suite, "serve", [engine.name for engine in run.engines])
    scored = score_run(run, opened.plan)
    results = analyze_scored(scored)
    rows = carry_over(results.rows, read_rows(opened.found.path) or (), comparability_of(run))
    live = _live_data([opened], {engine.name: (0, engine.name) for engine in run.engines})
    return _build(scored, replace(results, rows=rows), opened, live)


def _pair_page(old: CachedRun, new: CachedRun) -> bytes:
    names = RunNames(old.found.name, new.found.name)
    origins = _name_engines(old.run, new.run, names)
    run, notes = _join_runs(old.run, new.run, names, origins)
    changed = change_sentences(old.run.header.corpora, new.run.header.corpora)
    log_saved_access(run.suite, "serve", [engine.name for engine in run.engines])
    scored = score_run(run, analysis_plan_of(run))
    results = analyze_scored(scored)
    results = replace(results, warnings=(*changed, *notes, *results.warnings))
    live = _live_data([new, old], {name: (1 - side, own) for name, (side, own) in origins.items()})
    return _build(scored, results, new, {**live, "changes": changed})


def _build(scored: ScoredRun, results: Results, source: CachedRun, live: Mapping[str, Any]) -> bytes:
    try:
        return build_page(scored, results, texts=CorpusTexts(source.run), live=live).data
    except TooSmallError:
        return build_page(scored, results, texts=None, limits=_LARGE, live=live).data


def _live_data(runs: Sequence[CachedRun], engines: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    """Return the URLs that a page can request: source files of the first run, and reruns of engines.

    `engines` maps each name on the page to the index of its run and its name there.
    """
    known: list[Mapping[str, EngineRun]] = [
        {engine.name: engine for engine in explainable_engines(opened.run)} for opened in runs
    ]
    return {
        "home": "/",
        "source": f"/api/run/{runs[0].found.id}/source",
        "settings": describe_settings(),
        "engines": [
            {
                "name": name,
                "engine": own,
                "ask": f"/api/run/{quote(runs[side].found.id)}/ask",
                "values": changed_settings(known[side][own]),
            }
            for name, (side, own) in sorted(engines.items(), key=lambda item: item[1][0])
            if own in known[side]
        ],
    }


def _join_runs(
    old: Run, new: Run, names: RunNames, origins: Mapping[str, tuple[int, str]]
) -> tuple[Run, tuple[str, ...]]:
    """Join two runs on their common queries; raise NotComparableError if they are not comparable."""
    require_comparable(old, new)
    keys = {key for key, _ in _hashed_keys(old) & _hashed_keys(new)}
    golds = [_restrict(gold, keys) for gold in new.suite.golds]
    run = replace(
        new,
        suite=replace(new.suite, golds=tuple(gold for gold in golds if gold.queries)),
        engines=tuple(_rename((old, new)[side], own, name, keys) for name, (side, own) in origins.items()),
        lines={gold: {**old.lines.get(gold, {}), **lines} for gold, lines in new.lines.items()},
        header=replace(
            new.header,
            skipped={},
            timed=old.header.timed and new.header.timed,
            analysis_plan=_pair_plan(old, new, names),
        ),
    )
    notes = [shared_sentence(len({key[:2] for key in keys}), max(len(old.hashes), len(new.hashes)), names)]
    configs = {engine.name: engine.config for engine in old.engines}
    reset = [engine.name for engine in new.engines if configs.get(engine.name, engine.config) != engine.config]
    if reset:
        notes.append(f"Settings changed between the runs: {', '.join(reset)}.")
    return run, tuple(notes)


def _hashed_keys(run: Run) -> set[tuple[_Key, str]]:
    """Return the phrasings for which every engine of a run has a ranking, with the hashes of their queries."""
    by_engine = [{(one.gold, one.query, one.form) for one in engine.rankings} for engine in run.engines]
    keys = set.intersection(*by_engine) if by_engine else set()
    hashes = ((key, run.hashes.get(f"{key[0]}/{key[1]}", "")) for key in keys)
    return {(key, digest) for key, digest in hashes if digest}


def _restrict(gold: GoldSet, keys: set[_Key]) -> GoldSet:
    queries = []
    for query in gold.queries:
        forms = {form: text for form, text in query.forms.items() if (gold.name, query.id, form) in keys}
        if forms:
            queries.append(replace(query, forms=forms))
    return replace(gold, queries=tuple(queries))


def _name_engines(old: Run, new: Run, names: RunNames) -> dict[str, tuple[int, str]]:
    """Name each engine with its run; references with equal rankings are kept once, under their own name."""
    before = {engine.name: _rankings(engine) for engine in old.engines}
    same = [
        engine.name
        for engine in new.engines
        if engine.role != "candidate" and engine.name in before and _rankings(engine) == before[engine.name]
    ]
    origins = {
        f"{engine.name} @ {run_name}": (side, engine.name)
        for side, (run, run_name) in enumerate(((old, names.old), (new, names.new)))
        for engine in run.engines
        if engine.name not in same
    }
    return origins | {name: (1, name) for name in same}


def _rankings(engine: EngineRun) -> dict[_Key, object]:
    return {(one.gold, one.query, one.form): (one.hits, one.status) for one in engine.rankings}


def _rename(run: Run, own: str, name: str, keys: set[_Key]) -> EngineRun:
    engine = next(engine for engine in run.engines if engine.name == own)
    variation = engine.variation
    if variation:
        variation = replace(variation, base=variation.base + name.removeprefix(own))
    return replace(
        engine,
        name=name,
        rankings=tuple(one for one in engine.rankings if (one.gold, one.query, one.form) in keys),
        variation=variation,
        date=engine.date or run.header.date,
        assay=engine.assay or run.header.assay,
        environment=engine.environment or run.header.environment,
    )


def _pair_plan(old: Run, new: Run, names: RunNames) -> AnalysisPlan:
    before, after = tested_engines(old), tested_engines(new)
    shared = [name for name in after if name in before]
    if not before or not after:
        raise NotComparableError(
            "one of the runs has no engine under test", hint="repeat the run with an engine besides the references"
        )
    plan = analysis_plan_of(new)
    declared = [name for name in plan.family if name in shared]
    baseline = (declared or shared or [before[0]])[0]
    return replace(plan, baseline=f"{baseline} @ {names.old}", family=(), tables=())
