"""`assay demo`, as the quick start tells it, on a set that takes seconds."""

from assay import gold
from assay.cli.main import main
from assay.experiment import read_run


def test_demo_measures_the_shipped_engines_and_leaves_a_report(shop, capsys, monkeypatch):
    small = gold.load_gold("gold.yaml")
    monkeypatch.setattr(gold, "load_gold", lambda name: {"stdlib": small}[name])
    assert main(["demo", "--quiet"]) == 0
    assert "whole-file" in capsys.readouterr().out
    assert (shop / "demo-results" / "report.html").is_file()
    assert {"builtin", "whole-file", "keywords"} <= {engine.name for engine in read_run(shop / "demo-results").engines}
