"""Who a report is about: the best rival of the baseline, or the baseline where nothing beats it."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.report import analyse
from assay.report.headlines import headline
from assay.types import Claim, Role
from tests.properties import examples
from tests.report.labs import WRONG, lab

CLAIM = Claim(("RR@10",), "mine")


def told(ranks, changes=None, claim=CLAIM):
    return analyse(lab(ranks, changes, base="mine"), claim)


def test_baseline_that_nothing_beats_is_the_headline():
    results = told({"mine": [1, 1, 2] * 10, "one:x=1": [1, 2, 2] * 10, "two": [3, 3, 3] * 10})
    assert (results.leader, results.challenger) == ("mine", "one:x=1")
    assert "nothing beats mine on RR@10; one:x=1 against it: " in headline(results)
    assert results.reading.startswith("mine scores")


def test_baseline_that_is_equalled_is_not_beaten():
    results = told({"mine": [1, 2] * 10, "z": [2, 1] * 10})
    assert results.leader == "mine"
    assert "nothing beats mine" in headline(results)


def test_rival_with_a_better_mean_is_the_headline():
    results = told({"mine": [2, 2] * 10, "z": [2, 1] * 10})
    assert results.leader == results.challenger == "z"
    assert "z against mine on RR@10" in headline(results)
    assert "nothing beats" not in headline(results)


def test_fewest_is_best_where_less_is_better():
    claim = Claim(("TokensToHit",), "mine")
    sizes = {"gold0": dict.fromkeys((*(f"right{i}.py" for i in range(20)), *(hit.path for hit in WRONG)), (10,))}
    ahead, behind = (
        analyse(replace(lab({"mine": [mine] * 20, "z": [z] * 20}), lines=sizes), claim) for mine, z in ((1, 5), (5, 1))
    )
    assert (ahead.leader, behind.leader) == ("mine", "z")
    assert "nothing beats mine" in headline(ahead)
    assert "z against mine" in headline(behind)


def test_reference_as_baseline_is_named_but_nobody_looks_for_the_best_there():
    made = lab({"mine": [1] * 20, "z": [2] * 20})
    roles: dict[str, Role] = {"mine": "yardstick"}
    made = replace(made, engines=tuple(replace(e, role=roles.get(e.name, e.role)) for e in made.engines))
    results = analyse(made, CLAIM)
    assert results.leader == "z"
    assert "nothing beats mine" in headline(results)


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
    assert ("nothing beats mine" in headline(results)) is not beaten
