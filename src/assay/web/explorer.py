"""Routes of the run explorer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.browser.bundle import page
from assay.errors import AssayError
from assay.experiment.corpora import CorpusTexts
from assay.experiment.records.merge import comparability_of
from assay.experiment.tracing import explainable_engines
from assay.gold.load import log_reaccess
from assay.gold.split import SEALED, split_of
from assay.report.analysis import analyse_case
from assay.report.explorer.excerpts import PageLimits
from assay.report.explorer.page import TooSmallError, build_page
from assay.report.results import Results
from assay.report.rows import carry_over, read_rows
from assay.report.scored_run import ScoredRun, open_case
from assay.stats.records import RunNames
from assay.types import EngineRun, Query
from assay.web.pairs import CorpusChangedError, JudgedQuery, pair_runs, rerun_payload
from assay.web.rerun import RerunRequest, RerunService
from assay.web.runs import LIMITS, CachedRun, ExploringLimits, RunCache, RunList, card, described, values_of
from assay.web.server import (
    HttpError,
    LruCache,
    Response,
    Route,
    WebRequest,
    json_response,
    page_response,
    sentence_of,
    status_of,
)

_STYLES = ("base.css", "runs.css")
#: The address of a comparison, from itself, for who wants it although the corpus changed.
CHANGED = "?changed=1"
#: A run whose page is larger than one that is mailed is shown all the same; its source is asked for file by file.
_LARGE = PageLimits(max_bytes=100_000_000, source=False)


def list_page(*, review: bool) -> bytes:
    """Make the page that lists the runs; it asks the server for them."""
    data = {"runs": json.dumps({"review": review}).encode("utf-8")}
    return page(title="Runs · Assay", script="runs/main.js", styles=_STYLES, data=data, live=True)


def problem_page(error: AssayError) -> bytes:
    """Make the page that says why there is no other, and offers what can be had all the same."""
    offer = {"href": CHANGED, "text": "Compare all the same"} if isinstance(error, CorpusChangedError) else None
    said = json.dumps({"message": sentence_of(error), "hint": error.hint, "offer": offer}).encode("utf-8")
    return page(title="Assay", script="runs/main.js", styles=_STYLES, data={"problem": said}, live=True)


def run_page(opened: CachedRun) -> bytes:
    """Make the page of one run, under the claim that it was made for."""
    run = opened.run
    log_reaccess(run.suite, "serve", [engine.name for engine in run.engines])
    case = open_case(run, opened.claim)
    results = analyse_case(case)
    rows = carry_over(results.rows, read_rows(opened.found.path) or (), comparability_of(run))
    live = _live([opened], {engine.name: (0, engine.name) for engine in run.engines})
    return _made(case, replace(results, rows=rows), opened, live)


def pair_page(old: CachedRun, new: CachedRun, *, moved: bool = False) -> bytes:
    """Make the page of two runs side by side, the first the baseline; `moved` allows a corpus that changed."""
    pair = pair_runs(old.run, new.run, RunNames(old.found.name, new.found.name), moved=moved)
    log_reaccess(pair.run.suite, "serve", [engine.name for engine in pair.run.engines])
    case = open_case(pair.run, pair.claim)
    results = analyse_case(case)
    results = replace(results, warnings=(*pair.notes, *results.warnings))
    live = _live([new, old], {name: (1 - side, own) for name, (side, own) in pair.origins.items()})
    return _made(case, results, new, live)


def _made(case: ScoredRun, results: Results, source: CachedRun, live: Mapping[str, Any]) -> bytes:
    try:
        return build_page(case, results, texts=CorpusTexts(source.run), live=live).data
    except TooSmallError:
        return build_page(case, results, texts=None, limits=_LARGE, live=live).data


def _live(runs: Sequence[CachedRun], engines: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    """Say what a page may ask of its server: files of the first run, and the engines that can be asked again.

    `engines` maps each name of the page to the run it is of and its name there.
    """
    known: list[Mapping[str, EngineRun]] = [
        {one.name: one for one in explainable_engines(opened.run)} for opened in runs
    ]
    return {
        "home": "/",
        "source": f"/api/run/{runs[0].found.id}/source",
        "settings": described(),
        "engines": [
            {
                "name": called,
                "engine": own,
                "ask": f"/api/run/{quote(runs[side].found.id)}/ask",
                "values": values_of(known[side][own]),
            }
            for called, (side, own) in sorted(engines.items(), key=lambda item: item[1][0])
            if own in known[side]
        ],
    }


def explorer_routes(
    roots: Sequence[Path], *, review: bool = False, limits: ExploringLimits = LIMITS
) -> tuple[Route, ...]:
    """Serve the runs below some folders; `review` has the list link to the review of a gold set."""
    explorer = Explorer(RunList(roots, limits), review=review)
    return (
        Route("GET", "/", explorer.show_list),
        Route("GET", "/run/{id}", explorer.show_run),
        Route("GET", "/compare/{old}/{new}", explorer.show_pair),
        Route("GET", "/api/runs", explorer.list_runs),
        Route("GET", "/api/run/{id}/source", explorer.read_source),
        Route("POST", "/api/run/{id}/ask", explorer.ask),
    )


class Explorer:
    """What the addresses of the explorer answer."""

    def __init__(self, library: RunList, *, review: bool) -> None:
        self._library = library
        self._runs = RunCache(library)
        self._asker = RerunService(library.limits)
        self._pages: LruCache[tuple[str, ...], bytes] = LruCache(library.limits.pages)
        self._review = review

    def show_list(self, _request: WebRequest) -> Response:
        """Show the page that lists the runs."""
        return page_response(list_page(review=self._review))

    def list_runs(self, _request: WebRequest) -> Response:
        """List the runs, the newest first."""
        cards = [card(found) for found in self._library.scan()]
        cards.sort(key=lambda one: one["name"])
        cards.sort(key=lambda one: (one["made"], one["written"]), reverse=True)
        return json_response(
            {"schema": "assay/runs/1", "folders": [str(root) for root in self._library.roots], "runs": cards}
        )

    def show_run(self, request: WebRequest) -> Response:
        """Show one run."""
        return _shown(lambda: self._run_page(request.parts["id"]))

    def show_pair(self, request: WebRequest) -> Response:
        """Show two runs side by side."""
        moved = request.query.get("changed") == "1"
        return _shown(lambda: self._pair_page(request.parts["old"], request.parts["new"], moved=moved))

    def _run_page(self, run_id: str) -> bytes:
        opened = self._runs.open(run_id)
        return self._pages.get((opened.found.id, opened.digest), lambda: run_page(opened))

    def _pair_page(self, first: str, second: str, *, moved: bool) -> bytes:
        if first == second:
            raise HttpError(400, "a run is not compared with itself", hint="go back and pick two")
        old, new = self._runs.open(first), self._runs.open(second)
        key = (old.found.id, old.digest, new.found.id, new.digest, str(moved))
        return self._pages.get(key, lambda: pair_page(old, new, moved=moved))

    def read_source(self, request: WebRequest) -> Response:
        """Give a whole file of a corpus, as the run saw it; only files that the records name."""
        opened = self._runs.open(request.parts["id"])
        gold, path = opened.gold(request.query.get("gold", "")).name, request.query.get("path", "")
        sizes = opened.run.lines.get(gold, {}).get(path)
        if sizes is None:
            raise HttpError(404, "no result and no answer of this run is in such a file")
        if sum(sizes) > self._library.limits.source:
            raise HttpError(413, "the file is too large to be shown", hint="look at it in an editor")
        texts = CorpusTexts(opened.run)
        text = texts(gold, path)
        if text is None:
            raise HttpError(
                404, " ".join(texts.notes) or "the file is not here", hint="bring the corpus back as it was"
            )
        return json_response({"path": path, "text": text})

    def ask(self, request: WebRequest) -> Response:
        """Ask the builtin engine of a run once more."""
        opened = self._runs.open(request.parts["id"])
        known = _known(opened, request)
        text = known.query.forms[known.form] if known else _own_words(opened, request)
        follow = tuple(dict.fromkeys(target.span.path for target in known.query.targets)) if known else ()
        order = RerunRequest(request.text("engine"), request.text("gold"), text, _changes(request), follow)
        return json_response(rerun_payload(opened, self._asker.ask(opened, order), known))


def _shown(make: Callable[[], bytes]) -> Response:
    try:
        return page_response(make())
    except AssayError as error:
        return page_response(problem_page(error), status_of(error))


def _known(opened: CachedRun, request: WebRequest) -> JudgedQuery | None:
    """Find the query that a request names; None where it brings words of its own."""
    if "query" not in request.data:
        return None
    gold, query_id, form = opened.gold(request.text("gold")), request.text("query"), request.text("form")
    for query in gold.queries:
        if query.id == query_id and form in query.forms:
            _refuse_sealed(query)
            return JudgedQuery(gold, query, form)
    raise HttpError(404, "this run has no such query", hint="reload the page")


def _own_words(opened: CachedRun, request: WebRequest) -> str:
    text, gold = request.text("text"), opened.gold(request.text("gold"))
    for query in gold.queries:
        if _folded(text) in map(_folded, query.forms.values()):
            _refuse_sealed(query)
    return text


def _folded(text: str) -> str:
    """Write words so that only other words differ: blanks and capitals are nothing."""
    return " ".join(text.split()).casefold()


def _refuse_sealed(query: Query) -> None:
    if split_of(query) == SEALED:
        hint = "try settings on the dev part; `assay run` asks the sealed one, and logs that"
        raise HttpError(403, "this query is sealed: nothing is tuned on it", hint=hint)


def _changes(request: WebRequest) -> Mapping[str, object]:
    changes = request.data.get("changes", {})
    if not isinstance(changes, dict):
        raise HttpError(400, "'changes' must be a table of settings", hint="reload the page")
    return changes
