"""The report as people see it: every section in a browser, its numbers held against results.json."""

import base64
import json
import re
from collections import Counter
from csv import DictReader
from dataclasses import replace
from urllib.parse import parse_qs, quote

import pytest

from assay.report.publish import publish
from assay.types import AnalysisPlan, Status
from tests.browser.sample import BASELINE, HOSTILE_ENGINE, IMAGE, SHOWN_ENGINE
from tests.report.labs import lab

pytestmark = pytest.mark.nightly

SECTIONS = [
    "scores", "means", "differences", "wins", "ranks", "tradeoffs", "groups", "phrasings", "adversaries",
    "limits", "cost", "inputs",
]  # fmt: skip
PRIMARY = "nDCG@10"
PHONE = 390


@pytest.fixture(scope="module")
def results(sample):
    return json.loads((sample / "results.json").read_text(encoding="utf-8"))


@pytest.fixture
def report(browser, sample):
    """The page of the sample, all of it drawn; one that is open is taken as it is, whatever was chosen in it."""
    path = sample / "report.html"
    there = browser.run("return location.href").partition("#")[0] == path.resolve().as_uri()
    return browser if there else drawn(browser.open(path))


def drawn(tab):
    """Wait until the last section is there, and what the adversaries did is read from the rankings."""
    tab.wait(lambda: tab.all("#section-inputs .facts"), "the last section was not drawn")
    tab.run("document.querySelector('.displaced')?.scrollIntoView()")  # rankings are read when somebody comes near
    tab.wait(lambda: "Reading the rankings" not in " ".join(tab.texts(".displaced")), "the rankings were not read")
    return tab


def written(tab, css):
    """The rows of a table as texts, the first that matches: what people see, cell by cell."""
    return tab.run(
        "const rows = [...document.querySelector(arguments[0]).querySelectorAll('tbody tr')];"
        "return rows.map(r => [...r.children].map(c => c.innerText.replace(/\\s+/g, ' ').trim()))",
        css,
    )


def forest(tab, section):
    """The rows of a section's first forest: name and numbers."""
    return tab.run(
        "const rows = [...document.querySelector(arguments[0]).querySelectorAll('.forest-row:not(.forest-axis)')];"
        "return rows.map(r => ['name', 'text'].map(part => r.querySelector('.forest-' + part).textContent))",
        f"#section-{section} .forest",
    )


def choose(tab, section, label, value):
    """Choose from the list that has a label, as a person does."""
    tab.run(
        "const label = [...document.querySelectorAll(arguments[0] + ' .pick label')]"
        ".find(one => one.textContent === arguments[1]);"
        "const list = document.getElementById(label.htmlFor);"
        "if (![...list.options].some(one => one.value === arguments[2])) throw Error('no option ' + arguments[2]);"
        "list.value = arguments[2]; list.dispatchEvent(new Event('change'))",
        f"#section-{section}",
        label,
        value,
    )


def number(value, digits=3):
    """A number as the page writes it."""
    text = f"{abs(value):.{digits}f}"
    return f"−{text}" if value < 0 and float(text) else text


def signed(value, digits=3):
    return f"+{number(value, digits)}" if value > 0 and float(f"{value:.{digits}f}") else number(value, digits)


def mean_text(mean, low, high):
    return f"{number(mean)} [{number(low, 2)}, {number(high, 2)}]"


def difference_text(row):
    return f"{signed(row['difference'])} [{signed(row['interval']['low'])}, {signed(row['interval']['high'])}]"


def mde_text(row):
    return f"{row['mde']:.1g}" if row["mde"] else "none"


def tamed(text):
    """A text as the page writes it: what steers a screen has a shape."""
    return text.replace("\u202e", "\ufffd")


def means_of(results, measure):
    return {tamed(row["engine"]): row for row in results["comparison"]["means"] if row["measure"] == measure}


def page_of(folder, run, plan):
    """Write the page of a run that was made up."""
    counted = (
        replace(e, rankings=tuple(replace(r, tokens=(1,) * len(r.hits)) for r in e.rankings)) for e in run.engines
    )
    publish(replace(run, engines=tuple(counted)), plan, folder / "results")
    return folder / "results/report.html"


def shown_sections(tab):
    return [
        name.removeprefix("section-")
        for name in tab.run("return [...document.querySelectorAll('.report-section')].map(e => e.id)")
    ]


