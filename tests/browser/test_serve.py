"""`assay serve` in a real browser: the list, a run, two of them, a query asked again, whole files, and no harm done."""

import shutil

import pytest

from tests.browser.sample import HOSTILE_PATH, NEWEST, SHOWN_ENGINE
from tests.browser.serving import serving_runs

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def folder(runs, tmp_path_factory):
    """Four runs, one of them broken, under names that attack the page; a test adds a fifth."""
    return shutil.copytree(runs, tmp_path_factory.mktemp("served") / "runs")


@pytest.fixture(scope="module")
def server(folder):
    with serving_runs(folder) as server:
        yield server


@pytest.fixture
def runs_page(browser, server):
    """The list of runs, once it is drawn."""
    browser.open(server.url)
    browser.find(".runs-list table")
    return browser


def unharmed(tab, server):
    """Nothing ran that should not, and nobody else was asked."""
    assert tab.run("return window.hacked") is None
    assert tab.console_errors() == []
    assert all(url.startswith(server.origin) or url == "about:blank" for url in tab.requests())


def open_run(tab, name):
    """Follow the link of a run, and wait for its report."""
    next(link for link in tab.all("tbody th a") if link.text == name).click()
    tab.find(".verdict h1")


def open_query(tab, query, form="human"):
    """Go to the page of a query, and wait for the panel."""
    tab.go(f"#/queries?search={query}")
    tab.find("tbody a[href*='/query/']")
    links = [a.get_attribute("href") for a in tab.all("tbody a[href*='/query/']")]
    tab.go(next(link for link in links if f"/{query}/{form}" in link).partition("#")[2])
    tab.find(".rerun-form")


def test_list_shows_runs_newest_first_and_hides_the_token(runs_page, server):
    assert runs_page.driver.current_url == f"{server.origin}/"
    names = [row.splitlines()[0] for row in runs_page.texts("tbody th[scope=row]")]
    assert names[0].startswith(NEWEST)
    assert [name for name in names if name.startswith("broken")]
    assert "<img src=x onerror=window.hacked=1>" in runs_page.text("tr.broken")
    assert not runs_page.all("tr.broken a"), "a broken run has no page"
    assert SHOWN_ENGINE in " ".join(runs_page.texts(".chip"))
    assert "slightly better" in runs_page.texts("td .badge.good")
    unharmed(runs_page, server)
    assert runs_page.axe() == []


def test_list_sorts_and_keeps_picks(runs_page, server):
    runs_page.click("input[aria-label='Select old to compare']")
    runs_page.click("thead button")
    assert runs_page.find("thead th[aria-sort]")
    assert runs_page.find("input[aria-label='Select old to compare']").is_selected()
    assert "Select a second run" in runs_page.text(".pick-bar")
    unharmed(runs_page, server)


def test_third_pick_takes_the_place_of_the_first(runs_page):
    for name in (NEWEST, "old", "unlike"):
        runs_page.click(f"input[aria-label='Select {name} to compare']")
    picked = sorted(box.get_attribute("aria-label") for box in runs_page.all("tbody input") if box.is_selected())
    assert picked == ["Select old to compare", "Select unlike to compare"]


def test_list_looks_again(runs_page, folder):
    shutil.copytree(folder / "old", folder / "brand-new")
    try:
        runs_page.run("document.dispatchEvent(new Event('visibilitychange'))")
        runs_page.wait(lambda: "brand-new" in runs_page.text(".runs-list"), "the new run is not listed")
    finally:
        shutil.rmtree(folder / "brand-new")


def test_run_opens_and_leads_back(runs_page, server):
    open_run(runs_page, NEWEST)
    unharmed(runs_page, server)
    runs_page.click(".side a.home")
    runs_page.find(".runs-list table")


def test_two_runs_are_compared(runs_page, server):
    runs_page.click("input[aria-label='Select 2026 <b>newest</b> to compare']")
    runs_page.click("input[aria-label='Select old to compare']")
    assert runs_page.text(".pick-bar p") == "2026 <b>newest</b> against old as the baseline"
    runs_page.click(".pick-actions button")
    assert runs_page.text(".pick-bar p") == "old against 2026 <b>newest</b> as the baseline"
    runs_page.click(".pick-actions button")
    runs_page.click(".primary")
    title = runs_page.text(".verdict h1")
    assert "builtin @ old" in title
    assert "@ 2026 <b>newest</b>" in title
    unharmed(runs_page, server)


