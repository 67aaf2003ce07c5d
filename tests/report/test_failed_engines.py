"""An engine that answered nothing is shown, counted and charged, but it is compared with nobody."""

from dataclasses import replace
from typing import Any

import pytest

from assay import load_gold, run
from assay.errors import EngineError
from assay.experiment.spec.analysis_plan import make_measures
from assay.report.analysis import analyze
from assay.report.comparison import compare_all_pairs
from assay.report.comparison_text import comparison_document, decision_tone, headline
from assay.report.gate_checks import judge_gate
from assay.report.gate_document import gate_document
from assay.report.query_scores import gather
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.report.results_file import results_json
from assay.types import AnalysisPlan
from tests.conftest import enter_shared
from tests.report.comparing import compare_engines, compare_runs
from tests.report.shared import make_in_shop, sourceless

PLAN = AnalysisPlan(make_measures(10, None, ()), "base")


def right(query, k):
    return ["shop/cart.py"] if "items" in query or "cart" in query else ["shop/tax.py"]


def breaks(query, k):
    raise RuntimeError("down")


class Shut:
    def open(self, corpus):
        raise RuntimeError("no licence")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    engines: dict[str, Any] = {"base": lambda q, k: ["shop/cart.py"], "mine": right, "dead": breaks, "shut": Shut()}
    return make_in_shop(tmp_path_factory, lambda: run(sourceless(engines), load_gold("gold.yaml"), failed="report"))


@pytest.fixture
def mixed(made, monkeypatch):
    """A run in which one engine works, one fails on everything and one never opens."""
    base, found = made
    for _ in enter_shared(base, monkeypatch):
        yield found


def seen(result):
    return gather((result,), PLAN.measures, "results")


def without(result, *names):
    return replace(result, engines=tuple(engine for engine in result.engines if engine.name not in names))


def test_failed_engines_leave_the_family_and_raise_nobodys_p(mixed):
    found = analyze(mixed, PLAN).comparison
    alone = analyze(without(mixed, "dead", "shut"), PLAN).comparison
    assert found.failed == ("dead", "shut")
    assert found.family_size == alone.family_size == 1
    assert found.rows == alone.rows
    assert {row.engine for row in (*found.rows, *found.secondary)} == {"mine"}


def test_failed_engines_keep_their_worst_values(mixed):
    found = analyze(mixed, PLAN).comparison
    assert {row.engine: row.mean for row in found.means if row.measure == "nDCG@10"}["dead"] == 0.0
    assert {row.engine for row in found.means} == {"base", "mine", "dead", "shut"}


def test_report_says_failed_not_compared_and_marks_the_values(mixed):
    page = to_markdown(document(analyze(mixed, PLAN)))
    against = next(part for part in page.split("\n## ") if part.startswith("Against base"))
    assert "| dead | 0.000 | – | – | – | **Failed, not compared** |" in against.replace("\\", "")
    assert "Failed on every query, not compared: dead, shut" in against
    assert "The family has one comparison" in against
    for title in ("Results", "One intent", "By form"):
        part = next(part for part in page.split("\n## ") if part.startswith(title))
        assert "| dead (failed) |" in part.replace("\\", "")
        assert "| mine |" in part
    assert "dead: every query failed." in page


def test_compare_and_gate_agree_with_the_report(mixed):
    reported, compared = analyze(mixed, PLAN).comparison, compare_engines(mixed, PLAN)
    assert (compared.failed, compared.family_size) == (reported.failed, reported.family_size)
    assert results_json(analyze(mixed, PLAN))["comparison"]["failed"] == ["dead", "shut"]
    assert "Failed, not compared" in to_markdown(comparison_document(compared))
    gate = judge_gate(seen(mixed), PLAN, (), compared, engine=None, strict=False)
    assert gate.exit_code == 4
    assert {check.what for check in gate.checks if not check.passed and "compared" in check.detail} == {
        "dead: compared",
        "shut: compared",
    }
    assert "failed, not compared" in to_markdown(gate_document(gate))


def test_all_pairs_are_those_of_engines_that_answered(mixed):
    found = compare_all_pairs(mixed, PLAN)
    assert [(row.engine, row.baseline) for row in found.rows] == [("mine", "base")]
    assert found.failed == ("dead", "shut")
    assert "dead" not in found.leaders
    with pytest.raises(EngineError, match="dead, shut failed on every query"):
        compare_all_pairs(without(mixed, "base"), PLAN)


def test_nothing_is_compared_with_a_baseline_that_failed(mixed):
    plan = replace(PLAN, baseline="dead")
    found = analyze(mixed, plan)
    assert found.comparison.rows == ()
    assert found.comparison.family_size == 0
    assert found.leader == "mine"
    assert found.slices == ()
    page = to_markdown(document(found))
    assert "without the baseline there is no comparison" in page
    assert "\n✗ dead failed on every query of shop\n" in page
    assert (found.decision.outcome, decision_tone(found.decision)) == ("failed", "bad")
    gate = judge_gate(seen(mixed), plan, (), compare_engines(mixed, plan, "mine"), engine="mine", strict=False)
    assert gate.exit_code == 4  # green would say that nothing is worse


def test_engine_named_by_itself_that_failed_is_not_compared(mixed):
    found = compare_engines(mixed, PLAN, "dead")
    assert (found.rows, found.failed) == ((), ("dead",))
    assert "There is no second engine" not in " ".join(found.notes)
    assert "Failed, not compared" in to_markdown(comparison_document(found))


def test_engine_that_failed_in_one_of_two_runs_is_not_compared(mixed):
    engines: dict[str, Any] = {"base": right, "mine": right, "dead": right, "shut": Shut()}
    better = run(sourceless(engines), load_gold("gold.yaml"), failed="report")
    for old, new, name in ((mixed, better, "dead (old)"), (better, mixed, "dead (new)")):
        found = compare_runs(old, new, PLAN, ("old", "new"))
        assert [row.engine for row in found.rows] == ["base (new)", "mine (new)"]
        assert found.family_size == 2
        assert name in found.failed
        assert judge_gate(seen(new), PLAN, (), found, engine=None, strict=False).exit_code == 4
    only = compare_runs(mixed, better, PLAN, ("old", "new"), "dead")
    assert (only.rows, only.failed) == ((), ("dead (old)",))
    assert judge_gate(seen(better), PLAN, (), only, engine="dead", strict=False).exit_code == 4


def test_engine_that_failed_is_no_reason_to_compare_two_others(mixed):
    old, new = without(mixed, "base", "dead", "shut"), without(mixed, "base", "mine", "shut")
    found = compare_runs(old, new, PLAN, ("old", "new"))
    assert (found.rows, found.failed) == ((), ("dead (new)",))


def test_engines_of_other_names_are_no_pair_because_the_shared_one_failed(mixed):
    old = without(mixed, "mine", "shut")
    new = run(sourceless({"mine": right, "dead": right}), load_gold("gold.yaml"), failed="report")
    found = compare_runs(old, new, PLAN, ("old", "new"))
    assert (found.rows, found.failed) == ((), ("dead (old)",))


def test_run_where_everybody_failed_is_still_reported(shop):
    found = analyze(run(sourceless({"base": breaks, "mine": breaks}), load_gold("gold.yaml"), failed="report"), PLAN)
    assert found.comparison.failed == ("base", "mine")
    assert headline(found.decision) == "mine failed on every query of shop"


def test_headline_names_the_engine_that_failed(mixed):
    alone = analyze(without(mixed, "mine", "shut"), PLAN)
    assert headline(alone.decision) == "dead failed on every query of shop"