def test_every_section_is_drawn_and_named_in_the_navigation_and_nothing_is_asked_for(browser, sample):
    report = drawn(browser.open(sample / "report.html"))
    assert shown_sections(report) == SECTIONS
    assert report.texts(".side-sections a") == report.texts(".report-section > h2")
    assert "Cannot draw this section" not in report.run("return document.body.innerText")
    assert report.console_errors() == []
    assert report.requests() == []


def test_names_and_texts_that_others_wrote_are_shown_as_text(report):
    assert SHOWN_ENGINE in report.texts("#section-scores .engine-name")
    assert SHOWN_ENGINE in report.texts(".overview .engine-name")
    assert any(IMAGE in text for text in report.texts("#section-phrasings .query-text"))
    assert any(IMAGE in text for text in report.texts("#section-adversaries .adversary-cell"))
    assert report.run("return window.hacked") is None
    assert not report.all(".report img, .report script, .report b")


#: Parts of the first screen, which must end above the fold of a window of 1400 by 900.
FIRST_SCREEN = (".verdict h1", ".answer", ".overview .forest", ".overview table")


def test_first_screen_shows_the_verdict_the_differences_and_the_scores(browser, sample, results):
    report = drawn(browser.resize(1400, 900).open(sample / "report.html"))
    decision = results["decision"]
    low, high = (number(decision[end], 2) for end in ("low", "high"))
    means = " → ".join(number(decision[name]["mean"]) for name in ("baseline", "candidate"))
    answer = f"{means}, difference {signed(decision['difference'])} (95% CI {low} to {high})"
    assert report.text(".answer").startswith(answer)
    assert f"{decision['candidate']['name']} " in report.text(".verdict h1")
    assert f"Scope: {decision['scope']}" in report.text(".verdict")
    assert report.text(".verdict .warning-link").startswith(f"{len(results['warnings'])} warning")
    assert not any(tamed(text) in report.text(".verdict") for text in results["warnings"])  # the limitations have them
    bottoms = report.run(
        "return arguments[0].map(css => document.querySelector(css).getBoundingClientRect().bottom)", FIRST_SCREEN
    )
    assert max(bottoms) < 900
    drawn_names = report.texts(".overview .forest-row:not(.forest-axis) .forest-name")
    assert set(drawn_names) == {"builtin", SHOWN_ENGINE}
    rows = {row[0].split(" baseline")[0]: row[1:] for row in written(report, ".overview table")}
    assert set(rows) == {"builtin", BASELINE, SHOWN_ENGINE}  # random is a reference
    mean = means_of(results, PRIMARY)["builtin"]
    compared = next(row for row in results["comparison"]["rows"] if row["engine"] == "builtin")
    median = next(row["warm_ms"] for row in results["spending"] if row["engine"] == "builtin")
    assert rows["builtin"][0] == mean_text(mean["mean"], mean["interval"]["low"], mean["interval"]["high"])
    assert rows["builtin"][1] == f"{compared['wins']}/{compared['ties']}/{compared['losses']}"
    assert rows["builtin"][2:] == ([f"{median:,.1f}"] if results["header"]["timed"] else [])


#: What one property of the elements inside another is, as the browser computes it; the text without a property.
COMPUTED = """
const found = [...document.querySelector(arguments[0]).querySelectorAll(arguments[1])];
return found.map(one => arguments[2] ? getComputedStyle(one)[arguments[2]] : one.textContent);
"""


def test_every_engine_has_one_color_in_tables_and_charts(report):
    table = "#section-scores table"
    names = report.run(COMPUTED, table, ".engine-name", "")
    colors = report.run(COMPUTED, table, ".swatch-dot", "backgroundColor")
    known = dict(zip(names, colors, strict=True))
    assert len(set(colors)) == len(names) >= 3
    for chart, name in ((".overview .forest", ".forest-name"), ("#section-tradeoffs .scatter", ".point-name")):
        shown = report.run(COMPUTED, chart, name, "")
        marks = report.run(COMPUTED, chart, ".dot", "stroke")
        assert {name: known[name] for name in shown} == dict(zip(shown, marks, strict=True))


def test_dots_of_a_chart_all_have_visible_names(report):
    assert set(report.run(COMPUTED, "#section-tradeoffs", ".point-name", "visibility")) == {"visible"}
    assert all(report.run(COMPUTED, "#section-tradeoffs", ".point-name", ""))


