"""A declared family in a report: who gets a verdict, and what is said of members that were not run."""

from dataclasses import replace

from assay import load_gold, run
from assay.experiment.spec.analysis_plan import make_measures
from assay.report.analysis import analyze
from assay.types import AnalysisPlan
from tests.report.comparing import compare_engines


def asked(query: str, k: int) -> list[str]:
    return ["shop/cart.py"]


def test_family_member_that_was_not_run_is_told_and_not_judged(shop):
    made = run({"base": asked, "a": asked, "b": lambda q, k: ["README.md"]}, load_gold("gold.yaml"), k=10)
    plan = AnalysisPlan(make_measures(10, None, ()), "base", family=("a", "gone"))
    for found in (analyze(made, plan).comparison, compare_engines(made, plan)):
        assert {row.engine: row.in_family for row in found.rows} == {"a": True, "b": False}
        assert "Engines of the declared family that were not run: gone." in found.notes
    every = compare_engines(made, replace(plan, family=()))
    assert {row.engine: row.in_family for row in every.rows} == {"a": True, "b": True}
    assert not any("declared family these" in note for note in every.notes)
