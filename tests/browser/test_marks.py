"""What a page says of hits is what scoring says: repeated ones, those in the right file, and where others have them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay import Hit, score
from assay.experiment import read_run
from tests.browser.driving import Tab
from tests.running import run_experiment
from tests.sharing import shared_folder

pytestmark = pytest.mark.nightly

#: Two results of c.py are one at file level, so the trap stands at 2 and the answer at 3.
OLD = (Hit("c.py", 1, 5), Hit("c.py", 10, 15), Hit("b.py", 1, 5), Hit("a.py", 1, 9), Hit("a.py", 140, 160))
NEW = (Hit("c.py", 10, 15), Hit("a.py", 148, 155), Hit("c.py", 1, 5), Hit("b.py", 3, 9))
BESIDE = (Hit("a.py", 1, 50),)
RUN = """\
[run]
gold = "gold.yaml"
references = false
level = "file"
baseline = "old"
measures = ["nDCG@10", "RR@10"]
times = false

"""


def old(query: str, k: int) -> list[Hit]:
    return list(OLD)


def new(query: str, k: int) -> list[Hit]:
    return list(NEW)


def beside(query: str, k: int) -> list[Hit]:
    return list(BESIDE)


def _make(folder: Path) -> None:
    """Ask three queries of one kind over three long files."""
    (folder / "code").mkdir()
    for name in "abc":
        (folder / f"code/{name}.py").write_text("".join(f"{name} = {line}\n" for line in range(1, 301)))
    queries = "".join(
        f"  - id: q{n}\n    retrieval: {{primary: ['a.py:150-153']}}\n    cognitive: {{human: where is {n}?}}\n"
        "    interference: [{target: b.py, relationship: sibling, strength: strong, confusion: it looks alike}]\n"
        for n in range(3)
    )
    (folder / "gold.yaml").write_text(f"assay: 1\nname: g\ncorpus: {{path: code}}\nqueries:\n{queries}")
    engines = "".join(
        f'[engines.{name}]\nkind = "python"\ntarget = "tests.browser.test_marks:{name}"\n'
        for name in ("old", "new", "beside")
    )
    run_experiment(RUN + engines, folder, folder / "results")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the run."""
    return shared_folder(tmp_path_factory, "marks", _make) / "results/report.html"


def opened(browser: Tab, made: Path, fragment: str, css: str) -> Tab:
    """Open a deep link and wait for what it shows."""
    browser.open("about:blank")  # so that it is read anew, not only its fragment
    tab = browser.open(made.resolve().as_uri() + fragment)
    tab.find(css)
    return tab


def test_ranks_of_the_displaced_are_those_of_the_measure(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/report/adversaries?engine=old", "#section-adversaries .displaced table")
    cells = tab.run(
        "const rows = [...document.querySelectorAll('.displaced tbody tr')];"
        "return rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    assert [row[2:5] for row in cells] == [["2", "3", "1"]] * 3
    gaps = score(read_run(made.parent), ["RankGap@10"]).values[0, 0]
    assert list(gaps) == [-1, -1, -1]
    assert "not listed" in tab.text(".displaced")


def test_moves_follow_the_rule_of_scoring(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/query/g/q0/human?engines=old,new", ".ranking .moved")
    said = tab.run(
        "return [...document.querySelectorAll('.ranking')[1].querySelectorAll('.hit')]"
        ".map(hit => [hit.querySelector('.rank').innerText, hit.querySelector('.moved')?.innerText ?? ''])"
    )
    assert [rank for rank, _ in said] == ["1", "2", "=", "3"]
    assert {int(rank): int(re.sub(r".*#", "", moved)) for rank, moved in said if moved} == {1: 1, 2: 3, 3: 2}
    assert "first target at 3" in tab.text(".ranking")
    assert "A3" in tab.text(".source-file .badge.accent")
    assert [moved[0] for _, moved in said if moved] == ["=", "↑", "↓"]


def test_right_file_is_told_from_right_lines_and_the_answer_is_in_view(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/query/g/q0/human?engines=old,beside", ".ranking .badge.good")
    first, second = (one.text for one in tab.all(".ranking"))
    assert "✓ primary · right file, other lines" in first
    assert "All targets were found." in first
    assert "✓ primary · right file, other lines" in second
    assert "The files of all targets were found, but not all of their lines." in second
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
    assert (shown, first) == (4, "145"), "three lines before the place"


@pytest.mark.parametrize("address", ["#/__proto__", "#/constructor/x", "#/toString"])
def test_names_that_every_object_has_are_no_views(browser: Tab, made: Path, address: str) -> None:
    tab = opened(browser, made, address, "main h1")
    assert tab.text("main h1") == "Not found"
    assert tab.console_errors() == []


def test_warnings_are_counted_under_the_verdict_and_untimed_runs_have_no_empty_table(browser: Tab, made: Path) -> None:
    tab = opened(browser, made, "#/", "#section-inputs .facts")
    assert tab.text(".verdict .warning-link") == f"{len(tab.all('#section-limits .warning li'))} warnings"
    assert "Only 3 queries" in tab.text("#section-limits .warning li")
    assert "Median (ms)" not in tab.text(".overview table")
    assert "times are not comparable" in tab.text("#section-cost")
    assert "Time and memory" not in tab.texts("#section-cost caption")


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