def test_rows_of_queries_open_their_query_from_any_cell(browser, sample):
    report = drawn(browser.open(sample / "report.html"))
    row = "#section-wins .chosen tr.row-link"
    assert report.run(f"return getComputedStyle(document.querySelector('{row}')).cursor") == "pointer"
    report.run(f"document.querySelector('{row} td:last-child').click()")
    report.find(".query-view")
    report.go("#/queries")
    report.find(".queries-view .query-id").click()
    report.find(".query-view")


def test_a_wide_table_fades_where_columns_are_hidden(browser, sample):
    report = drawn(browser.resize(700, 900).open(sample / "report.html"))
    box = "document.querySelector('#section-scores .table-scroll')"
    assert report.run(f"return {box}.className") == "table-scroll hides-right"
    report.run(f"{box}.scrollTo(9999, 0)")
    report.wait(lambda: report.run(f"return {box}.className") == "table-scroll hides-left", "the end has no other mark")
    left = f"return {box}.querySelector('tbody th').getBoundingClientRect().left - {box}.getBoundingClientRect().left"
    assert report.run(left) == pytest.approx(0, abs=1)


def test_scores_have_every_mean_with_its_interval_and_are_sorted_by_their_headers(report, results):
    report.click("#section-scores .references")
    rows = {
        row[0].removesuffix(" baseline").removesuffix(" floor"): row[1:]
        for row in written(report, "#section-scores table")
    }
    for place, measure in enumerate(results["measures"]):
        found = means_of(results, measure)
        assert {name: cells[place] for name, cells in rows.items()} == {
            name: mean_text(row["mean"], row["interval"]["low"], row["interval"]["high"]) for name, row in found.items()
        }
    report.click("#section-scores thead th:nth-child(2) button")
    assert report.find("#section-scores thead th:nth-child(2)").get_attribute("aria-sort") == "descending"
    down = [row[1] for row in written(report, "#section-scores table")]
    report.click("#section-scores thead th:nth-child(2) button")
    assert [row[1] for row in written(report, "#section-scores table")] == down[::-1] != down


def test_means_are_drawn_for_the_measure_that_is_chosen(report, results):
    for measure in (PRIMARY, "RecallAtTokens(500)"):
        choose(report, "means", "Measure", measure)
        texts = {
            name: mean_text(row["mean"], row["interval"]["low"], row["interval"]["high"])
            for name, row in means_of(results, measure).items()
        }
        del texts["random"]  # folded
        assert {name.split(" baseline")[0]: text for name, text in forest(report, "means")} == texts
    place = "return document.querySelector('#section-means .forest-row .dot').closest('svg svg').getAttribute('x')"
    assert 50 < float(report.run(place).rstrip("%")) <= 100  # the best stands on top, far right


def test_differences_show_verdict_p_and_mde(report, results):
    rows = {row["engine"]: row for row in results["comparison"]["rows"]}
    drawn_rows = dict(forest(report, "differences"))
    assert set(drawn_rows) == {"builtin", SHOWN_ENGINE}  # the floor would only stretch the axis
    for name, shown in (("builtin", "builtin"), (HOSTILE_ENGINE, SHOWN_ENGINE)):
        assert drawn_rows[shown].startswith(difference_text(rows[name]))
        assert drawn_rows[shown].endswith(rows[name]["verdict"])
    cells = next(row for row in written(report, "#section-differences table") if row[0] == "builtin")
    row = rows["builtin"]
    assert cells[2:7] == [
        difference_text(row),
        f"{row['p_adjusted']:.4f}",
        f"{row['p']:.4f}",
        mde_text(row),
        f"{row['wins']}/{row['ties']}/{row['losses']}",
    ]
    choose(report, "differences", "Measure", "Hit@1")
    assert all(
        verdict not in " ".join(text for _, text in forest(report, "differences")) for verdict in ("better", "worse")
    )


