"""`assay demo`, as the quick start tells it, on a library that takes seconds."""

from assay.cli.main import main
from assay.experiment import read_run


def test_demo_measures_the_shipped_engines_and_leaves_a_report(shop, small_library, capsys):
    assert main(["demo", "--quiet"]) == 0
    card = capsys.readouterr().out.splitlines()
    assert len(card) <= 15
    assert "builtin" in card[0]
    assert "keywords" in card[0]
    assert "by lines" in card[0]
    assert (shop / "demo-results" / "report.html").is_file()
    run = read_run(shop / "demo-results")
    assert {"builtin", "keywords", "random", "oracle"} == {engine.name for engine in run.engines}
    assert run.suite.golds[0].name == "stdlib"


def test_a_second_demo_measures_nothing(shop, small_library, capsys):
    assert main(["demo"]) == 0
    first, card = read_run(shop / "demo-results"), capsys.readouterr().out
    assert main(["demo"]) == 0
    again = capsys.readouterr()
    assert "measured earlier on this machine" in again.err
    assert again.out == card
    assert read_run(shop / "demo-results").engines == first.engines
