"""Every number and picture of the report beside the ranks that it is made of, on a measure each way round."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay import score
from assay.report.publish import publish
from assay.types import AnalysisPlan
from tests.browser.driving import Tab, new_tab
from tests.browser.made_up import (
    BASE,
    FAILED,
    MEASURES,
    RIVAL,
    SIZES,
    TIMES,
    TOKENS,
    WEAK,
    failed,
    helped,
    leaks,
    made_run,
    rank_of,
    trapped,
    units,
)

pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Seen:
    """What a page showed, read once."""

    results: Any  # results.json
    tables: dict[str, list[list[str]]]
    forests: dict[str, list[dict[str, Any]]]
    scatters: dict[str, list[dict[str, Any]]]
    bars: dict[str, list[float]]
    texts: dict[str, str]
    copied: str
    errors: list[str]

    @property
    def primary(self) -> str:
        return str(self.results.comparison.primary)

    def chart(self, kind: str, word: str) -> list[dict[str, Any]]:
        """Give the marks of the first chart whose name holds a word."""
        charts: dict[str, list[dict[str, Any]]] = getattr(self, kind)
        return next(marks for name, marks in charts.items() if word in name)


READ = """
const each = (root, css, read) => [...root.querySelectorAll(css)].map(read);
const named = (css, read) => Object.fromEntries(
  each(document, css, (one) => [one.getAttribute('aria-label'), read(one)]).reverse());
const at = (root, css, name) => parseFloat(root.querySelector(css)?.getAttribute(name));
const text = (one) => one.innerText.replace(/\\s+/g, ' ').trim();
return {
  tables: named('.report table', (grid) => each(grid, 'tbody tr', (row) => [...row.children].map(text))),
  forests: named('.forest', (chart) => each(chart, '.forest-row:not(.forest-axis)', (row) => ({
    name: row.querySelector('.forest-name').firstChild.textContent, tone: row.classList[1],
    text: text(row.querySelector('.forest-text')), low: at(row, '.reach', 'x1'), high: at(row, '.reach', 'x2'),
    value: at(row, '.track > svg', 'x')}))),
  scatters: named('.scatter', (chart) => each(chart, '.point', (point) => ({
    tip: point.getAttribute('aria-label'), x: at(point, '.dot', 'cx'), y: at(point, '.dot', 'cy'),
    low: at(point, '.reach', 'y1'), high: at(point, '.reach', 'y2'),
    hollow: point.querySelector('.dot').classList.contains('hollow')}))),
  bars: named('.bars', (row) => each(row, '.bar-fill', (bar) => 100 - parseFloat(bar.getAttribute('y')))),
  texts: Object.fromEntries(each(document, '.report-section', (one) => [one.id, text(one)])),
}"""


@pytest.fixture(scope="module", params=MEASURES)
def seen(request: pytest.FixtureRequest, driver: Any, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The page of a claim, one load for all that is read from it."""
    path, results = write_page(tmp_path_factory.mktemp("numbers"), request.param)
    with opened(driver) as tab:
        tab.open(path)
        tab.wait(lambda: tab.all("#section-inputs .facts"), "the last section was not drawn")
        tab.wait(lambda: tab.all(".displaced table"), "the rankings were not read")
        tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        tab.run("document.querySelectorAll('.references').forEach(one => { one.click(); })")
        tab.run("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }")
        tab.click("#section-scores .copy")
        return Seen(results, **tab.run(READ), copied=tab.run("return window.copied"), errors=tab.console_errors())


@contextmanager
def opened(driver: Any) -> Iterator[Tab]:
    """Have a tab for as long as something is read from it."""
    yield from new_tab(driver)


def write_page(folder: Path, primary: str) -> tuple[Path, Any]:
    """Write the page of the run, claimed on one measure, and read results.json."""
    publish(made_run(), AnalysisPlan((primary, *(name for name in MEASURES if name != primary)), BASE), folder)
    text = (folder / "results.json").read_text("utf-8")
    return folder / "report.html", json.loads(text, object_hook=lambda given: SimpleNamespace(**given))


@cache
def headline_values() -> dict[tuple[str, str, str, int], float]:
    """Score the run, and see that ranks are those that were made up."""
    scores = score(made_run(), list(MEASURES))
    found = {
        (measure, engine, unit.gold, int(unit.query[1:])): float(scores.values[row, column, at])
        for row, engine in enumerate(scores.engines)
        for column, measure in enumerate(scores.measures)
        for at, unit in enumerate(scores.units)
        if unit.headline
    }
    assert all(
        found["RR@10", engine, g, n]
        == (0 if failed(engine, g, n) else pytest.approx(1 / rank_of(engine, g, n, "human")))
        for engine in TIMES
        for g, n in units()
    )
    return found


def value(measure: str, engine: str, gold: str, number: int) -> float:
    return headline_values()[measure, engine, gold, number]