def test_wins_count_as_the_comparison_does_and_list_the_worst_first(report, results, sample):
    row = next(one for one in results["comparison"]["rows"] if one["engine"] == HOSTILE_ENGINE)
    choose(report, "wins", "Engine", HOSTILE_ENGINE)
    counts = (
        f"better on {row['wins']}, the same on {row['ties']} and worse on {row['losses']} of {row['queries']} queries."
    )
    assert report.text("#section-wins .balance") == f"{SHOWN_ENGINE} is {counts}"
    assert quote(HOSTILE_ENGINE, safe="") in report.run("return location.hash").replace("+", "%20")
    assert row["wins"] != row["losses"]  # else the two could be taken for each other
    listed = written(report, "#section-wins .chosen table")
    differences = [float(cells[1][2:].replace("−", "-")) for cells in listed]
    assert len(listed) == row["wins"] + row["losses"]
    assert differences == sorted(differences)
    assert differences[0] < 0
    truth = values(sample, PRIMARY)
    gaps = sorted(
        truth[HOSTILE_ENGINE, key] - truth[BASELINE, key]
        for e, key in truth
        if e == HOSTILE_ENGINE and key[2] == "human"
    )
    assert differences[0] == pytest.approx(gaps[0], abs=0.0005)
    choose(report, "wins", "against", HOSTILE_ENGINE)
    assert "two different" in report.text("#section-wins .chosen")
    report.click(".side-sections a[data-section=wins]")  # a link that chooses nothing shows what was there at first
    report.wait(lambda: report.texts("#section-wins .balance strong") == ["builtin"], "the choices did not go back")
    assert report.run("return location.hash") == "#/report/wins"


def values(sample, measure):
    """The values of per-query.csv, which no page had a hand in."""
    with (sample / "per-query.csv").open(encoding="utf-8", newline="") as file:
        rows = list(DictReader(file))
    return {(r["engine"], (r["gold"], r["query"], r["form"])): float(r[measure]) for r in rows if r[measure]}


def test_ranks_show_shares_and_counts(report, results):
    item = next(one for one in results["ranks"] if one["engine"] == "builtin")
    total = sum(item["counts"]) + item["missed"]
    cells = next(row for row in written(report, "#section-ranks table") if row[0] == "builtin")
    assert cells[2] == f"{item['counts'][0] / total:.0%}"
    assert cells[-1].startswith(f"{item['missed']} (")
    bars = "[...document.querySelector('#section-ranks .bars').querySelectorAll('.bar')]"
    tips = report.run(f"return {bars}.map(bar => bar.getAttribute('aria-label'))")
    assert tips[0].startswith(f"rank 1: {item['counts'][0]} of {total}")
    assert tips[-1].startswith("not found")


def test_groups_have_every_cut_with_its_intervals(report, results):
    cuts = {cut["by"]: cut for cut in results["breakdowns"]}
    assert {"category", "form", "repository", "words shared with the answer's path or symbol"} <= set(cuts)
    options = "[...document.querySelector('#section-groups select').options]"
    listed = report.run(f"return {options}.map(one => [one.value, one.textContent])")
    assert listed[0][1] == "category (2)"
    for option, label in listed:
        cut = cuts[label.rpartition(" (")[0]]
        choose(report, "groups", "By", option)
        cells = next(row for row in written(report, "#section-groups table") if row[0] == "builtin")
        groups = [one for one in cut["groups"] if one["engine"] == "builtin"]
        assert cells[1:] == [mean_text(one["mean"], one["low"], one["high"]) for one in groups]


def test_phrasings_have_a_row_an_intent_and_a_column_a_form_widest_spread_first(report, sample):
    truth = values(sample, PRIMARY)
    intents = {(gold, query) for _, (gold, query, _) in truth}
    for engine in ("builtin", "random", HOSTILE_ENGINE):
        choose(report, "phrasings", "Engine", engine)
        rows = written(report, "#section-phrasings .chosen table")
        spreads = [float(row[1]) for row in rows]
        assert len(rows) == len(intents)
        assert spreads == sorted(spreads, reverse=True)
        of_rows = Counter(tuple(row[2:5]) for row in rows)
        forms = ("human", "keyword", "wrong_terminology")
        assert of_rows == Counter(tuple(number(truth[engine, (g, q, form)]) for form in forms) for g, q in intents)


def test_adversaries_show_who_displaced_whom(report, results):
    traps = {t["engine"]: t for t in results["adversaries"] if t["by"] == "all"}
    report.run("document.querySelector('#section-adversaries .references').click()")
    cells = next(row for row in written(report, "#section-adversaries table") if row[0].startswith("random"))
    found = f"{traps['random']['found']:.0%}"
    assert cells[1:4] == ["12", found, number(traps["random"]["displacement"])]
    choose(report, "adversaries", "Engine", HOSTILE_ENGINE)
    link = report.run("return document.querySelector('.displaced a').getAttribute('href')")
    assert parse_qs(link.partition("?")[2])["engines"] == [quote(HOSTILE_ENGINE, safe="~()*!'")]
    choose(report, "adversaries", "Engine", "random")
    listed = written(report, "#section-adversaries .displaced table")
    assert len(listed) == round(traps["random"]["displacement"] * traps["random"]["queries"])
    assert all("strong sibling" in row[1] for row in listed)
    falls = [int(row[4]) for row in listed]
    assert falls == sorted(falls, reverse=True)
    assert all(fall > 0 for fall in falls)
    assert all(int(row[2]) < (11 if row[3] == "not found" else int(row[3])) for row in listed)


