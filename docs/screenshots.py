"""Take the pictures of the documentation: `python -m docs.screenshots [RESULTS]`, with the browser of the tests.

Without a folder of results the demo is run first, which takes some minutes: Python's standard library, the set that
ships. The review is that of proposals from the comments of a part of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.browser.driving import Tab, start

IMAGES = Path(__file__).parent / "images"
LARGEST = 200_000  # bytes
SETTLED = 0.6  # seconds after which nothing moves any more


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: its name, the view it is of, what must be there before it is taken, and how large it is."""

    name: str
    route: str
    waits: str
    width: int = 1280
    height: int = 860
    dark: bool = False
    at: str = ""  # what stands on top of the picture; the top of the page where nothing is named


#: One for each view of the report; `{query}` is a query that the engines of the run answer differently.
REPORT = (
    Shot("report", "#/", "main h1", width=1400, height=900),
    Shot("report-dark", "#/", "main h1", width=1400, height=900, dark=True),
    Shot("means", "#/report/means", "#section-means"),
    Shot("differences", "#/report/differences", "#section-differences"),
    Shot("ranks", "#/report/ranks", "#section-ranks"),
    Shot("tradeoffs", "#/report/tradeoffs", "#section-tradeoffs"),
    Shot("groups", "#/report/groups", "#section-groups"),
    Shot("phrasings", "#/report/phrasings", "#section-phrasings"),
    Shot("adversaries", "#/report/adversaries", "#section-adversaries"),
    Shot("wins", "#/report/wins", "#section-wins"),
    Shot("limits", "#/report/limits", "#section-limits"),
    Shot("queries", "#/queries", "main table tbody tr"),
    Shot("query", "#/query/{query}", "main h1", height=780),
    Shot("rankings", "#/query/{query}", "#rankings-title", at="#rankings-title"),
    Shot("source", "#/query/{query}", "#source-title", at="#source-title"),
    Shot("report-phone", "#/", "main h1", width=390, height=980),
    Shot("query-dark", "#/query/{query}", "main h1", dark=True),
)
RUNS = (Shot("runs", "", "main table tbody tr", height=400),)
#: Of the small run, whose one query was traced; and the same query asked again.
TRACE = Shot("trace", "#/query/library/sniff/human", "#trace-title", at="#trace-title")
RERUN = Shot("rerun", "", ".moves .move", at="#rerun-title")
REVIEW = Shot("review", "", ".line.marked", height=720)
#: What is behind the curtain, once two others have voted.
SETTLING = (
    Shot("adjudicate", "#/adjudicate", ".votes tr", height=720),
    Shot("agreement", "#/agreement", "main table", height=720),
)
QUERY = "stdlib/json-error-position/human"