def number(given: float, digits: int = 3) -> str:
    return f"{given:.{digits}f}".replace("-", "−")


def test_nothing_is_complained_of(seen: Seen) -> None:
    assert seen.errors == []
    assert all("Cannot draw this section" not in text for text in seen.texts.values())


def test_repositories_count_once_and_queries_count_once(seen: Seen) -> None:
    place = seen.results.measures.index("RR@10") + 1
    plain, macro = (
        {row[0].split()[0]: row[place].split()[0] for row in seen.tables[caption]}
        for caption in ("Scores: mean and interval of every engine on every measure", "Means over repositories")
    )
    for engine in TIMES:
        parts = {g: mean(value("RR@10", engine, g, n) for n in range(many)) for g, many in SIZES.items()}
        assert plain[engine] == number(mean(value("RR@10", engine, g, n) for g, n in units()))
        assert macro[engine] == number(mean(parts.values()))
        assert engine == WEAK or plain[engine] != macro[engine]


def test_marks_of_a_forest_stand_where_their_numbers_say(seen: Seen) -> None:
    comparison = seen.results.comparison
    charts = {
        "Means of": {row.engine: (row.mean, row.interval) for row in comparison.means if row.measure == seen.primary},
        "Differences on": {row.engine: (row.difference, row.interval) for row in comparison.rows},
        "by group": {item.value: (item.row.difference, item.row.interval) for item in seen.results.slices},
    }
    for word, known in charts.items():
        marks = seen.chart("forests", word)
        wanted = [known[mark["name"]] for mark in marks]
        assert len(marks) > 1
        true = [x for middle, interval in wanted for x in (interval.low, middle, interval.high)]
        drawn = [x for mark in marks for x in (mark["low"], mark["value"], mark["high"])]
        assert all(mark["low"] < mark["value"] < mark["high"] for mark in marks)
        slope, start = np.polyfit(true, drawn, 1)  # one straight axis for all of them, and it runs to the right
        assert slope > 0
        assert np.allclose(np.array(true) * slope + start, drawn, atol=0.05)


def test_slices_have_the_colour_of_their_sign_and_their_p(seen: Seen) -> None:
    drawn = {mark["name"]: mark for mark in seen.chart("forests", "by group")}
    higher = MEASURES[seen.primary]
    for part, is_helped in (("helped", True), ("hurt", False)):
        change = mean(gain(seen, g, n) for g, n in units() if helped(n) == is_helped)
        assert (change > 0) == is_helped
        interval = next(item.row.interval for item in seen.results.slices if item.value == part)
        excludes_zero = interval.low > 0 or interval.high < 0
        assert drawn[part]["tone"] == (("good" if is_helped else "bad") if excludes_zero else "plain")
        assert drawn[part]["text"].startswith("+" if is_helped == higher else "−")
    for item in seen.results.slices:
        assert item.row.p_adjusted is not None
        p = f"{item.row.p_adjusted:.4f}" if item.row.p_adjusted >= 0.0001 else "<0.0001"
        assert drawn[item.value]["text"].endswith(f", p {p}")


def gain(seen: Seen, gold: str, query: int) -> float:
    """Say by how much the rival beats the baseline on a query; more is better."""
    own, other = (value(seen.primary, name, gold, query) for name in (RIVAL, BASE))
    return own - other if MEASURES[seen.primary] else other - own


def test_comparisons_count_what_got_worse(seen: Seen) -> None:
    rows = {row[0]: row for row in seen.tables[f"Comparisons with {BASE}"]}
    gains = [gain(seen, g, n) for g, n in units()]
    losses, ties, wins = (sum(map(test, gains)) for test in (lambda x: x < 0, lambda x: x == 0, lambda x: x > 0))
    assert losses != wins
    assert rows[RIVAL][-2:] == [f"{wins}/{ties}/{losses}", f"{losses / len(gains) * 100:.0f}"]


def test_ranks_are_counted_and_drawn_bucket_by_bucket(seen: Seen) -> None:
    found = {
        engine: Counter(0 if failed(engine, g, n) else rank_of(engine, g, n, "human") for g, n in units())
        for engine in TIMES
    }
    counts = {engine: [*(ranks[r] for r in range(1, 11)), ranks[0]] for engine, ranks in found.items()}
    most = max(max(many) for many in counts.values())
    for engine, many in counts.items():
        assert seen.bars[f"Ranks of {engine}"] == pytest.approx([96 * n / most if n else 0 for n in many], abs=0.01)