def test_limits_say_every_warning_failure_and_what_is_left_out(report, results):
    text = report.text("#section-limits")
    page = report.run("return document.querySelector('main').innerText")
    for sentence in [*results["warnings"], *results["comparison"]["notes"]]:
        assert tamed(sentence).replace("`", "") in text
        assert page.count(tamed(sentence).replace("`", "")) == 1
    mishap = written(report, "#section-limits table")[0]
    assert mishap[1:4] == ["error", str(results["failed_queries"][0]["queries"]), "17%"]
    assert "Not in this file" in text


def test_cost_and_inputs_repeat_the_records(report, results):
    row = next(one for one in results["spending"] if one["engine"] == "builtin")
    cells = next(cells for cells in written(report, "#section-cost table") if cells[0] == "builtin")
    assert f"{row['index_seconds']:.2f}" in cells
    assert f"{row['warm_p95_ms']:,.1f}" in cells
    golds = results["header"]["corpora"]
    assert [row[0] for row in written(report, "#section-inputs table")] == list(golds)
    assert results["header"]["gold_hash"] in report.text("#section-inputs .facts")


def test_a_deep_link_opens_the_report_at_its_section(browser, sample):
    browser.open(f"{(sample / 'report.html').resolve().as_uri()}#/report/limits")
    on_top(browser, "limits")
    browser.go("#/report/ranks")
    on_top(browser, "ranks")
    browser.open(f"{(sample / 'report.html').resolve().as_uri()}#/report/adversaries?engine=random")
    browser.find(".displaced table")  # drawn when the rankings are read, long after the address was
    assert browser.run("return document.querySelector('.displaced select').value") == "random"


def test_a_section_that_is_read_stays_in_sight_when_the_rankings_above_it_arrive(browser, sample):
    browser.open(sample / "report.html")
    browser.wait(lambda: browser.all("#section-inputs .facts"))
    top = "document.querySelector('#section-limits').getBoundingClientRect().top"
    browser.run(f"scrollTo(0, scrollY + {top} - 200)")
    browser.wait(lambda: browser.all(".displaced table"), "the rankings were not read")
    assert browser.run(f"return {top}") == pytest.approx(200, abs=5)


def test_back_from_a_query_leads_to_where_the_report_was_left(browser, sample):
    report = drawn(browser.open(sample / "report.html"))
    report.run("document.querySelector('#section-wins .query-cell a').scrollIntoView({block: 'center'})")
    report.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    left = report.run("return scrollY")
    report.run("document.querySelector('#section-wins .query-cell a').click()")
    report.find(".query-view")
    report.driver.back()
    report.find("#section-wins")
    assert left > 500
    report.wait(lambda: abs(report.run("return scrollY") - left) < 5, "the report was not where it was left")


def on_top(tab, section):
    """Wait until a section stands under the bar."""
    top = f"return document.querySelector('#section-{section}').getBoundingClientRect().top"
    tab.wait(lambda: 0 <= tab.run(top) < 200, f"{section} is not on top")


def test_marks_of_a_chart_are_walked_by_arrows_and_say_their_numbers(report):
    report.run("document.querySelector('#section-means .mark').focus()")
    first = report.text("#chart-tip")
    assert first.startswith("builtin: ")
    report.keys("\ue015")  # arrow down
    assert report.text("#chart-tip").startswith(f"{BASELINE}: ")
    assert (
        report.run(
            "return document.querySelector('#section-means .forest').querySelectorAll('[tabindex=\"0\"]').length"
        )
        == 1
    )
    report.keys("\ue00c")  # escape
    assert report.all("#chart-tip")[0].get_attribute("hidden") is not None


def test_axe_finds_nothing_serious_in_light_nor_dark(browser, sample):
    drawn(browser.dark(False).open(sample / "report.html"))
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.axe() == []
    browser.dark(True)
    assert browser.axe("#section-differences") + browser.axe("#section-groups") + browser.axe("#section-limits") == []


