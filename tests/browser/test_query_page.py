"""The page of one query: gold, rankings side by side, source, trace, and the way to its neighbours."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.driving import Tab
from tests.browser.sample import ATTACK, HOSTILE_ENGINE, HOSTILE_PATH, IMAGE, SHOWN_ENGINE

pytestmark = pytest.mark.nightly

GOLD = "town<script>window.hacked=1<&>"
LINK = f"#/query/{quote(GOLD, safe='')}/fines/human"


@pytest.fixture
def opened(browser: Tab, sample: Path) -> Tab:
    """The page of the sample at a query that one engine failed on."""
    return _open(browser, sample / "report.html", f"{LINK}?b={quote(HOSTILE_ENGINE)}")


def _open(browser: Tab, page: Path, fragment: str) -> Tab:
    """Open a deep link and wait until the rankings stand."""
    tab = browser.open(page.resolve().as_uri() + fragment)
    tab.find(".query-view .query-trace h2")
    return tab


def _quiet(tab: Tab) -> None:
    """Check that the page complained of nothing, asked for nothing and ran nothing that it was told."""
    assert tab.console_errors() == []
    assert tab.requests() == []
    assert tab.run("return window.hacked") is None


def test_query_shows_gold_reasons_and_labels_as_text(opened: Tab) -> None:
    assert opened.text("h1") == f"what does a late book cost? {IMAGE}"
    gold = opened.text(".gold-panel")
    assert f"✓ primary {HOSTILE_PATH}:6-9" in gold
    assert "✓ secondary docs/fines.md" in gold
    assert f"✗ sibling lending/returns.py strong: same words {IMAGE}" in gold
    assert f"it decides {IMAGE}" in gold
    assert "category: place" in opened.texts(".chip")
    assert opened.all("main img, main script") == []
    assert opened.axe() == []
    _quiet(opened)


def test_rankings_stand_side_by_side_with_answers_adversaries_and_failures_marked(opened: Tab) -> None:
    first, second = opened.all(".ranking")
    assert first.text.startswith("A keywords")
    assert [rank.text for rank in first.find_elements("css selector", ".rank")] == [str(n) for n in range(1, 11)]
    answers = [hit.text for hit in first.find_elements("css selector", ".hit.answer")]
    assert any(HOSTILE_PATH in text and "✓ primary" in text for text in answers)
    assert "✗ sibling" in first.find_element("css selector", ".hit.adversary").text
    assert SHOWN_ENGINE in second.text
    assert f"error: RuntimeError: no answer {ATTACK}" in second.text
    assert "No target was found (0 of 2)." in second.text


def test_engines_are_added_and_hidden_and_stand_in_the_address(opened: Tab) -> None:
    opened.click(".query-scores input[aria-label='Show the ranking of builtin']")
    opened.wait(lambda: len(opened.all(".ranking")) == 3)
    assert opened.texts(".ranking .letter") == ["A", "B", "C"]
    link = str(opened.run("return location.hash"))
    opened.click(".ranking button[aria-label='Hide keywords']")
    opened.wait(lambda: len(opened.all(".ranking")) == 2)
    opened.driver.get(opened.driver.current_url.partition("#")[0] + link)
    opened.driver.refresh()
    opened.wait(lambda: len(opened.all(".ranking")) == 3)
    assert opened.texts(".ranking h3") == ["A keywords", f"B {SHOWN_ENGINE}", "C builtin"]


def test_rankings_agree_with_the_records(browser: Tab, sample: Path) -> None:
    from assay.experiment import read_run

    run = read_run(sample)
    tab = _open(browser, sample / "report.html", f"{LINK}?engines=builtin,random")
    for place, name in enumerate(("builtin", "random")):
        engine = next(one for one in run.engines if one.name == name)
        made = next(r for r in engine.rankings if (r.gold, r.query, r.form) == (GOLD, "fines", "human"))
        shown = tab.texts(f".ranking:nth-child({place + 1}) .place")
        assert shown == [re.sub(r":(\d+)-\1$", r":\1", str(hit.span)) for hit in made.hits]
        facts = tab.texts(f".ranking:nth-child({place + 1}) .hit-facts")
        assert all(f"{n:,} token" in text for n, text in zip(made.tokens, facts, strict=True))


def test_source_marks_the_answer_and_the_hits_line_by_line(opened: Tab) -> None:
    assert [path for path in opened.texts(".source-file summary .place") if path == HOSTILE_PATH]
    box = ".source-file:first-of-type"
    assert opened.texts(f"{box} .line.answer .number") == ["6", "7", "8", "9"]
    assert "✓ primary" in opened.texts(f"{box} .line.answer:first-of-type .marks, {box} .line.answer .marks")[0]
    assert f'MARK = "{ATTACK}"' in opened.texts(f"{box} .line code")
    assert any(re.fullmatch(r"A\d+", text) for text in opened.texts(f"{box} .marks .badge"))
    opened.click(".ranking .hit.answer button.place")
    opened.wait(lambda: opened.run("return document.activeElement.classList.contains('line')"), "no line had the focus")
    assert opened.run("return document.activeElement.closest('details').open")


def test_trace_shows_each_stage_for_each_candidate(opened: Tab) -> None:
    panel = ".query-trace"
    stages = opened.texts(f"{panel} thead th")
    assert stages[0].startswith("Rank")
    assert stages[1].startswith("Candidate")
    assert len(stages) > 4
    assert "builtin classified this as a language query" in opened.text(f"{panel} .note")
    assert all("#" in text or "no match" in text for text in opened.texts(f"{panel} .stage"))
    _assert_arrows(opened.run(f"return [...document.querySelectorAll('{panel} tbody tr')].map({_STAGES})"))
    best = opened.texts(f"{panel} tbody tr:first-child td")
    assert best[0] == "1"
    opened.click(f"{panel} thead th:nth-child(3) button")
    assert opened.find(f"{panel} th[aria-sort]").get_attribute("aria-sort") == "descending"


_STAGES = "row => [...row.querySelectorAll('.stage')].map(one => one.lastChild.textContent)"


def _assert_arrows(rows: list[list[str]]) -> None:
    """Check that an arrow points up where a rank became better than it was a stage before."""
    signs = set()
    for row in rows:
        for before, after in pairwise(row):
            if found := re.fullmatch(r"#(\d+) ([↑↓])(\d+)", after):
                was, rank = int(before.split()[0][1:]), int(found[1])
                assert (found[2], int(found[3])) == ("↑" if rank < was else "↓", abs(rank - was))
                signs.add(found[2])
    assert signs == {"↑", "↓"}


def test_j_and_k_go_through_the_filtered_list_in_its_order(browser: Tab, sample: Path) -> None:
    tab = browser.open(
        (sample / "report.html").resolve().as_uri() + "#/queries?search=loans&sort=query&desc=1&form=all"
    )
    tab.find(".query-link")
    texts = tab.texts(".query-link")
    tab.click(".query-link")
    for place, text in enumerate(texts, start=1):
        _at(tab, place, texts)
        assert tab.text(".query-view h1") == text
        tab.keys("j")
    tab.keys("k")
    _at(tab, len(texts) - 1, texts)
    for _ in range(len(texts) + 1):
        tab.driver.back()
    tab.wait(lambda: tab.texts(".query-link") == texts, "the list did not come back")
    _quiet(tab)


def _at(tab: Tab, place: int, texts: list[str]) -> None:
    """Wait until the page is at this place of the list."""
    tab.wait(lambda: tab.texts(".query-nav .note") == [f"{place} of {len(texts)}"], f"query {place} was not shown")


def test_other_phrasings_are_a_step_away(opened: Tab) -> None:
    assert opened.texts(".phrasings a") == ["human", "keyword", "wrong_terminology"]
    opened.click(".phrasings li:nth-child(2) a")
    opened.wait(lambda: opened.texts(".query-view h1") == ["late fee days"])
    assert opened.text(".phrasings a[aria-current]") == "keyword"


def test_query_is_copied_as_markdown(opened: Tab) -> None:
    opened.run("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
    opened.click(".query-nav .copy")
    text = opened.wait(lambda: opened.run("return window.copied"))
    assert text.startswith("### what does a late book cost? \\<img src=x onerror=window.hacked=1\\>\n")
    assert f"- ✓ primary: `{HOSTILE_PATH}:6-9`" in text
    assert re.search(r"^\| 1 \| ✓ docs/fines\.md:\d+-\d+ \|", text, re.MULTILINE)
    assert "error: RuntimeError: no answer \\</script\\>" in text


def test_what_cannot_be_copied_is_shown_to_be_copied_by_hand(opened: Tab) -> None:
    opened.run("navigator.clipboard.writeText = () => Promise.reject(new Error('closed'))")
    opened.click(".query-nav .copy")
    assert opened.find("dialog textarea").get_attribute("value").startswith("### what does")


def test_a_page_without_source_and_traces_says_how_to_get_them(browser: Tab, sample: Path, tmp_path: Path) -> None:
    text = (sample / "report.html").read_text(encoding="utf-8")
    bare = re.sub(r'<script type="application/gzip" id="data-(sources|traces)">[^<]*</script>', "", text)
    (tmp_path / "bare.html").write_text(bare, encoding="utf-8")
    tab = _open(browser, tmp_path / "bare.html", LINK)
    for place, command in ((".query-source", "assay report DIR"), (".query-trace", "--traces")):
        (said,) = tab.texts(f"{place} .note")
        assert said.count("assay report DIR") == 1
        assert command in said
        assert said.endswith("DIR is the directory of the run.")
    assert len(tab.all(".ranking")) == 2
    _quiet(tab)


def test_query_fits_a_phone_in_the_dark(opened: Tab) -> None:
    opened.dark().resize(390, 844)
    assert opened.run("return document.documentElement.scrollWidth <= innerWidth")
    assert opened.axe(".query-rankings") == []