def main(arguments: Sequence[str]) -> None:
    """Take all pictures, of the results that are named or of a demo."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        results = Path(arguments[0]).resolve() if arguments else _demo(work)
        driver = start()
        try:
            _take_all(Tab(driver), results, work)
        finally:
            driver.quit()


def _take_all(tab: Tab, results: Path, work: Path) -> None:
    """Take the pictures of the report, of the list of runs, and of the review."""
    page = work / "report.html"
    _assay(work, "report", str(results), "--out", str(page), "--traces", "20")
    _take(tab, page.as_uri(), REPORT)
    gold = _candidates(work)
    folder = _runs(work, results, gold)
    _take(tab, (folder / "first-look" / "report.html").as_uri(), [TRACE])
    with _served(folder, "serve") as address:
        _take(tab, address, RUNS)
        _take_rerun(tab)
    with _served(work, "gold", "review", str(gold), "--browser") as address:
        _sign_in(tab, address, "ann", REVIEW)
        _picture(tab, REVIEW)
    _vote(work, gold)
    with _served(work, "gold", "review", str(gold), "--browser") as address:
        tab.driver.delete_all_cookies()
        _sign_in(tab, address, "eve", SETTLING[0])
        tab.go(SETTLING[0].route)
        tab.click(".blinded button")
        for shot in SETTLING:
            tab.go(shot.route)
            tab.find(shot.waits)
            _picture(tab, shot)


def _take(tab: Tab, address: str, shots: Sequence[Shot]) -> None:
    """Take pictures of one page."""
    for shot in shots:
        tab.resize(shot.width, shot.height).dark(shot.dark)
        tab.open(address + shot.route.format(query=QUERY))
        tab.find(shot.waits)
        _picture(tab, shot)


def _take_rerun(tab: Tab) -> None:
    """Ask the query of the small run again, with another setting."""
    tab.resize(RERUN.width, RERUN.height)
    next(link for link in tab.all("tbody th a") if link.text == "first-look").click()
    tab.find(".verdict h1")
    tab.go("#/query/library/sniff/human")
    tab.click(".setting-picker summary")
    tab.fill("#rerun-search", "lexical.k1")
    tab.click(".setting-button")
    tab.fill("[data-setting='search.lexical.k1']", "0.1")
    tab.click(".rerun .primary")
    tab.find(RERUN.waits)
    _picture(tab, RERUN)


def _sign_in(tab: Tab, address: str, name: str, shot: Shot) -> None:
    """Say who reviews, and wait for the first candidate."""
    tab.resize(shot.width, shot.height).dark(shot.dark)
    tab.open(address)
    tab.fill("input", name)
    tab.click("button[type=submit], form button")
    tab.find(REVIEW.waits)


def _vote(work: Path, gold: Path) -> None:
    """Have two others vote: they agree on most candidates, and not on every fifth."""
    rows = (gold.parent / "gold.review" / "items.jsonl").read_text("utf-8").splitlines()
    items = [str(row["id"]) for row in map(json.loads, rows) if "id" in row]
    for name, rejects in (("bob", (3,)), ("cy", (3, 4))):
        votes = [f"{item},{'reject' if i % 5 in rejects else 'accept'},{_REASON}" for i, item in enumerate(items)]
        (work / f"{name}.csv").write_text("\n".join(["item,vote,reason", *votes, ""]), "utf-8")
        _assay(work, "gold", "review", str(gold), "--reviewer", name, "--votes", f"{name}.csv")


_REASON = "read beside the code it points to"


def _picture(tab: Tab, shot: Shot) -> None:
    """Write a picture, and refuse one that would make a page slow."""
    time.sleep(SETTLED)
    if shot.at:
        tab.run("scrollTo(0, document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY - 70)", shot.at)
        time.sleep(SETTLED)
    path = IMAGES / f"{shot.name}.png"
    tab.screenshot(path)
    size = path.stat().st_size
    sys.stderr.write(f"{path.name}: {size:,} bytes\n")
    if size >= LARGEST:
        raise SystemExit(f"{path.name} has {size:,} bytes, {LARGEST:,} are too many: take less of the view")


def _demo(work: Path) -> Path:
    """Measure the shipped engines on the standard library."""
    _assay(work, "demo")
    return work / "demo-results"


def _candidates(work: Path) -> Path:
    """Make a set with proposals to review."""
    gold = work / "gold.yaml"
    gold.write_text(_GOLD, "utf-8")
    _assay(work, "gold", "mine", "stdlib", "--set", str(gold), "--from", "comments", "--count", "20")
    return gold


def _runs(work: Path, results: Path, gold: Path) -> Path:
    """Make a folder with two runs: the one that is shown, and a small one."""
    folder = work / "runs"
    shutil.copytree(results, folder / "demo-results")
    _assay(work, "run", "--gold", str(gold), "--out", str(folder / "first-look"))
    return folder


_GOLD = """\
assay: 1
name: library
corpus: {stdlib: true, include: ["json/*", "csv.py", "textwrap.py", "shlex.py", "fnmatch.py", "heapq.py", "sched.py"]}
queries:
  - id: sniff
    retrieval: {primary: ["csv.py::Sniffer"]}
    cognitive: {human: how does it guess which character separates the columns?}
"""


def _assay(work: Path, *arguments: str) -> None:
    """Run a command of ours."""
    subprocess.run([sys.executable, "-m", "assay", *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _served(work: Path, *arguments: str) -> Iterator[str]:
    """Start a server of ours, give its address, and end it."""
    command = [sys.executable, "-m", "assay", *arguments, "--json"]
    with subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield str(json.loads(server.stdout.readline())["url"])
        finally:
            server.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])
