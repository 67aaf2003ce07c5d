"""Pages as they are served and written, read without a browser: their policy, their script, and no code from text."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.browser.reviewing import propose, write_gold
from tests.browser.sample import IMAGE
from tests.report.explorer.unpacking import blocks
from tests.sharing import shared_folder
from tests.web.exploring.serving import exploring, listed
from tests.web.reviews import reviewing

SOURCE = Path(str(files("assay.browser")))
LONGEST = 120  # characters a line, as in Python
NAMES = ("report", "list", "run", "problem", "review")


@pytest.fixture(scope="session")
def written(sample: Path, runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of page, as a file."""

    def make(folder: Path) -> None:
        (folder / "report").write_bytes((sample / "report.html").read_bytes())
        with exploring(runs) as client:
            found = listed(client)
            for name, address in {
                "list": "/",
                "run": f"/run/{found['old']['id']}",
                "problem": f"/run/{found['broken']['id']}",
            }.items():
                (folder / name).write_bytes(client.get(address).body)
        gold_file = write_gold(folder)
        propose(gold_file, 1)
        with reviewing(gold_file) as nobody:
            (folder / "review").write_bytes(nobody.http.get("/review").body)

    return shared_folder(tmp_path_factory, "pages", make)


@pytest.mark.parametrize("name", NAMES)
def test_policy_lets_the_page_run_its_own_script_and_nothing_else(written: Path, name: str) -> None:
    page = (written / name).read_text("utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    for directive, pattern in (
        ("script-src", r'<script type="module">(.*?)</script>'),
        ("style-src", r"<style>(.*?)</style>"),
    ):
        (text,) = re.findall(pattern, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert ("connect-src" in policy) == (name != "report"), "only a page with a server may ask it"


@pytest.mark.parametrize("name", NAMES)
def test_script_of_a_page_is_whole(written: Path, name: str) -> None:
    page = (written / name).read_text("utf-8")
    script = page.rpartition('<script type="module">')[2].removesuffix("</script></body></html>\n")
    assert not re.search(r"</script|<!--|<script", script, re.IGNORECASE)  # would end it, or hide its end
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)  # a file cannot import others
    assert len(script) > 1000


def test_data_of_others_is_in_blocks_that_no_browser_runs(written: Path) -> None:
    report = (written / "report").read_bytes()
    assert IMAGE.encode() not in report
    assert IMAGE.encode() in blocks(report)["queries"]
    assert IMAGE.encode() in blocks((written / "problem").read_bytes())["problem"]


def test_report_is_the_same_each_time(sample: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["report", str(sample), "--out", str(tmp_path / name), "--quiet", "--traces", "0"]) == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    title = re.search(r"<title>(.*?)</title>", (tmp_path / "one").read_text("utf-8"))
    assert title is not None
    assert "<" not in title[1]
    assert "&lt;script&gt;" in title[1]


# --- what the scripts may be ----------------------------------------------------------------------------------------


def test_no_script_reads_text_as_markup_or_code() -> None:
    wrong = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"on"
    )
    found = {path.name: wrong.findall(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.js"))}
    assert {name: uses for name, uses in found.items() if uses} == {}
    assert len(found) > 20


def test_no_line_is_longer_than_those_of_other_code() -> None:
    texts = {path: path.read_text("utf-8") for path in (*SOURCE.rglob("*.js"), *SOURCE.rglob("*.css"))}
    numbered = ((path, n, line) for path, text in texts.items() for n, line in enumerate(text.split("\n"), start=1))
    assert [f"{path.name}:{n}" for path, n, line in numbered if len(line) > LONGEST] == []


def test_nothing_is_exported_that_nobody_imports() -> None:
    texts = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.js")}
    folded = [names for text in texts.values() for names in re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE)]
    wanted = {name.strip() for names in folded for name in names.split(",")}
    exported = re.compile(r"^export (?:async )?(?:function|const|let|class) ([\w$]+)", re.MULTILINE)
    found = {path.name: [n for n in exported.findall(text) if n not in wanted] for path, text in texts.items()}
    assert {name: names for name, names in found.items() if names} == {}


def test_every_class_of_the_list_of_runs_has_a_style() -> None:
    """Elsewhere a class may be a handle; here one without a style was a button that looked like none."""
    styles = "".join((SOURCE / "styles" / name).read_text("utf-8") for name in ("base.css", "runs.css"))
    named = {
        name
        for path in (SOURCE / "runs").glob("*.js")
        for names in re.findall(r'\bh\("\w+((?:\.[\w-]+)+)"', path.read_text("utf-8"))
        for name in names.split(".")[1:]
    }
    assert sorted(name for name in named if not re.search(rf"\.{name}(?![\w-])", styles)) == []


def test_every_class_of_a_drawn_shape_has_a_style() -> None:
    """A shape without a style is filled with black."""
    styles = "".join(path.read_text("utf-8") for path in (SOURCE / "styles").glob("*.css"))
    named = {
        name
        for path in SOURCE.rglob("*.js")
        for names in re.findall(r'\bsvg\("(?:rect|line|circle|path|polygon)((?:\.[\w-]+)+)"', path.read_text("utf-8"))
        for name in names.split(".")[1:]
    }
    assert "bar-fill" in named
    assert sorted(name for name in named if not re.search(rf"\.{name}(?![\w-])", styles)) == []
