"""Who a report is about: the best rival of the baseline, or the baseline where nothing beats it."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report.analysis import analyze
from assay.report.comparison import compare_all_pairs
from assay.report.comparison_text import comparison_document
from assay.report.render.document import to_markdown
from assay.types import AnalysisPlan, EngineRole
from tests.properties import examples
from tests.report.labs import WRONG, lab

PLAN = AnalysisPlan(("RR@10",), "mine")


def told(ranks, changes=None, plan=PLAN):
    return analyze(lab(ranks, changes, base="mine"), plan)


def compared(results):
    decision = results.decision
    return decision.candidate.name, decision.baseline.name, decision.outcome


def test_baseline_that_nothing_beats_is_the_headline():
    results = told({"mine": [1, 1, 2] * 10, "one:x=1": [1, 2, 2] * 10, "two": [3, 3, 3] * 10})
    assert (results.leader, results.challenger) == ("mine", "one:x=1")
    assert compared(results) == ("one:x=1", "mine", "worse")
    assert results.reading.startswith("mine scores")


def test_baseline_that_is_equalled_is_not_beaten():
    results = told({"mine": [1, 2] * 10, "z": [2, 1] * 10})
    assert results.leader == "mine"
    assert compared(results)[:2] == ("z", "mine")


def test_rival_with_a_better_mean_is_the_headline():
    results = told({"mine": [2, 2] * 10, "z": [2, 1] * 10})
    assert results.leader == results.challenger == "z"
    assert compared(results) == ("z", "mine", "better")


def test_fewest_is_best_where_less_is_better():
    plan = AnalysisPlan(("TokensToHit",), "mine")
    sizes = {"gold0": dict.fromkeys((*(f"right{i}.py" for i in range(20)), *(hit.path for hit in WRONG)), (10,))}
    ahead, behind = (
        analyze(replace(lab({"mine": [mine] * 20, "z": [z] * 20}), lines=sizes), plan) for mine, z in ((1, 5), (5, 1))
    )
    assert (ahead.leader, behind.leader) == ("mine", "z")
    assert ahead.decision.losses == behind.decision.wins == 20


def test_reference_as_baseline_is_named_but_nobody_looks_for_the_best_there():
    made = lab({"mine": [1] * 20, "z": [2] * 20})
    roles: dict[str, EngineRole] = {"mine": "reference"}
    made = replace(made, engines=tuple(replace(e, role=roles.get(e.name, e.role)) for e in made.engines))
    results = analyze(made, PLAN)
    assert results.leader == "z"
    assert compared(results) == ("z", "mine", "worse")


@pytest.mark.parametrize("order", list(permutations(["a", "m", "z"])))
def test_equals_are_told_apart_by_fewest_changes_then_by_their_order(order):
    ranks = {"mine": [3] * 12, **{name: [2] * 12 for name in order}}
    few = {"a": {"x": 1, "y": 2}, "m": {"x": 1, "y": 2}, "z": {"x": 1}}
    assert told(ranks, few).challenger == "z"
    assert told(ranks).challenger == order[0]


@examples(15)
@given(st.lists(st.lists(st.integers(0, 10), min_size=6, max_size=6), min_size=2, max_size=4))
def test_leader_is_never_behind_anybody(given_ranks):
    names = ["mine", "c", "b", "a"][: len(given_ranks)]
    results = told(dict(zip(names, given_ranks, strict=True)))
    means = {row.engine: row.mean for row in results.comparison.means}
    best = max(means.values())
    assert means[results.leader] == pytest.approx(best)
    assert means[results.challenger] == pytest.approx(max(means[name] for name in names[1:]))
    beaten = means[results.challenger] > means["mine"] + 1e-9
    assert (results.leader == "mine") is not beaten


def with_roles(made, **roles: EngineRole):
    return replace(made, engines=tuple(replace(e, role=roles.get(e.name, e.role)) for e in made.engines))


def with_references(ranks, keywords, oracle):
    made = lab({**ranks, "keywords": keywords, "random": [0] * len(keywords), "oracle": oracle})
    return with_roles(made, keywords="reference", random="floor", oracle="ceiling")


def engines_of(found):
    return {name for row in found.rows for name in (row.engine, row.baseline)}


@pytest.mark.parametrize("baseline", ["keywords", "a"])
def test_all_pairs_leave_references_out_of_the_family_and_of_the_lead(baseline):
    made = with_references({"a": [2] * 20, "b": [3] * 20, "c": [4] * 20}, [1] * 20, [1] * 20)
    plan = AnalysisPlan(("RR@10",), baseline)
    found, results = compare_all_pairs(made, plan), analyze(made, plan)
    assert engines_of(found) == {"a", "b", "c"}
    assert found.family_size == 3
    assert found.leader == results.leader == "a"
    assert found.leaders[0] == "a"


def test_a_reference_is_in_the_family_where_one_engine_is_left_without_it():
    made = with_references({"a": [2] * 20}, [1] * 20, [1] * 20)
    plan = AnalysisPlan(("RR@10",), "keywords")
    found = compare_all_pairs(made, plan)
    assert engines_of(found) == {"a", "keywords"}
    assert found.leader == analyze(made, plan).leader == "a"
    assert "a is the best engine under test; references with a better mean: keywords." in to_markdown(
        comparison_document(found)
    )


@pytest.mark.parametrize("family", [("keywords", "b"), ("keywords",)])
def test_a_reference_is_in_the_family_that_names_it(family):
    made = with_references({"a": [2] * 20, "b": [3] * 20, "c": [1] * 20}, [1] * 20, [1] * 20)
    plan = AnalysisPlan(("RR@10",), "a", family=family)
    found, results = compare_all_pairs(made, plan), analyze(made, plan)
    assert engines_of(found) == {"a", *family}
    assert found.leader == results.leader == "keywords"


def test_engine_outside_the_declared_family_is_not_the_headline():
    made = with_references({"a": [3] * 20, "b": [2] * 20, "c": [1] * 20}, [4] * 20, [1] * 20)
    plan = AnalysisPlan(("RR@10",), "a", family=("b",))
    found, results = compare_all_pairs(made, plan), analyze(made, plan)
    assert found.leader == results.leader == results.challenger == "b"
    assert compared(results)[:2] == ("b", "a")


ROLES: tuple[EngineRole, ...] = ("candidate", "reference")


@examples(40)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 4), min_size=6, max_size=6), st.sampled_from(ROLES)), min_size=2, max_size=5
    ),
    st.integers(0, 4),
    st.sets(st.integers(0, 4), max_size=3),
)
def test_run_and_all_pairs_name_the_same_leader(engines, baseline, family):
    names = [f"e{at}" for at in range(len(engines))]
    made = lab(dict(zip(names, (ranks for ranks, _ in engines), strict=True)))
    made = with_roles(made, **dict(zip(names, (role for _, role in engines), strict=True)))
    base = names[baseline % len(names)]
    declared = tuple(name for at, name in enumerate(names) if at in family and name != base)
    plan = AnalysisPlan(("RR@10",), base, family=declared)
    results, found = analyze(made, plan), compare_all_pairs(made, plan)
    assert found.leader == results.leader
    for alarm in results.diagnostics:
        if alarm.kind in ("within noise", "best of many"):
            assert alarm.names[0] == results.leader
