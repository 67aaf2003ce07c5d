"""What must not turn a gate green: an engine that is gone, skipped or finds nothing at all."""

from dataclasses import replace

import pytest

from assay.errors import EngineError
from assay.report.baseline_file import write_baseline
from assay.report.comparison import compare_sides
from assay.report.comparison_text import card
from assay.report.gate_checks import judge_gate
from assay.report.github import gate_page
from assay.report.query_scores import gather
from tests.report.evidence.labs import PLAN, hashed, run_of, silent
from tests.report.labs import lab

RANKS = [1, 2, 1, 3] * 10
BOTH = hashed(lab({"mine": RANKS, "yours": RANKS}))
ONE = run_of(RANKS)


def gated(old, new, plan=PLAN, engine=None):
    """Judge one run against another."""
    before, after = gather(old, plan.measures, "old"), gather(new, plan.measures, "new")
    found = compare_sides(before, after, plan, engine)
    return judge_gate(after, plan, (), found, engine=engine, strict=False, old=before)


def said(gate):
    """Give what was said of the checks that failed."""
    return " ".join(f"{check.what}: {check.detail}" for check in gate.checks if not check.passed)


def test_engine_that_is_gone_is_not_comparable_and_the_next_step_is_told():
    gate = gated([BOTH], [ONE])
    assert (gate.exit_code, gate.verdict) == (5, "not comparable")
    assert "yours: the baseline has this engine, the run does not; add it to the run" in said(gate)
    assert "the baseline has this engine" in str(gate_page(gate).first[1])


def test_engine_that_is_new_is_not_comparable_and_who_gates_the_others_is_told():
    gate = gated([ONE], [BOTH])
    assert gate.exit_code == 5
    assert "yours: old does not have this engine; record the baseline again, or select" in said(gate)
    assert gated([ONE], [BOTH], engine="mine").exit_code == 0


def test_engine_that_was_skipped_is_not_comparable_and_the_reason_is_told():
    header = replace(ONE.header, skipped={"yours": "no such program: rg"})
    gate = gated([BOTH], [replace(ONE, header=header)])
    assert gate.exit_code == 5
    assert "it was skipped: no such program: rg; fix that and run again" in said(gate)


def test_who_names_what_is_gated_needs_no_other_engine():
    assert gated([BOTH], [ONE], engine="mine").exit_code == 0
    assert gated([BOTH], [ONE], replace(PLAN, family=("mine",))).exit_code == 0
    assert gated([BOTH], [ONE], replace(PLAN, family=("mine", "yours"))).exit_code == 5
    assert gated([BOTH], [BOTH]).exit_code == 0


@pytest.mark.parametrize(("before", "after", "code"), [("candidate", "reference", 5), ("reference", "reference", 0)])
def test_engine_that_stands_beside_is_under_no_gate(before, after, code):
    def cast(role):
        mine, yours = BOTH.engines
        return [replace(BOTH, engines=(mine, replace(yours, role=role)))]

    assert gated(cast(before), cast(after)).exit_code == code


def test_engine_that_found_nothing_has_failed_and_has_not_lost():
    gate = gated([ONE], [silent(ONE)])
    assert (gate.exit_code, gate.verdict) == (4, "engine failed")
    assert "0 of 40 queries failed" in said(gate)
    assert "no query returned a result: run the tool by hand" in said(gate)
    gate = gated([ONE], [ONE, silent(ONE)])
    assert gate.exit_code == 4
    assert "no query returned a result in 1 of 2 repeats" in said(gate)


def test_engine_that_found_something_once_is_judged():
    ranks = [1] + [0] * 39
    few = silent(run_of(ranks))
    (engine,) = few.engines
    first = replace(engine.rankings[0], hits=run_of(ranks).engines[0].rankings[0].hits)
    gate = gated([ONE], [replace(few, engines=(replace(engine, rankings=(first, *engine.rankings[1:])),))])
    assert (gate.exit_code, gate.verdict) == (1, "fail")


def test_nothing_found_is_no_baseline(tmp_path):
    with pytest.raises(EngineError, match="no query returned a result"):
        write_baseline(tmp_path / "b.json", gather([silent(ONE)], PLAN.measures, "old"), PLAN)
    gate = gated([silent(ONE)], [ONE])
    assert gate.exit_code == 5
    assert "it returned no results in old; record the baseline again" in said(gate)


def test_card_of_several_engines_is_on_the_changed_one():
    changed = hashed(lab({"mine": RANKS, "yours": [1, 1, 1, 2] * 10}))
    decision = gated([BOTH], [changed]).decision
    assert decision.candidate.name == "yours (new)"
    assert [(other.name, other.outcome) for other in decision.others] == [("mine (new)", "identical rankings")]
    assert any(line.startswith("Also checked: mine 0.") for line in card(decision).lines)
    worse = hashed(lab({"mine": [0, 9, 9, 9] * 10, "yours": [1, 1, 1, 2] * 10}))
    assert gated([BOTH], [worse]).decision.candidate.name == "mine (new)"
