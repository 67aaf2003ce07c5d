"""Every view once in a real browser, on one run; `make nightly` runs the full browser tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from assay.cli.main import main
from assay.experiment import read_run
from assay.report.gate_history import GatedCommit, write_trend
from tests.browser.driving import Tab
from tests.browser.reviewing import HOSTILE, dispute, propose, served, shown, sign_in, vote, write_gold
from tests.browser.sample import ATTACK, HOSTILE_ENGINE, HOSTILE_PATH, IMAGE, NEWEST, SHOWN_ENGINE
from tests.browser.serving import Serving, serving_runs
from tests.web.reviews import decisions, votes

GOLD = "town<script>window.hacked=1<&>"
FINES = f"#/query/{quote(GOLD, safe='')}/fines/human"
SECTIONS = [
    "scores", "means", "differences", "wins", "ranks", "tradeoffs", "groups", "phrasings", "adversaries",
    "limits", "cost", "inputs",
]  # fmt: skip
ROWS = ".queries-view tbody tr"
PHONE = 390


@pytest.fixture(scope="module")
def results(sample: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sample / "results.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def server(runs: Path) -> Any:
    with serving_runs(runs) as server:
        yield server


def opened(tab: Tab, sample: Path, fragment: str = "") -> Tab:
    """Open report.html at a fragment and wait until its view is drawn."""
    tab.open((sample / "report.html").resolve().as_uri() + fragment)
    tab.wait(lambda: tab.run("return window.assayReady"), "the page was not ready")
    return tab


def all_drawn(tab: Tab) -> Tab:
    """Wait for the last section, and for the section that loads the rankings when scrolled into view."""
    tab.wait(lambda: tab.all("#section-inputs .facts"), "the last section was not drawn")
    tab.run("document.querySelector('.displaced').scrollIntoView()")
    tab.wait(lambda: tab.all(".displaced table"), "the rankings were not read")
    return tab


def assert_harmless(tab: Tab, origin: str = "file:") -> None:
    """Assert that no injected text ran, nothing was logged, and no other origin was requested."""
    assert tab.run("return window.hacked") is None
    assert tab.all("main img, main script") == []
    assert tab.console_errors() == []
    assert [url for url in tab.requests() if not url.startswith((origin, "about:"))] == []


def cells(tab: Tab, table: str) -> list[list[str]]:
    script = """return [...document.querySelector(arguments[0]).querySelectorAll('tbody tr')].map(
        (row) => [...row.children].map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim()))"""
    found: list[list[str]] = tab.run(script, table)
    return found


def choose(tab: Tab, label: str, value: str) -> None:
    """Select a value in the filter with this label."""
    script = """const list = [...document.querySelectorAll('.filters label')]
        .find((one) => one.querySelector('.label').textContent === arguments[0]).querySelector('select');
        list.value = arguments[1]; list.dispatchEvent(new Event('change', {bubbles: true}))"""
    tab.run(script, label, value)


def fragment(tab: Tab) -> str:
    return str(tab.run("return location.hash"))


def copied(tab: Tab, button: str) -> str:
    """Click a copy button and return the text that it puts on the clipboard."""
    tab.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    tab.click(button)
    return str(tab.wait(lambda: tab.run("return window.copied"), "nothing was copied"))


# --- report.html ----------------------------------------------------------------------------------------------------


def test_report_draws_every_section_and_asks_nobody(browser: Tab, sample: Path) -> None:
    tab = all_drawn(opened(browser, sample))
    found = tab.run("return [...document.querySelectorAll('.report-section')].map((one) => one.id)")
    assert found == [f"section-{name}" for name in SECTIONS]
    assert tab.texts(".side-sections a") == tab.texts(".report-section > h2")
    assert "Cannot draw this section" not in tab.run("return document.body.innerText")
    assert tab.requests() == []
    assert_harmless(tab)


def test_report_shows_the_numbers_of_results_json(browser: Tab, sample: Path, results: dict[str, Any]) -> None:
    tab = all_drawn(opened(browser, sample))
    row = next(one for one in results["comparison"]["rows"] if one["engine"] == results["challenger"])
    difference = f"{row['difference']:+.3f}".replace("-", "−")
    answer = tab.text(".answer")
    assert f" {row['baseline_mean']:.3f} → {row['engine']} {row['mean']:.3f}, difference {difference} (95% CI" in answer
    compared = next(line for line in cells(tab, "#section-differences table") if line[0] == row["engine"])
    assert compared[3:5] == [f"{row['p_adjusted']:.4f}", f"{row['p']:.4f}"]
    assert f"{row['wins']}/{row['ties']}/{row['losses']}" in compared
    assert compared[6] in next(line for line in cells(tab, ".overview table") if line[0] == row["engine"])
    tab.run("document.querySelectorAll('.references').forEach((button) => button.click())")
    means = {(one["engine"], one["measure"]): one["mean"] for one in results["comparison"]["means"]}
    shown_scores = {line[0].split()[0]: line[1:] for line in cells(tab, "#section-scores table")}
    for place, measure in enumerate(results["measures"]):
        for engine in ("builtin", "keywords", "random"):
            assert shown_scores[engine][place].startswith(f"{means[engine, measure]:.3f} [")
    forest = tab.run(
        "return [...document.querySelectorAll('#section-means .forest-row:not(.forest-axis) .forest-text')]"
        ".map((one) => one.textContent)"
    )
    assert sorted(text.split()[0] for text in forest) == sorted(
        f"{mean:.3f}" for (_, measure), mean in means.items() if measure == "nDCG@10"
    )
    assert len(tab.all("#section-ranks .bars")) >= 3
    assert len(tab.all("#section-tradeoffs .scatter .point")) >= 4
    assert tamed(results["warnings"][0]) in tab.text("#section-limits")
    assert results["header"]["gold_hash"] in tab.text("#section-inputs .facts")


def tamed(text: str) -> str:
    """Return text as pages render it: control characters are replaced with visible ones."""
    return text.replace("\u202e", "\ufffd").replace("`", "")


def test_tables_of_the_report_sort_choose_and_copy(browser: Tab, sample: Path, results: dict[str, Any]) -> None:
    tab = all_drawn(opened(browser, sample))
    header = "#section-scores thead th:nth-child(2)"
    tab.click(f"{header} button")
    assert tab.find(header).get_attribute("aria-sort") == "descending"
    down = [row[1] for row in cells(tab, "#section-scores table")]
    tab.click(f"{header} button")
    assert [row[1] for row in cells(tab, "#section-scores table")] == down[::-1] != down
    text = copied(tab, "#section-scores .copy")
    assert text.splitlines()[1].startswith("|---|---:|")
    assert len(text.splitlines()) == 2 + len(results["engines"]) - 1
    tab.click("#section-scores .references")  # random
    assert len(copied(tab, "#section-scores .copy").splitlines()) == 2 + len(results["engines"])
    tab.run(
        "const list = document.querySelector('#section-means select'); list.value = 'RR@10';"
        "list.dispatchEvent(new Event('change'))"
    )
    assert fragment(tab) == "#/report/means?measure=RR%4010"
    tab.run("document.querySelector('#section-means .mark').focus()")
    assert ": 1.000" in tab.text("#chart-tip")


def test_report_draws_the_trend_of_the_gate(browser: Tab, sample: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(sample, results)
    means = [0.5, None, *(0.5 + number / 100 for number in range(31))]
    gates = [
        GatedCommit(
            f"2026-01-{1 + number % 28:02}T00:00:00+00:00", f"{number:02}c0ffee{ATTACK}", int(number == 32),
            "fail" if number == 32 else "pass", "builtin", "nDCG@10", mean, 0.6, None, None, 12, "1", 1,
        )
        for number, mean in enumerate(means)
    ]  # fmt: skip
    write_trend(results, gates)
    assert main(["report", str(results)]) == 0
    tab = opened(browser, results)
    labels = tab.run("return [...document.querySelectorAll('.trend .point')].map((one) => one.ariaLabel)")
    assert (len(labels), labels[0]) == (30, "03c0ffe, 2026-01-04: 0.510, baseline 0.600, pass")
    assert tab.run("return document.querySelectorAll('.trend .plot > .reach').length") == 29
    assert tab.run("return document.querySelectorAll('.trend .plot > .line').length") == 29
    assert tab.run("return document.querySelectorAll('.trend .point.bad').length") == 1
    label = tab.find(".trend figure").get_attribute("aria-label")
    assert label.startswith("Mean nDCG@10 of builtin: 30 gated commits, 1 failed (✗)")
    assert label.endswith("last 32c0ffe, 2026-01-05: 0.800, baseline 0.600, fail")
    tab.run("document.querySelector('.trend .mark').focus()")
    assert tab.text("#chart-tip") == labels[0]
    assert_harmless(tab)
    assert opened(browser, sample).all(".trend") == []


def test_links_lead_to_sections_views_and_nowhere(browser: Tab, sample: Path) -> None:
    tab = opened(browser, sample, "#/report/limits")
    _on_top(tab, "limits")
    tab.go("#/report/ranks")
    _on_top(tab, "ranks")
    tab.go("#/report/adversaries?engine=random")
    tab.wait(lambda: tab.run("return document.querySelector('.displaced select')?.value") == "random")
    for address in ("#/nothing", "#/__proto__", "#/query/no/such/one", "#/query/%E0%A4%A/x/y"):
        tab.go(address)
        tab.wait(lambda: tab.texts("main h1") == ["Not found"], f"{address} was accepted as a view")
    assert_harmless(tab)


def _on_top(tab: Tab, section: str) -> None:
    top = f"return document.querySelector('#section-{section}').getBoundingClientRect().top"
    tab.wait(lambda: 0 <= tab.run(top) < 200, f"{section} is not on top")


def test_hostile_text_is_text_in_every_view(browser: Tab, sample: Path) -> None:
    tab = all_drawn(opened(browser, sample))
    assert SHOWN_ENGINE in tab.texts("#section-scores .engine-name")
    assert any(IMAGE in text for text in tab.texts("#section-phrasings .query-text"))
    assert any(IMAGE in text for text in tab.texts("#section-adversaries .adversary-cell"))
    assert_harmless(tab)
    tab.go("#/queries")
    tab.find(".query-link")
    assert any(IMAGE in text for text in tab.texts(".query-link"))
    assert SHOWN_ENGINE in tab.texts(".filters option")
    assert_harmless(tab)
    tab.go(f"{FINES}?b={quote(HOSTILE_ENGINE)}")
    tab.find(".query-trace h2")
    assert tab.text("h1") == f"what does a late book cost? {IMAGE}"
    assert f"error: RuntimeError: no answer {ATTACK}" in tab.all(".ranking")[1].text
    assert f'MARK = "{ATTACK}"' in tab.texts(".source-file .line code")
    assert_harmless(tab)


# --- the list of queries, and one query ------------------------------------------------------------------------------


def test_list_searches_filters_and_goes_back(browser: Tab, sample: Path) -> None:
    tab = opened(browser, sample, "#/queries")
    assert len(tab.all(ROWS)) == 12
    tab.keys("/")
    tab.keys("lent LOANS")
    tab.wait(lambda: len(tab.all(ROWS)) == 2)
    tab.wait(lambda: "search=lent+LOANS" in fragment(tab))
    assert "2 of 12 queries" in tab.text(".sums")
    tab.fill("#search", "no such words")
    tab.wait(lambda: tab.texts(ROWS) == ["No queries match these filters."])
    tab.click(".reset")
    tab.wait(lambda: fragment(tab) == "#/queries")
    choose(tab, "Phrasing", "all")
    tab.wait(lambda: len(tab.all(ROWS)) == 36)
    choose(tab, "Category", "place")
    tab.wait(lambda: len(tab.all(ROWS)) == 18)
    tab.driver.back()
    tab.wait(lambda: len(tab.all(ROWS)) == 36)
    choose(tab, "B", HOSTILE_ENGINE)
    choose(tab, "Answer of B", "error")
    tab.wait(lambda: len(tab.all(ROWS)) == 6)
    assert_harmless(tab)


def test_list_restores_a_link_and_sorts_both_ways(browser: Tab, sample: Path) -> None:
    link = f"#/queries?form=all&search=book&a=random&b={quote(HOSTILE_ENGINE)}&measure=RR%4010&sort=b&desc=1"
    tab = opened(browser, sample, link)
    chosen = tab.run("return [...document.querySelectorAll('.filters select')].slice(0, 4).map((one) => one.value)")
    assert chosen == ["random", HOSTILE_ENGINE, "RR@10", "all"]
    assert tab.find("#search").get_attribute("value") == "book"
    values = _column(tab)
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 2
    tab.click("thead th[aria-sort] button")
    tab.wait(lambda: _column(tab) == values[::-1] or _column(tab) == sorted(values))
    assert tab.find("thead th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert "desc=1" not in fragment(tab)
    assert copied(tab, ".copy").startswith("| Query |")


def _column(tab: Tab) -> list[float]:
    return [float(text) for text in tab.texts(f"{ROWS} td:nth-child(5)")]


def test_keys_alone_lead_through_the_queries(browser: Tab, sample: Path) -> None:
    tab = opened(browser, sample, "#/queries?sort=query")
    texts = tab.texts(".query-link")
    tab.keys("j", "j")
    focused = tab.run("return document.activeElement.textContent")
    assert focused == texts[1]
    tab.keys(Keys.ENTER)
    assert tab.text(".query-view h1") == focused
    assert tab.text(".query-nav .note") == "2 of 12"
    tab.keys("j")
    tab.wait(lambda: tab.texts(".query-view h1") == [texts[2]])
    tab.keys("k")
    tab.wait(lambda: tab.texts(".query-view h1") == [texts[1]])
    tab.keys("u")
    tab.find(".queries-view")
    tab.wait(lambda: tab.run("return document.activeElement.textContent") == focused, "the row did not get the focus")
    tab.keys("?")
    assert "Next query of the list" in tab.text("dialog")


def test_query_page_shows_gold_rankings_source_and_trace(browser: Tab, sample: Path) -> None:
    tab = opened(browser, sample, f"{FINES}?engines=builtin,random")
    tab.find(".query-trace h2")
    assert f"✓ primary {HOSTILE_PATH}:6-9" in tab.text(".gold-panel")
    assert "✗ sibling lending/returns.py strong" in tab.text(".gold-panel")
    recorded = {
        engine.name: next(one for one in engine.rankings if (one.gold, one.query, one.form) == (GOLD, "fines", "human"))
        for engine in read_run(sample).engines
    }
    for place, name in enumerate(("builtin", "random"), start=1):
        assert tab.texts(f".ranking:nth-child({place}) .place") == [str(hit.span) for hit in recorded[name].hits]
    assert tab.texts(".source-file:first-of-type .line.answer .number") == ["6", "7", "8", "9"]
    stages = tab.texts(".query-trace thead th")
    assert stages[1].startswith("Candidate")
    assert len(stages) > 4
    tab.click(".query-scores input[aria-label='Show the ranking of keywords']")
    tab.wait(lambda: tab.texts(".ranking .letter") == ["A", "B", "C"])
    tab.driver.refresh()
    tab.wait(lambda: tab.texts(".ranking .letter") == ["A", "B", "C"], "the engine is not in the address")
    assert f"- ✓ primary: `{HOSTILE_PATH}:6-9`" in copied(tab, ".query-nav .copy")
    tab.click(".phrasings li:nth-child(2) a")
    tab.wait(lambda: tab.texts(".query-view h1") == ["late fee days"])
    assert_harmless(tab)


# --- layout, accessibility, print -----------------------------------------------------------------------------------


def test_every_view_fits_a_phone_in_the_dark(browser: Tab, sample: Path) -> None:
    tab = all_drawn(opened(browser.dark().resize(PHONE, 844), sample))
    assert tab.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    wide = "return document.documentElement.scrollWidth"
    assert tab.run(wide) == PHONE
    assert not tab.all(".side")[0].is_displayed()
    tab.click(".menu")
    tab.click(".side a[data-view=queries]")
    tab.find(".queries-view")
    assert tab.run(wide) == PHONE
    tab.go(FINES)
    tab.find(".query-trace h2")
    assert tab.run(wide) == PHONE


def test_axe_finds_nothing_serious(browser: Tab, sample: Path) -> None:
    tab = opened(browser, sample, "#/queries")
    assert tab.axe() == []
    tab.go("#/report")
    all_drawn(tab)
    assert tab.axe("#section-differences") == []


def test_report_prints_every_section_without_navigation(browser: Tab, sample: Path) -> None:
    tab = opened(browser, sample)
    assert tab.printed().startswith(b"%PDF")  # printing renders the sections that are not drawn yet
    assert [name for name in SECTIONS if not tab.all(f"#section-{name}")] == []
    tab.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not any(one.is_displayed() for one in tab.all(".side, .topbar, .copy"))


# --- assay serve ----------------------------------------------------------------------------------------------------


def test_served_list_sorts_picks_and_shows_what_is_broken(browser: Tab, server: Serving) -> None:
    browser.open(server.url)
    browser.find(".runs-list table")
    assert browser.driver.current_url == f"{server.origin}/"  # the token is removed from the address
    names = [text.splitlines()[0] for text in browser.texts("tbody th[scope=row]")]
    assert names[0].startswith(NEWEST)
    assert "slightly better" in browser.texts("td .badge.good")
    assert IMAGE in browser.text("tr.broken")
    assert not browser.all("tr.broken a")
    browser.click("input[aria-label='Select old to compare']")
    browser.click("thead button")
    assert browser.find("thead th[aria-sort]")
    assert browser.find("input[aria-label='Select old to compare']").is_selected()
    assert_harmless(browser, server.origin)


def test_served_runs_are_compared_or_the_page_says_why_not(browser: Tab, server: Serving) -> None:
    browser.open(server.url)
    for name in (NEWEST, "old"):
        browser.click(f"input[aria-label='Select {name} to compare']")
    assert browser.text(".pick-bar p") == f"{NEWEST} against old as the baseline"
    browser.click(".primary")
    title = browser.text(".verdict h1")
    assert "builtin @ old" in title
    assert f"@ {NEWEST}" in title
    assert_harmless(browser, server.origin)
    browser.click(".side a.home")
    for name in ("old", "unlike"):
        browser.click(f"input[aria-label='Select {name} to compare']")
    browser.click(".primary")
    assert "0 of 12 queries" in browser.text("[role=alert]")


def test_served_query_is_asked_again_with_other_settings(browser: Tab, server: Serving) -> None:
    browser.open(server.url)
    browser.find(".runs-list table")
    next(link for link in browser.all("tbody th a") if link.text == NEWEST).click()
    browser.find(".verdict h1")
    browser.go(FINES)
    browser.find(".rerun-form")
    unread = len(browser.all(".whole-file"))
    browser.click(".source-file .whole-file")
    browser.wait(lambda: len(browser.all(".whole-file")) == unread - 1, "the whole file was not shown")
    browser.click(".setting-picker summary")
    browser.fill("#rerun-search", "docs factor documentation files")
    browser.click(".setting-button")
    browser.fill("[data-setting='search.noise.files.docs']", "0")
    browser.click(".rerun .primary")
    moves = " ".join(browser.wait(lambda: browser.texts(".moves .move"), "nothing moved"))
    assert "▲" in moves
    assert "▼" in moves
    assert "nDCG@10" in browser.text(".rerun-summary")
    browser.fill("[data-setting='search.noise.files.docs']", "30")
    browser.click(".rerun .primary")
    assert "noise.files.docs: expected a number from 0 to 1" in browser.text(".rerun-result [role=alert]")


# --- gold review ----------------------------------------------------------------------------------------------------


def test_review_votes_by_keyboard_and_keeps_them_over_a_reload(browser: Tab, tmp_path: Path) -> None:
    gold_file = write_gold(tmp_path)
    ids = propose(gold_file, 3)
    with served(gold_file) as house:
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        assert "engine-x" not in browser.text(".query-card")
        vote(browser, "2", "here it is")
        browser.wait(lambda: shown(browser) == ids[1])
        browser.keys("1")
        browser.wait(lambda: browser.run("return document.activeElement.id === 'reason'"))
        browser.keys("half a thought")
        browser.driver.refresh()
        browser.wait(lambda: shown(browser) == ids[1])
        assert browser.texts(".queue .sign")[0] == "2"
        assert browser.find("#reason").get_attribute("value") == "half a thought"
        vote(browser, "1", " made whole")
        browser.wait(lambda: shown(browser) == ids[2])
        vote(browser, "u", "cannot tell")
        browser.wait(lambda: "voted on everything" in browser.text("main"))
        browser.wait(lambda: "all saved" in browser.text(".outbox"), "unsaved votes remain")
        assert_harmless(browser, f"http://127.0.0.1:{house.port}/")
    assert [(line["item"], line["value"], line["reason"]) for line in votes(gold_file, "ada")] == [
        (ids[0], "2", "here it is"), (ids[1], "1", "half a thought made whole"), (ids[2], "unsure", "cannot tell"),
    ]  # fmt: skip


def test_review_is_adjudicated_with_hostile_text_in_every_view(browser: Tab, tmp_path: Path) -> None:
    gold_file = write_gold(tmp_path)
    ids = dispute(gold_file)
    with served(gold_file) as house:
        sign_in(browser, house.url, "cy")
        browser.wait(lambda: shown(browser) == ids[0])
        assert browser.text("#headline") == HOSTILE
        browser.go("#/adjudicate")
        browser.wait(lambda: "2 items are open for you" in browser.text("main"))
        browser.click(".blinded button")
        browser.wait(lambda: browser.texts(".votes tr") == [f"adathe answer{HOSTILE}", f"bobwrong{HOSTILE}"])
        browser.wait(lambda: browser.all(".line.marked"))
        vote(browser, "1", "it helps")
        browser.wait(lambda: "Nothing to decide" in browser.text("main"))
        browser.go("#/agreement")
        browser.find(".confusion")
        browser.go("#/status")
        browser.wait(lambda: any(row.endswith("secondary targetcy") for row in browser.texts(".table-box tbody tr")))
        assert browser.driver.title == "Review of gold.yaml"
        assert_harmless(browser, f"http://127.0.0.1:{house.port}/")
    assert [(line["item"], line["by"], line["value"]) for line in decisions(gold_file)] == [(ids[0], "cy", "1")]