def test_runs_that_differ_say_why(runs_page, server):
    for name in ("old", "unlike"):
        runs_page.click(f"input[aria-label='Select {name} to compare']")
    runs_page.click(".primary")
    assert "0 of 12 queries" in runs_page.text("[role=alert]")
    assert runs_page.axe() == []
    runs_page.click("main a[href='/']")
    runs_page.find(".runs-list table")


def test_asking_again_moves_ranks_and_says_why(runs_page, server):
    open_run(runs_page, NEWEST)
    open_query(runs_page, "fines")
    runs_page.click(".setting-picker summary")
    runs_page.fill("#rerun-search", "docs factor documentation files")
    runs_page.click(".setting-button")
    runs_page.fill("[data-setting='search.noise.files.docs']", "0")
    runs_page.click(".rerun .primary")
    moves = runs_page.wait(lambda: runs_page.texts(".moves .move"), "nothing moved")
    assert any("▲" in move for move in moves)
    assert any("▼" in move for move in moves)
    assert "nDCG@10" in runs_page.text(".rerun-summary")
    assert HOSTILE_PATH in " ".join(runs_page.texts(".moves th"))
    assert "lexical" in " ".join(runs_page.texts(".rerun-result thead th"))
    unharmed(runs_page, server)
    assert runs_page.axe(".rerun") == []


def test_what_the_engine_does_not_take_is_told_in_its_words(runs_page):
    open_run(runs_page, "old")
    open_query(runs_page, "fines")
    runs_page.click(".setting-picker summary")
    runs_page.fill("#rerun-search", "noise.files.docs")
    runs_page.click(".setting-button")
    runs_page.fill("[data-setting='search.noise.files.docs']", "30")
    runs_page.click(".rerun .primary")
    assert "noise.files.docs: expected a number from 0 to 1" in runs_page.text(".rerun-result [role=alert]")


def test_settings_stay_from_query_to_query_and_words_are_free(runs_page, server):
    open_run(runs_page, "old")
    open_query(runs_page, "loans")
    runs_page.click(".setting-picker summary")
    runs_page.fill("#rerun-search", "stem files")
    runs_page.click(".setting-button")
    assert "was 0" in runs_page.text(".changed-settings")
    runs_page.fill("[data-setting='search.stem.files']", "0.7")
    open_query(runs_page, "holds")
    assert runs_page.find("[data-setting='search.stem.files']").get_attribute("value") == "0.7"
    runs_page.fill("#rerun-words", "register a <b>member</b> card")
    runs_page.click(".rerun .primary")
    runs_page.find(".moves table")
    assert "its targets are unknown" in runs_page.text(".rerun-result")
    assert not runs_page.all(".moves .badge")
    runs_page.click(".rerun-actions .quiet-button")
    assert "No setting is changed" in runs_page.text(".rerun-settings")
    unharmed(runs_page, server)


def test_whole_files_are_shown(runs_page, server):
    open_run(runs_page, NEWEST)
    open_query(runs_page, "fines")
    asked = len(runs_page.all(".whole-file"))
    runs_page.click(".source-file .whole-file")
    runs_page.wait(lambda: len(runs_page.all(".whole-file")) == asked - 1, "the file does not come")
    shown = runs_page.run(
        "return [...document.querySelector('.source-file').querySelectorAll('.number')].map(e => +e.textContent)"
    )
    assert shown == list(range(1, len(shown) + 1))
    assert len(shown) > 30
    unharmed(runs_page, server)


def test_page_that_lost_its_server_says_so(browser, runs):
    with serving_runs(runs) as server:
        browser.open(server.url)
        browser.find(".runs-list table")
    browser.run("document.dispatchEvent(new Event('visibilitychange'))")
    browser.wait(lambda: "still running" in browser.text(".runs-list"), "it does not say that the server is gone")


def test_phone_shows_the_list_without_scrolling_sideways(browser, server):
    browser.resize(390, 844).open(server.url)
    browser.find(".runs-list table")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.dark()
    assert browser.axe() == []


def test_command_prints_its_address_and_ends_on_ctrl_c(browser, runs):
    with serving_runs(runs) as server:
        assert server.said["schema"] == "assay/serve/1"
        browser.open(server.url)
        assert browser.find(".runs-list table")
    assert server.ended is not None
    code, out, err = server.ended
    assert (code, out) == (0, "")
    assert server.url.rpartition("=")[2] not in err
    assert "Traceback" not in err