#: The numbers of axes that are cut off, by their own drawing or by the edge of what is printed.
CUT_LABELS = """
const edge = document.querySelector('main .report').getBoundingClientRect();
return [...document.querySelectorAll('.forest-axis text')].filter(text => {
  const box = text.getBoundingClientRect();
  const cut = getComputedStyle(text.ownerSVGElement).overflow !== 'visible';
  return cut || box.left < edge.left || box.right > edge.right;
}).map(text => text.textContent)
"""


def test_on_a_phone_nothing_but_tables_scrolls_sideways(browser, sample):
    drawn(browser.resize(PHONE).open(sample / "report.html"))
    assert browser.run(CUT_LABELS) == []
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") == PHONE
    wide = "return [...document.querySelectorAll('.table-scroll')].filter(e => e.scrollWidth > e.clientWidth).length"
    assert browser.run(wide) > 0


def test_printing_has_every_section_and_no_navigation(browser, sample):
    browser.open(sample / "report.html")  # at once: what is not drawn yet is drawn for the printer
    browser.wait(lambda: browser.all(".report-section"))
    given = {"printBackground": True, "generateTaggedPDF": True, "generateDocumentOutline": True}
    pdf = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", given)["data"])
    outline = [title.decode("latin-1") for title in re.findall(rb"/Title \(([^)]*)\)", pdf)]
    titles = browser.texts(".report-section > h2")
    assert [title for title in outline if title in titles] == titles
    assert shown_sections(browser) == SECTIONS
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not any(one.is_displayed() for one in browser.all(".side, .topbar, .copy"))
    assert browser.run(CUT_LABELS) == []
    assert browser.run("return getComputedStyle(document.querySelector('.report thead th')).position") == "static"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_one_engine_alone_has_no_comparison_and_breaks_nothing(browser, tmp_path):
    drawn(browser.open(page_of(tmp_path, lab({"only": [1, 2, 0, 3] * 3}), AnalysisPlan(("RR@10", "Hit@1"), "only"))))
    assert not {"differences", "wins", "phrasings", "adversaries", "tradeoffs"} & set(shown_sections(browser))
    assert {"scores", "means", "ranks", "limits", "inputs"} <= set(shown_sections(browser))
    assert browser.texts(".side-sections a") == browser.texts(".report-section > h2")
    assert "0.458" in browser.text(".overview .forest")
    assert "0.458" in browser.text(".verdict h1")
    assert browser.console_errors() == []


def test_engines_that_answered_nothing_are_marked_and_not_compared(browser, tmp_path):
    made = lab({"base": [1, 2, 0, 3] * 3, "dead": [0] * 12, "other": [1] * 12})
    crashed = (replace(r, hits=(), status=Status.CRASH, error="gone") for r in made.engines[1].rankings)
    dead = replace(made.engines[1], rankings=tuple(crashed))
    run = replace(made, engines=(made.engines[0], dead, made.engines[2]))
    drawn(browser.open(page_of(tmp_path, run, AnalysisPlan(("RR@10", "Hit@1"), "base"))))
    assert "dead failed" in [row[0] for row in written(browser, "#section-scores table")]
    assert "every query failed: dead" in browser.text("#section-differences")
    assert [name for name, _ in forest(browser, "differences")] == ["other"]
    assert "gone" in browser.text("#section-limits")
    assert browser.console_errors() == []


def test_a_baseline_that_failed_is_said_to_be_why_nothing_is_compared(browser, tmp_path):
    made = lab({"base": [0] * 12, "other": [1] * 12})
    crashed = (replace(r, hits=(), status=Status.CRASH, error="gone") for r in made.engines[0].rankings)
    run = replace(made, engines=(replace(made.engines[0], rankings=tuple(crashed)), made.engines[1]))
    browser.open(page_of(tmp_path, run, AnalysisPlan(("RR@10", "Hit@1"), "base")))
    assert "base failed on every query" in browser.text("h1")
    assert browser.text(".verdict .badge") == "Failed"


def test_tables_that_a_run_asked_for_are_there(browser, tmp_path):
    run = lab({"base": [1, 2, 0, 3] * 9, "one": [2] * 36, "two": [1] * 36}, repositories=3)
    plan = AnalysisPlan(("RR@10", "Hit@1"), "base", tables=("matrix", "ranks"))
    drawn(browser.open(page_of(tmp_path, run, plan)))
    assert "tables" in shown_sections(browser)
    assert len(browser.all("#section-tables table")) >= 2
    assert browser.console_errors() == []