def test_dots_of_the_better_stand_higher_and_the_front_is_filled(seen: Seen) -> None:
    means = {row.engine: row for row in seen.results.comparison.means if row.measure == seen.primary}
    higher = MEASURES[seen.primary]
    warm = {engine: times[1] for engine, times in TIMES.items()}
    costs = {"against latency": warm, "against tokens": {engine: 10 * n for engine, n in TOKENS.items()}}
    for word, cost in costs.items():
        points = {point["tip"].partition(":")[0]: point for point in seen.chart("scatters", word)}
        assert points.keys() == cost.keys()
        unit = " ms" if "latency" in word else ""
        for engine, point in points.items():
            assert re.search(rf", {cost[engine]}{unit}(;|$)", point["tip"])
            assert point["high"] < point["y"] < point["low"]  # pages count from the top
            better = [o for o in cost if o != engine and beats(means[o].mean, means[engine].mean, higher)]
            assert point["hollow"] == any(cost[other] <= cost[engine] for other in better)
        for engine, other in ((a, b) for a in cost for b in cost if cost[a] < cost[b]):
            assert points[engine]["x"] < points[other]["x"]
        ups = sorted(cost, key=lambda engine: means[engine].mean)
        assert [points[e]["y"] for e in ups] == sorted((points[e]["y"] for e in ups), reverse=True)
    assert (
        f"An engine {'above' if higher else 'below'} and to the left of another is better"
        in seen.texts["section-tradeoffs"]
    )


def beats(one: float, other: float, higher: bool) -> bool:
    return one > other if higher else one < other


def test_times_are_medians_of_warm_queries_and_megabytes_are_millions(seen: Seen) -> None:
    rows = {row[0].split()[0]: row for row in seen.tables["Time and memory"]}
    assert f"{TIMES[RIVAL][1]:.1f}" in rows[RIVAL]
    assert all("50.0" in row for row in rows.values())


def test_phrasings_have_means_inside_their_intervals(seen: Seen) -> None:
    table = {row[0].split()[0]: row[1:] for row in seen.tables["Measures over the phrasings of a query"]}
    for engine, cells in table.items():
        wanted = [one for one in seen.results.phrasings if one.engine == engine]
        assert cells == [f"{number(o.mean)} [{number(o.low, 2)}, {number(o.high, 2)}]" for o in wanted]
        assert all(one.low <= one.mean <= one.high for one in wanted)


def test_who_else_was_misled_is_counted(seen: Seen) -> None:
    rows = next(
        rows for caption, rows in seen.tables.items() if caption.startswith("Queries whose target was outranked")
    )
    asked = {f"q{n}": n for _, n in units()}
    assert len(rows) >= 6
    for row in rows:  # the first twelve are drawn
        number = asked[row[0].split()[0].removesuffix("large").removesuffix("small")]
        others = sum(is_displaced(engine, number) for engine in (BASE, WEAK))
        assert is_displaced(RIVAL, number)
        assert row[5] == f"{others} of 2"


def is_displaced(engine: str, number: int) -> bool:
    """Say whether the adversary stands above the answer."""
    return trapped(engine, number) and rank_of(engine, "large", number, "human") > 1


def one_digit(given: float) -> str:
    """Write one significant digit without an exponent."""
    return f"{float(f'{given:.1g}'):g}"


def test_limits_say_all_that_went_wrong(seen: Seen) -> None:
    row = next(row for row in seen.results.comparison.rows if row.engine == RIVAL)
    text = seen.texts["section-limits"]
    assert (
        f"between {RIVAL} and {BASE} below about {one_digit(row.mde)} (the MDE) would probably have been missed" in text
    )
    assert seen.tables["Gold set problems"] == [[name, f"{name} is odd"] for name in SIZES]
    assert seen.tables["Engines not run"] == [["absent", "no licence"]]
    (breach,) = seen.tables["Contract violations"]
    answers = 2 * (sum(SIZES.values()) - FAILED)
    assert breach[:4] == [WEAK, "hits name no file: /tmp/x", str(answers), f"{2 * answers} of {10 * answers}"]
    assert f"{WEAK} on large {WEAK} muttered" in text


def test_a_bar_in_a_name_is_no_column_of_a_copied_table(seen: Seen) -> None:
    lines = seen.copied.splitlines()
    columns = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert any(line.startswith("| we\\|ak |") for line in lines)
    assert len(set(columns)) == 1


def test_leaks_are_marked_and_found(driver: Any, tmp_path: Path) -> None:
    path, _ = write_page(tmp_path, "RR@10")
    many = sum(leaks(n) for _, n in units())
    with opened(driver) as tab:
        tab.open(f"{path.resolve().as_uri()}#/queries?leak=yes")
        tab.wait(lambda: len(tab.all(".query-link")) == many, "not the queries with a leak")
        tab.go("#/queries?leak=no")
        tab.wait(lambda: len(tab.all(".query-link")) == sum(SIZES.values()) - many, "not the queries without")
        for query in (4, 5):
            tab.go(f"#/query/large/q{query}/human")
            tab.wait(partial(_asks, tab, query), "not this query")
            assert any(text.startswith("leakage:") for text in tab.texts(".chips .badge")) == leaks(query)


def _asks(tab: Tab, query: int) -> bool:
    """Tell whether the page of a query stands."""
    return any(text.endswith(f", {query}?") for text in tab.texts(".query-view h1"))
