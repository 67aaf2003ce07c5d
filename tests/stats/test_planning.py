from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.stats import Plan, compare, plan_claim
from assay.stats.planning import read_pilot
from assay.types import Scores
from tests.stats.audit import cells_of, pilot
from tests.stats.audit import plan as planned_power
from tests.stats.worlds import make_units

from .conftest import B, or_none, random_table


def plan_of(scores_of, differences, repositories=None, **options) -> Plan:
    table = scores_of({"old": np.zeros(len(differences)), "new": np.asarray(differences)}, repositories)
    return plan_claim(table, baseline="old", engine="new", primary="nDCG@10", **({"delta": 0.1} | options))


def drawn(repositories: int, each: int, between: float = 0.1, seed: int = 0):
    rng = np.random.default_rng(seed)
    homes = np.repeat(np.arange(repositories), each)
    return rng.normal(0.0, between, repositories)[homes] + rng.normal(0.0, 0.3, len(homes)), homes


def test_plan_claim_agrees_with_the_minimal_difference_of_the_comparison(scores_of):
    table = random_table(scores_of, 1, 200, engines=2)
    row = compare(table, baseline="e0", primary="nDCG@10", B=B).rows[0]
    assert row.mde is not None
    found = plan_claim(table, baseline="e0", engine="e1", primary="nDCG@10", delta=row.mde)
    assert found.queries == pytest.approx(200, rel=0.1)
    assert found.mde_now == pytest.approx(row.mde, rel=0.05)


@pytest.mark.parametrize("repositories", [1, 2, 5])
def test_icc_of_few_repositories_is_assumed_and_said(scores_of, repositories):
    differences, homes = drawn(repositories, 60 // repositories, between=0.0)
    found = plan_of(scores_of, differences, homes)
    assert found.icc == pytest.approx(0.1)
    assert found.icc_source == "assumed"
    many = "1 repository" if repositories == 1 else f"{repositories} repositories"
    assert f"ICC 0.1, assumed, because {many} cannot show it; set it with --icc." in found.sentence
    independent = plan_of(scores_of, differences, homes, icc=0.0)
    assert "ICC 0, as given" in independent.sentence
    assert or_none(found.repositories) > 1.2 * or_none(independent.repositories)
    assert found.queries == independent.queries  # a claim about these repositories does not depend on it


def test_six_repositories_estimate_the_icc_and_a_given_one_replaces_it(scores_of):
    differences, homes = drawn(12, 20)
    found = plan_of(scores_of, differences, homes)
    assert found.icc_source == "pilot"
    assert 0.03 < found.icc < 0.3
    assert "from the pilot" in found.sentence
    more = plan_of(scores_of, differences, homes, icc=0.5)
    assert (more.icc, more.icc_source) == (0.5, "given")
    assert or_none(more.repositories) > or_none(found.repositories)


def test_one_query_in_each_repository_cannot_show_the_icc(scores_of):
    differences, homes = drawn(40, 1)
    found = plan_of(scores_of, differences, homes)
    assert found.icc == pytest.approx(0.1)
    assert found.icc_source == "assumed"
    variance = read_pilot(differences, homes).components
    assert variance.between + variance.within == pytest.approx(differences.var(ddof=1))


@pytest.mark.parametrize("icc", [-0.1, 1.0, float("nan")])
def test_impossible_icc_is_refused(scores_of, icc):
    with pytest.raises(ConfigError, match="icc"):
        plan_of(scores_of, *drawn(3, 20), icc=icc)


@pytest.mark.parametrize("differing", [0, 1, 5])
def test_uninformative_pilot_is_refused(scores_of, differing):
    differences = np.zeros(100)
    differences[:differing] = 0.5
    with pytest.raises(ConfigError, match=f"differ on {differing} of 100 queries, at least 6 are needed") as caught:
        plan_of(scores_of, differences, delta=0.02)
    assert "assay plan --detect 0.02 --sd 0.3 --icc 0.1" in str(caught.value.hint)


def test_repositories_that_tie_do_not_inform_a_plan(scores_of):
    differences, homes = drawn(8, 10)
    differences[homes >= 5] = 0.0
    with pytest.raises(ConfigError, match="differ on 5 of 8 repositories"):
        plan_of(scores_of, differences, homes)


def test_equal_differences_are_refused(scores_of):
    with pytest.raises(ConfigError, match="equal"):
        plan_of(scores_of, np.full(20, 0.25))


@given(st.integers(0, 10_000), st.integers(1, 9), st.floats(0.05, 0.3))
def test_plan_does_not_depend_on_the_direction(seed, repositories, delta):
    differences, homes = drawn(repositories, 20, seed=seed)
    units = tuple(make_units(homes))
    values = np.stack([np.zeros(len(homes)), differences])[:, None]
    table = Scores(("old", "new"), ("nDCG@10",), units, values)
    there, back = (
        plan_claim(table, baseline=a, engine=b, primary="nDCG@10", delta=delta)
        for a, b in (("old", "new"), ("new", "old"))
    )
    assert there.mde_now == pytest.approx(back.mde_now)
    assert replace(there, mde_now=0.0) == replace(back, mde_now=0.0)


def test_heavy_tails_cost_degrees_of_freedom():
    groups = np.zeros(100, dtype=np.intp)
    light = np.random.default_rng(0).uniform(-1, 1, 100)
    rare = np.where(np.arange(100) < 8, np.where(np.arange(100) % 2, 1.0, -1.0), 0.0)
    assert read_pilot(light, groups).pilot.within_df == pytest.approx(99)
    # Kurtosis 1/.08: about 2n/(k − 1) degrees of freedom.
    assert read_pilot(rare, groups).pilot.within_df == pytest.approx(200 / 11.5, rel=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("cell", cells_of("plan", "nDCG", "10 × 100"), ids=lambda cell: cell.design.name)
def test_sets_of_the_stated_size_have_the_stated_power(cell):
    found = planned_power(cell.shape, cell.design, 1_000)
    assert found["power"] == pytest.approx(0.8, abs=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("cell", cells_of("pilot", "nDCG", "6 × 60"), ids=lambda cell: cell.design.name)
def test_range_of_a_small_pilot_holds_the_size_that_is_needed(cell):
    assert pilot(cell.shape, cell.design, 300)["in range"] >= 0.9
