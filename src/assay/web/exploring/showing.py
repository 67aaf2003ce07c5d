"""The pages of the explorer: the list, a run, two runs, and why there is no page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from assay.browser.shell import page
from assay.errors import AssayError
from assay.experiment.places.texts import corpus_texts
from assay.experiment.records.merging import footing_of
from assay.experiment.running.tracing import explainable
from assay.gold.loading import log_looks_again
from assay.report.analysis import analyse_case
from assay.report.case import Case, open_case
from assay.report.explorer import PageLimits, build_page
from assay.report.explorer.building import TooSmallError
from assay.report.results import Results
from assay.report.rows import carry, read_rows
from assay.stats.records import Names
from assay.types import EngineRun
from assay.web.exploring.opening import Opened
from assay.web.exploring.pairing import CorpusChangedError, pair_runs
from assay.web.exploring.settings import described, values_of
from assay.web.messages import sentence_of

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
    return page(title="Assay", script="runs/problem.js", styles=_STYLES, data={"problem": said}, live=True)


def run_page(opened: Opened) -> bytes:
    """Make the page of one run, under the claim that it was made for."""
    run = opened.run
    log_looks_again(run.suite, "serve", [engine.name for engine in run.engines])
    case = open_case(run, opened.claim)
    results = analyse_case(case)
    rows = carry(results.rows, read_rows(opened.found.path) or (), footing_of(run))
    live = _live([opened], {engine.name: (0, engine.name) for engine in run.engines})
    return _made(case, replace(results, rows=rows), opened, live)


def pair_page(old: Opened, new: Opened, *, moved: bool = False) -> bytes:
    """Make the page of two runs side by side, the first the baseline; `moved` allows a corpus that changed."""
    pair = pair_runs(old.run, new.run, Names(old.found.name, new.found.name), moved=moved)
    log_looks_again(pair.run.suite, "serve", [engine.name for engine in pair.run.engines])
    case = open_case(pair.run, pair.claim)
    results = analyse_case(case)
    results = replace(results, warnings=(*pair.notes, *results.warnings))
    live = _live([new, old], {name: (1 - side, own) for name, (side, own) in pair.origins.items()})
    return _made(case, results, new, live)


def _made(case: Case, results: Results, source: Opened, live: Mapping[str, Any]) -> bytes:
    """Make the page, with the source of a run as far as a page holds it."""
    try:
        return build_page(case, results, texts=corpus_texts(source.run), live=live).data
    except TooSmallError:
        return build_page(case, results, texts=None, limits=_LARGE, live=live).data


def _live(runs: Sequence[Opened], engines: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
    """Say what a page may ask of its server: files of the first run, and the engines that can be asked again.

    `engines` maps each name of the page to the run it is of and its name there.
    """
    known: list[Mapping[str, EngineRun]] = [{one.name: one for one in explainable(opened.run)} for opened in runs]
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
