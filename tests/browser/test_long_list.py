"""A run of 20 engines × 1,250 queries: the list draws its rows as they are needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.report.publish import publish
from assay.types import AnalysisPlan, CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Run, Span, Suite, Target
from tests.browser.driving import Tab
from tests.sharing import shared_folder

ENGINES, QUERIES, GOLDS = 20, 1250, 10
STEERING = "abc\u202edef\u0007"
ROWS = ".queries-view tbody tr"


def _write_run(folder: Path, queries: int) -> None:
    """Publish a run whose engines put the answer at one of two ranks, without its big blocks."""
    golds = tuple(
        GoldSet(f"set-{g}", CorpusSpec("path", "."), tuple(_query(n) for n in range(queries) if n % GOLDS == g))
        for g in range(GOLDS)
    )
    engines = tuple(_engine(number, golds) for number in range(ENGINES))
    lines = {gold.name: {"a.py": (9, 9), "b.py": (9, 9)} for gold in golds}
    publish(Run(Suite(golds), 10, engines, lines), AnalysisPlan(("RR@10", "Hit@1"), "engine-00"), folder)
    report = folder / "report.html"
    bare = re.sub(rb'<script type="application/gzip" id="data-rankings">[^<]*</script>', b"", report.read_bytes())
    report.write_bytes(bare)


def _query(number: int) -> Query:
    return Query(f"q{number:04}", {"human": f"where is thing {number:04}? {STEERING}"}, (Target(Span("a.py", 1, 2)),))


def _engine(number: int, golds: tuple[GoldSet, ...]) -> EngineRun:
    right, wrong = Hit("a.py", 1, 2), Hit("b.py", 1, 2)
    rankings = (
        Ranking(gold.name, query.id, "human", hits, (1, 1))
        for gold in golds
        for query in gold.queries
        if (hits := (right, wrong) if int(query.id[1:]) * 7919 % 20 > number else (wrong, right))
    )
    return EngineRun(f"engine-{number:02}", tuple(rankings))


@pytest.fixture(scope="session")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_folder(tmp_path_factory, "long", lambda folder: _write_run(folder, QUERIES)) / "report.html"


@pytest.fixture(scope="session")
def short_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_folder(tmp_path_factory, "short", lambda folder: _write_run(folder, QUERIES // 10)) / "report.html"


def _open(browser: Tab, path: Path, fragment: str) -> Tab:
    """Open a deep link and wait until its view stands."""
    tab = browser.open(path.resolve().as_uri() + fragment)
    tab.wait(lambda: tab.run("return window.assayReady"), "the page was not ready")
    return tab


def _milliseconds(browser: Tab, path: Path) -> float:
    """Return how long the page takes until its list can be used, the best of three loads."""
    taken = [_open(browser, path, "#/queries").run("return window.assayReady.milliseconds") for _ in range(3)]
    return float(min(taken))


@pytest.mark.soak
def test_ten_times_as_many_queries_take_less_than_five_times_as_long(
    browser: Tab, long_page: Path, short_page: Path
) -> None:
    _milliseconds(browser, short_page)  # what the browser does once
    assert _milliseconds(browser, long_page) < 5 * _milliseconds(browser, short_page)


@pytest.mark.nightly
def test_list_draws_what_is_near_and_all_of_it_on_paper(browser: Tab, long_page: Path) -> None:
    tab = _open(browser, long_page, "#/queries")
    drawn = len(tab.all(ROWS))
    assert 100 <= drawn <= 400
    tab.run("window.scrollTo(0, document.documentElement.scrollHeight)")
    tab.wait(lambda: len(tab.all(ROWS)) > drawn, "no more rows were drawn")
    tab.run("window.dispatchEvent(new Event('beforeprint'))")  # paper has no button to press
    assert len(tab.all(ROWS)) == QUERIES
    tab.go("#/queries?sort=query")
    tab.wait(lambda: len(tab.all(ROWS)) < QUERIES)
    tab.run("document.querySelector('.table-more button').click()")
    tab.wait(lambda: len(tab.all(ROWS)) == QUERIES)
    assert tab.console_errors() == []


@pytest.mark.nightly
def test_a_search_of_a_long_list_finds_what_is_not_drawn(browser: Tab, long_page: Path) -> None:
    tab = _open(browser, long_page, "#/queries?search=q1249")
    assert tab.text(".query-id") == "set-9 / q1249"
    assert "1 of 1,250 queries" in tab.text(".sums")


@pytest.mark.nightly
def test_back_from_a_query_far_down_leads_to_its_row(browser: Tab, long_page: Path) -> None:
    tab = _open(browser, long_page, "#/query/set-8/q1108/human")
    assert tab.text(".query-nav .note") == "1,111 of 1,250"
    tab.click(".query-nav a")
    tab.find(".queries-view")
    tab.wait(lambda: "thing 1108" in tab.run("return document.activeElement.textContent"), "the row had no focus")
    box = tab.run("const b = document.activeElement.getBoundingClientRect(); return [b.top, innerHeight]")
    assert 0 < box[0] < box[1]


@pytest.mark.nightly
def test_a_page_without_rankings_says_so(browser: Tab, long_page: Path) -> None:
    tab = _open(browser, long_page, "#/query/set-0/q0000/human")
    assert "This file has no rankings: assay report DIR" in tab.text(".query-rankings")
    assert len(tab.all(".query-scores tbody tr")) == ENGINES
    assert tab.console_errors() == []


@pytest.mark.nightly
def test_letters_that_steer_a_screen_have_a_shape(browser: Tab, long_page: Path) -> None:
    tab = _open(browser, long_page, "#/query/set-0/q0000/human")
    assert tab.text("h1") == "where is thing 0000? abc\ufffddef\ufffd"
