"""The list of queries: search, filters, order and links, in a browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.driving import Tab
from tests.browser.sample import HOSTILE_ENGINE, IMAGE, SHOWN_ENGINE

pytestmark = pytest.mark.nightly

ROWS = ".queries-view tbody tr"


@pytest.fixture
def listed(browser: Tab, sample: Path) -> Tab:
    """The page of the sample at the list of its queries."""
    return _open(browser, sample, "#/queries")


def _open(browser: Tab, sample: Path, fragment: str) -> Tab:
    """Open a deep link and wait until its view stands."""
    tab = browser.open((sample / "report.html").resolve().as_uri() + fragment)
    tab.wait(lambda: tab.run("return window.assayReady"), "the page was not ready")
    return tab


def _choose(tab: Tab, title: str, value: str) -> None:
    """Choose an entry of the list with this title, as a person at the keyboard would."""
    script = """const label = [...document.querySelectorAll('.filters label')]
        .find(one => one.querySelector('.label').textContent === arguments[0]);
        const list = label.querySelector('select'); list.value = arguments[1];
        list.dispatchEvent(new Event('change', {bubbles: true})); return list.value"""
    assert tab.run(script, title, value) == value


def _hash(tab: Tab) -> str:
    """Give the address behind the page's own."""
    return str(tab.run("return location.hash"))


def _quiet(tab: Tab) -> None:
    """Check that the page complained of nothing, asked for nothing and ran nothing that it was told."""
    assert tab.console_errors() == []
    assert tab.requests() == []
    assert tab.run("return window.hacked") is None


def test_list_shows_each_headline_once_and_names_that_attack_as_text(listed: Tab) -> None:
    assert len(listed.all(ROWS)) == 12
    assert any(IMAGE in text for text in listed.texts(".query-link"))
    assert SHOWN_ENGINE in listed.texts(".filters option")
    assert listed.all("main img, main b, main script") == []
    assert listed.axe() == []
    _quiet(listed)


def test_search_follows_typing_and_stands_in_the_address(listed: Tab) -> None:
    listed.keys("/")
    listed.keys("shelf")
    listed.wait(lambda: len(listed.all(ROWS)) == 1)
    assert listed.text(ROWS) == "No queries match these filters."
    listed.fill("#search", "lent LOANS")
    listed.wait(lambda: len(listed.all(ROWS)) == 2)
    assert "search=lent+LOANS" in _hash(listed)
    assert "2 of 12 queries" in listed.text(".sums")
    listed.fill("#search", "members.py")  # no word of a query: the path of an answer
    listed.wait(lambda: "search=members.py" in _hash(listed))
    assert len(listed.all(".query-link")) == 2
    listed.fill("#search", "lent LOANS")
    listed.wait(lambda: "search=lent+LOANS" in _hash(listed))
    listed.go("#/queries?search=fines")  # the cursor is still in the box: it follows all the same, there and back
    searched = "return document.querySelector('#search').value"
    listed.wait(lambda: listed.run(searched) == "fines", "the box did not follow the address")
    listed.driver.back()
    listed.wait(lambda: listed.run(searched) == "lent LOANS", "the box did not go back")
    assert len(listed.all(ROWS)) == 2
    _quiet(listed)


def test_filters_add_up_and_the_back_button_takes_each_back(listed: Tab) -> None:
    _choose(listed, "Phrasing", "all")
    assert len(listed.all(ROWS)) == 36
    _choose(listed, "Phrasing", "keyword")
    assert len(listed.all(ROWS)) == 12
    _choose(listed, "Category", "place")
    listed.wait(lambda: len(listed.all(ROWS)) == 6)
    assert "form=keyword" in _hash(listed)
    assert "tag.category=place" in _hash(listed)
    listed.driver.back()
    listed.wait(lambda: len(listed.all(ROWS)) == 12)
    listed.driver.back()
    listed.wait(lambda: len(listed.all(ROWS)) == 36)
    listed.driver.forward()
    listed.wait(lambda: len(listed.all(ROWS)) == 12)
    listed.click(".reset")
    listed.wait(lambda: _hash(listed) == "#/queries")


def test_a_deep_link_restores_search_filters_engines_and_order(browser: Tab, sample: Path) -> None:
    link = f"#/queries?form=all&search=book&a=random&b={quote(HOSTILE_ENGINE)}&measure=RR%4010&sort=b&desc=1"
    tab = _open(browser, sample, link)
    chosen = tab.run("return [...document.querySelectorAll('.filters select')].slice(0, 4).map(list => list.value)")
    assert chosen == ["random", HOSTILE_ENGINE, "RR@10", "all"]
    assert tab.find("#search").get_attribute("value") == "book"
    values = [float(text) for text in tab.texts(f"{ROWS} td:nth-child(5)")]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 2
    assert tab.find("th[aria-sort]").text.startswith("B:")
    _quiet(tab)


