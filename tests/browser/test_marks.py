"""What a page says of hits is what scoring says: repeated ones, those in the right file, and where others have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.experiment.places.texts import corpus_texts
from assay.report.analysis import analyse_case
from assay.report.case import open_case
from assay.report.explorer import PageLimits, build_page
from assay.scoring import score
from assay.scoring.moving import match_distinct
from assay.syntax.tokens import line_bytes
from assay.types import (
    Adversary,
    Claim,
    CorpusFacts,
    CorpusSpec,
    EngineRun,
    Gold,
    Header,
    Hit,
    Query,
    Ranking,
    Run,
    Span,
    Suite,
    Target,
)  # fmt: skip
from tests.browser.driving import Tab

pytestmark = pytest.mark.nightly

#: Two results of c.py are one at file level, so the trap stands at 2 and the answer at 3.
OLD = (Hit("c.py", 1, 5), Hit("c.py", 10, 15), Hit("b.py", 1, 5), Hit("a.py", 1, 9), Hit("a.py", 140, 160))
NEW = (Hit("c.py", 10, 15), Hit("a.py", 148, 155), Hit("c.py", 1, 5), Hit("b.py", 3, 9))
BESIDE = (Hit("a.py", 1, 50),)
ANSWERS = {"old": OLD, "new": NEW, "beside": BESIDE}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three queries of one kind over three long files."""
    folder = tmp_path_factory.mktemp("code")
    for name in "abc":
        (folder / f"{name}.py").write_text("".join(f"{name} = {line}\n" for line in range(1, 301)))
    spec = CorpusSpec("path", str(folder))
    trap = Adversary(Target(Span("b.py")), "sibling", "strong", "")
    wanted = (Target(Span("a.py", 150, 153), 2),)
    queries = tuple(Query(f"q{n}", {"human": f"where is {n}?"}, wanted, (trap,)) for n in range(3))
    engines = tuple(
        EngineRun(name, tuple(Ranking("g", query.id, "human", hits, (1,) * len(hits)) for query in queries))
        for name, hits in ANSWERS.items()
    )
    sizes = {path.name: line_bytes(path.read_text()) for path in folder.iterdir()}
    facts = {"g": CorpusFacts("r", None, open_corpus(spec).digest, 3)}
    return Run(Suite((Gold("g", spec, queries),)), 10, engines, {"g": sizes}, header=Header(corpora=facts, timed=False))


@pytest.fixture(scope="module")
def made(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page."""
    case = open_case(run, Claim(("nDCG@10", "RR@10"), "old"))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_bytes(build_page(case, analyse_case(case), texts=corpus_texts(run), limits=PageLimits(around=5)).data)
    return path


def opened(browser: Tab, made: Path, fragment: str, css: str) -> Tab:
    """Open a deep link and wait for what it shows."""
    browser.open("about:blank")  # so that it is read anew, not only its fragment
    tab = browser.open(made.resolve().as_uri() + fragment)
    tab.find(css)
    return tab


def test_ranks_of_the_displaced_are_those_of_the_measure(browser: Tab, made: Path, run: Run) -> None:
    tab = opened(browser, made, "#/report/adversaries?engine=old", "#section-adversaries .displaced table")
    cells = tab.run(
        "const rows = [...document.querySelectorAll('.displaced tbody tr')];"
        "return rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    assert [row[2:5] for row in cells] == [["2", "3", "1"]] * 3
    gaps = score(run, ["RankGap@10"]).values[0, 0]
    assert list(gaps) == [-1, -1, -1]
    assert "not listed" in tab.text(".displaced")


def test_moves_follow_the_rule_of_scoring(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/query/g/q0/human?engines=old,new", ".ranking .moved")
    said = tab.run(
        "return [...document.querySelectorAll('.ranking')[1].querySelectorAll('.hit')]"
        ".map(hit => [hit.querySelector('.rank').innerText, hit.querySelector('.moved')?.innerText ?? ''])"
    )
    assert [rank for rank, _ in said] == ["1", "2", "=", "3"]
    there = match_distinct(OLD, NEW, "file")
    assert there == {1: 1, 2: 3, 3: 2}
    assert {int(rank): int(re.sub(r".*#", "", moved)) for rank, moved in said if moved} == there
    assert "first answer at 3" in tab.text(".ranking")
    assert "A3" in tab.text(".source-file .badge.accent")
    assert [moved[0] for _, moved in said if moved] == ["=", "↑", "↓"]


def test_right_file_is_told_from_right_lines_and_the_answer_is_in_view(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/query/g/q0/human?engines=old,beside", ".ranking .badge.good")
    first, second = (one.text for one in tab.all(".ranking"))
    assert "✓ primary · right file, other lines" in first
    assert "Every answer is there." in first
    assert "✓ primary · right file, other lines" in second
    assert "The file of every answer is there, but not the lines of each." in second
    box = "const box = document.querySelector('.source-file[open] .code');"
    tab.wait(lambda: tab.run(f"{box} return box.scrollTop > 0"), "the source did not move to the answer")
    seen = tab.run(
        f"{box} const [inner, line] = [box, box.querySelector('.line.answer')].map(one => one.getBoundingClientRect());"
        "return line.top >= inner.top && line.bottom <= inner.bottom"
    )
    assert seen
    plain = opened(browser, made, "#/query/g/q0/human?engines=new", ".ranking .badge.good")
    assert "other lines" not in plain.text(".ranking")
    shown = plain.run("return [...document.querySelectorAll('.source-file .line.answer')].length")
    first = plain.run("return document.querySelector('.source-file[open] .line .number').textContent")
    assert (shown, first) == (4, "143"), "the page shows as many lines around a place as were put into it"


@pytest.mark.parametrize("address", ["#/__proto__", "#/constructor/x", "#/toString"])
def test_names_that_every_object_has_are_no_views(browser: Tab, made: Path, address: str) -> None:
    tab = opened(browser, made, address, "main h1")
    assert tab.text("main h1") == "Not here"
    assert tab.console_errors() == []


def test_warnings_stand_under_the_verdict_and_untimed_runs_have_no_empty_table(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/", "#section-inputs .facts")
    assert "Only 3 queries" in tab.text(".verdict .warning li")
    assert len(tab.all(".verdict .warning li")) <= 4
    assert "times are not comparable" in tab.text("#section-cost")
    assert "Time and space" not in tab.texts("#section-cost caption")


def test_what_is_chosen_stands_in_the_address_and_is_restored(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/report/differences?measure=RR%4010", "#section-differences select")
    chosen = "return document.querySelector('#section-differences select').value"
    assert tab.run(chosen) == "RR@10"
    tab.run("location.hash = '#/report/differences?measure=nDCG%4010'")
    tab.wait(lambda: tab.run(chosen) == "nDCG@10", "a link did not change what is chosen")
    tab.run(
        "const list = document.querySelector('#section-means select'); list.value = 'RR@10';"
        "list.dispatchEvent(new Event('change'))"
    )
    assert tab.run("return location.hash") == "#/report/means?measure=RR%4010"
    opened(browser, made, "#/report/means?measure=nothing", "#section-means select")
    assert tab.run("return document.querySelector('#section-means select').value") == "nDCG@10"
