"""An engine that fails on every query is an error, from Python and from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.engines import make_engine
from assay.errors import EngineError
from assay.types import Status

OURS = """
def fails(query, k):
    raise RuntimeError("no index")

def fails_once(query, k):
    if "average" in query:
        raise RuntimeError("no index")
    return ["shop/cart.py"]

def nothing(query, k):
    return []
"""


def fails(query: str, k: int) -> list[str]:
    raise RuntimeError("no index")


def finds(query: str, k: int) -> list[str]:
    return ["shop/cart.py"]


class Closed:
    config: dict[str, object] = {}

    def open(self, corpus: object) -> assay.Session:
        raise RuntimeError("no license")


@pytest.fixture
def ours(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (shop.parent / "tools").mkdir()
    (shop.parent / "tools" / "ours_failing.py").write_text(OURS)
    monkeypatch.syspath_prepend(str(shop.parent / "tools"))
    return shop


def test_run_raises_and_keeps_the_other_rankings(shop: Path) -> None:
    with pytest.raises(EngineError) as caught:
        assay.run({"good": finds, "bad": fails, "closed": Closed()}, assay.load_gold("gold.yaml"))
    error = caught.value
    assert error.exit_code == 4
    assert error.message.startswith("bad failed on every query: RuntimeError: no index; closed failed on every query")
    assert "good" not in error.message
    assert isinstance(error.run, assay.Run)
    assert [engine.name for engine in error.run.engines] == ["good", "bad", "closed"]
    assert {ranking.status for ranking in error.run.engines[0].rankings} == {Status.OK}


def test_run_reports_instead_on_request(shop: Path) -> None:
    run = assay.run({"good": finds, "bad": fails}, assay.load_gold("gold.yaml"), failed="report")
    assert {ranking.status for ranking in run.engines[1].rankings} == {Status.ERROR}


def test_some_failed_queries_or_empty_rankings_raise_nothing(shop: Path) -> None:
    def often(query: str, k: int) -> list[str]:
        return finds(query, k) if "average" in query else fails(query, k)

    run = assay.run({"often": often, "empty": lambda query, k: []}, assay.load_gold("gold.yaml"))
    assert [ranking.status for ranking in run.engines[0].rankings].count(Status.OK) == 1


@pytest.mark.parametrize("way", ["times = true", "jobs = 1"])
def test_an_experiment_raises_too(ours: Path, way: str) -> None:
    Path("assay.toml").write_text(
        f'[run]\ngold = "gold.yaml"\nreferences = false\n{way}\n'
        '[engines.bad]\nkind = "python"\ntarget = "ours_failing:fails"\n'
        '[engines.empty]\nkind = "python"\ntarget = "ours_failing:nothing"\n'
    )
    with pytest.raises(EngineError, match="^bad failed on every query: RuntimeError: no index"):
        assay.run_experiment()
    assert len(assay.run_experiment(failed="report").engines) == 2
    assert assay.run_experiment(only=["empty"]).engines[0].rankings


@pytest.mark.parametrize("more", [(), ("--no-times", "--jobs", "1"), ("--repeat", "2"), ("--json",)])
def test_the_command_exits_4_and_says_why(
    ours: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    engines = ("--engine", "good=python:ours_failing:fails_once", "--engine", "bad=python:ours_failing:fails")
    assert main(["run", "--gold", "gold.yaml", "--quiet", *engines, *more]) == 4
    said = capsys.readouterr().err
    assert said == "error: bad failed on every query: RuntimeError: no index\n"


def test_the_command_passes_engines_that_fail_sometimes(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--gold", "gold.yaml", "--quiet", "--engine", "python:ours_failing:fails_once"]) == 0
    assert capsys.readouterr().err == ""


def test_a_comparison_that_lacks_an_engine_exits_4(ours: Path) -> None:
    engines = ("--engine", "good=python:ours_failing:fails_once", "--engine", "bad=python:ours_failing:fails")
    assert main(["run", "--gold", "gold.yaml", "--quiet", *engines]) == 4
    assert main(["compare", "results", "--baseline", "good"]) == 4
    assert main(["compare", "results", "--baseline", "bad"]) == 4
    assert main(["compare", "results", "--engine", "good", "--baseline", "keywords"]) == 0
    assert main(["compare", "results", "--all-pairs"]) == 4


def test_keywords_engine_under_another_name_is_under_test(shop: Path) -> None:
    gold = assay.load_gold("gold.yaml")
    run = assay.run({name: make_engine("keywords") for name in ("keywords", "grep")}, gold)
    assert {engine.name: engine.role for engine in run.engines} == {"keywords": "reference", "grep": "candidate"}