def test_outcomes_are_of_b_against_a_and_turn_round_with_them(browser: Tab, sample: Path) -> None:
    tab = _open(browser, sample, "#/queries?a=keywords&b=random")
    counts = _outcomes(tab)
    assert sum(counts[1:]) == counts[0] == 12
    assert counts[3] > counts[1]
    tab.click("[data-outcome=loss]")
    tab.wait(lambda: len(tab.all(ROWS)) == counts[3])
    lost = [float(text.split()[0].replace("\u2212", "-")) for text in tab.texts(f"{ROWS} td:nth-child(5)")]
    assert lost == sorted(lost)
    assert all(value < 0 for value in lost)
    assert "outcome=loss" in _hash(tab)
    turned = _outcomes(_open(tab, sample, "#/queries?a=random&b=keywords"))
    assert turned == [counts[0], counts[3], counts[2], counts[1]]


def _outcomes(tab: Tab) -> list[int]:
    """Give the counts on the buttons: all, better, equal, worse."""
    return [int(text) for text in tab.texts(".outcomes .count")]


def test_headers_sort_both_ways_say_so_and_put_missing_values_last(listed: Tab) -> None:
    _choose(listed, "B", HOSTILE_ENGINE)
    listed.click("thead th:nth-child(6) button")
    ranks = [text.split(" → ")[1] for text in listed.texts(f"{ROWS} td:nth-child(6)")]
    known = [int(rank) for rank in ranks if rank != "–"]
    assert known == sorted(known)
    assert ranks[len(known) :] == ["–"] * (12 - len(known)) != []
    assert listed.find("thead th:nth-child(6)").get_attribute("aria-sort") == "ascending"
    listed.click("thead th:nth-child(6) button")
    assert listed.find("thead th:nth-child(6)").get_attribute("aria-sort") == "descending"
    assert listed.texts(f"{ROWS} td:nth-child(6)")[-1].endswith("–")
    assert "sort=ranks" in _hash(listed)
    assert "desc=1" in _hash(listed)


def test_status_of_b_finds_the_failed_queries(listed: Tab) -> None:
    _choose(listed, "B", HOSTILE_ENGINE)
    _choose(listed, "Answer of B", "error")
    listed.wait(lambda: len(listed.all(ROWS)) == 2)
    assert all("late book" in text for text in listed.texts(".query-link"))
    listed.click(".query-link")
    assert listed.wait(lambda: listed.all(".query-nav .note") and listed.text(".query-nav .note")) == "1 of 2"


def test_list_is_copied_as_markdown_in_its_order(listed: Tab) -> None:
    listed.run("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    listed.click("thead th:first-child button")
    listed.click(".copy")
    lines = listed.wait(lambda: listed.run("return window.copied")).splitlines()
    assert lines[0].startswith("| Query | Category | A: keywords | B: builtin | B − A |")
    assert lines[1] == "|---|---|---:|---:|---:|---:|---:|"
    assert len(lines) == 14
    assert lines[2].startswith("| how does somebody become a reader?")
    assert any("\\<img src=x onerror=window.hacked=1\\>" in line for line in lines)
    assert listed.text("#announcer") == "Copied as Markdown"


def test_keys_alone_lead_to_a_query_and_back_to_its_row(listed: Tab) -> None:
    from selenium.webdriver.common.keys import Keys

    listed.keys("j", "j", "k", "j")
    focused = listed.run("return document.activeElement.textContent")
    assert focused == listed.texts(".query-link")[1]
    listed.keys(Keys.ENTER)
    assert listed.text(".query-view h1") == focused
    listed.find(".ranking")
    listed.keys("u")
    listed.find(".queries-view")
    listed.wait(lambda: listed.run("return document.activeElement.textContent") == focused, "the row had no focus")


def test_the_keys_are_listed_and_can_be_turned_off(listed: Tab) -> None:
    from selenium.webdriver.common.keys import Keys

    listed.keys("?")
    assert "Next query of the list" in listed.text("dialog")
    assert listed.axe("dialog") == []
    listed.click("dialog input")
    listed.keys(Keys.ESCAPE)
    listed.wait(lambda: not listed.all("dialog"))
    listed.keys("r")
    assert _hash(listed) == "#/queries"


def test_colours_are_chosen_kept_in_the_address_and_readable(listed: Tab) -> None:
    listed.keys("t", "t")
    assert "theme=dark" in _hash(listed)
    assert listed.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert listed.axe() == []
    listed.click(".query-link")
    listed.find(".query-view")
    assert "theme=dark" in _hash(listed)


def test_a_phone_has_a_menu_and_nothing_sticks_out(listed: Tab) -> None:
    listed.resize(390, 844)
    assert not listed.all(".side")[0].is_displayed()
    listed.click(".menu")
    assert listed.text(".side a[aria-current]").startswith("Queries")
    listed.click(".side a[data-view=report]")
    listed.find(".report")
    listed.wait(lambda: listed.run("return getComputedStyle(document.querySelector('.side')).display") == "none")
    listed.go("#/queries?form=all")
    listed.find(".queries-view")
    assert listed.run("return document.documentElement.scrollWidth <= innerWidth")
    assert listed.axe() == []


def test_an_address_that_leads_nowhere_says_so(browser: Tab, sample: Path) -> None:
    for fragment in ("#/nothing", "#/query/no/such/one", "#/query/%E0%A4%A/x/y"):
        tab = _open(browser, sample, fragment)
        assert tab.text("h1") == "Not found"
        _quiet(tab)
