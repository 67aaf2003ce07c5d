"""A gold path that is a symbolic link and the file it leads to are one target, whichever of the two an engine names."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.engines import make_engine
from assay.errors import GoldError
from assay.experiment import read_run
from assay.types import GoldSet, Target
from tests.conftest import write_tree

REAL, LINK, FOLDER = "RxSwift/Observer.py", "Sources/RxSwift/Observer.py", "All/Observer.py"
GOLD = """\
assay: 1
name: rx
corpus: {path: repo}
queries:
  - id: q
    retrieval: {primary: ["%s"]}
    cognitive: {human: how does an observer react}
"""


@pytest.fixture
def rx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repo = write_tree(tmp_path / "repo", {REAL: "def react(observer):\n    return observer\n", "other.py": "x = 1\n"})
    (repo / "Sources" / "RxSwift").mkdir(parents=True)
    (repo / LINK).symlink_to("../../RxSwift/Observer.py")
    (repo / "All").symlink_to("RxSwift")
    (tmp_path / "outside.py").write_text("def react(): ...\n")
    (repo / "outside.py").symlink_to("../outside.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def load(anchor: str) -> GoldSet:
    Path("gold.yaml").write_text(GOLD % anchor)
    return assay.load_gold("gold.yaml").golds[0]


def first_rank(run: assay.Run, measure: str) -> list[float]:
    return [float(row[0][0]) for row in assay.score(run, [measure]).values]


@pytest.mark.parametrize("written", [REAL, LINK, FOLDER])
@pytest.mark.parametrize("suffix", ["", "::react", ":1-2"])
def test_every_name_of_a_file_is_one_target(rx: Path, written: str, suffix: str) -> None:
    gold = load(written + suffix)
    engines = {name: (lambda query, name=name: [name]) for name in (REAL, LINK, FOLDER, f"{rx}/repo/{LINK}")}
    run = assay.run({**engines, "builtin": make_engine("builtin")}, gold)
    assert first_rank(run, "RR@10") == [1.0] * 5
    target = run.suite.golds[0].queries[0].targets[0]
    assert (target.span.path, target.anchor) == (REAL, written + suffix)


def test_both_names_in_one_ranking_are_one_result(rx: Path) -> None:
    run = assay.run({"twice": lambda query: [LINK, REAL, FOLDER, "other.py"]}, load(REAL))
    assert [hit.path for hit in run.engines[0].rankings[0].hits] == [REAL, REAL, REAL, "other.py"]
    assert first_rank(run, "nDCG@10") == [1.0]
    assert first_rank(run, "P@10") == first_rank(
        assay.run({"once": lambda query: [REAL, "other.py"]}, load(REAL)), "P@10"
    )


def test_a_listed_link_whose_file_is_ignored(rx: Path) -> None:
    (rx / "repo" / ".assayignore").write_text("RxSwift/\n!Sources/RxSwift/\n")
    gold = load(REAL)
    run = assay.run({"real": lambda query: [REAL], "link": lambda query: [LINK]}, gold)
    assert first_rank(run, "RR@10") == [1.0, 1.0]


def test_a_link_that_leaves_the_corpus_is_no_target_and_no_result(rx: Path) -> None:
    with pytest.raises(GoldError, match="outside"):
        assay.run({"mine": lambda query: ["outside.py"]}, load("outside.py"))
    run = assay.run({"mine": lambda query: ["outside.py", "../outside.py"]}, load(REAL))
    assert first_rank(run, "RR@10") == [0.0]


@pytest.mark.parametrize(
    "layer",
    [
        f'retrieval: {{primary: ["{REAL}"], secondary: ["{LINK}"]}}',
        f'retrieval: {{primary: ["{REAL}::react"]}}\n    interference: [{{target: {LINK}, relationship: parent,'
        " strength: strong, confusion: x}]",
    ],
)
def test_one_place_under_two_names_in_a_query_is_an_error(rx: Path, layer: str) -> None:
    Path("gold.yaml").write_text(GOLD.replace('retrieval: {primary: ["%s"]}', layer))
    gold = assay.load_gold("gold.yaml")
    with pytest.raises(GoldError, match="labels the same code twice") as caught:
        assay.run({"mine": lambda query: [REAL]}, gold)
    assert caught.value.line
    run = assay.run({"mine": lambda query: [REAL]}, gold, missing="report")
    query = run.suite.golds[0].queries[0]
    assert (len(query.targets), len(query.adversaries)) == (1, 0)
    assert first_rank(run, "nDCG@10") == [1.0]


def test_records_keep_the_name_that_the_gold_file_has(rx: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(LINK)
    assert main(["run", "--gold", "gold.yaml", "--quiet"]) == 0
    (query,) = read_run(Path("results")).suite.golds[0].queries
    assert (query.targets[0].span.path, query.targets[0].link) == (REAL, LINK)
    capsys.readouterr()
    assert main(["score", "results"]) == 0
    assert "changed since this run" not in capsys.readouterr().err
    assert main(["show", "results", "q", "--engine", "builtin"]) == 0
    assert main(["gold", "lint", "gold.yaml"]) == 0


def test_anchors_of_resolved_links_are_as_written() -> None:
    span = assay.Span("real.py", 1, 2)
    assert Target(span, link="link.py").anchor == "link.py:1-2"
    assert Target(span, symbol="f", link="link.py").anchor == "link.py::f"
    assert Target(span, digest="abc", link="link.py").anchor == "link.py:1-2#abc"
