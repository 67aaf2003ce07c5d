from __future__ import annotations

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from assay.errors import ConfigError
from assay.stats import SamplePlan, compare, components_of, plan, plan_comparison
from assay.stats.config import DEFAULT
from assay.stats.paired import planned_mde
from assay.stats.sample_size import Pilot, read_pilot
from assay.types import Scores
from tests.stats.audit import cells_of, pilot
from tests.stats.audit import plan as planned_power
from tests.stats.worlds import make_units

from .conftest import B, or_none, random_table

#: Few simulated sets, where exact sizes do not matter.
ROUGH = mock.patch("assay.stats.sample_size.DEFAULT", replace(DEFAULT, plan_sets=50))


def plan_of(scores_of, differences, repositories=None, **options) -> SamplePlan:
    table = scores_of({"old": np.zeros(len(differences)), "new": np.asarray(differences)}, repositories)
    return plan_comparison(table, baseline="old", engine="new", primary="nDCG@10", **({"delta": 0.1} | options))


def drawn(repositories: int, each: int, between: float = 0.1, seed: int = 0):
    rng = np.random.default_rng(seed)
    homes = np.repeat(np.arange(repositories), each)
    return rng.normal(0.0, between, repositories)[homes] + rng.normal(0.0, 0.3, len(homes)), homes


def test_pilot_without_values_names_the_measure(scores_of):
    with pytest.raises(ConfigError, match="no query has a value of nDCG@10 for both engines"):
        plan_of(scores_of, [math.nan] * 12)


def test_plan_comparison_agrees_with_the_minimal_difference_of_the_comparison(scores_of):
    table = random_table(scores_of, 1, 200, engines=2)
    row = compare(table, baseline="e0", primary="nDCG@10", B=B).rows[0]
    assert row.mde is not None
    found = plan_comparison(table, baseline="e0", engine="e1", primary="nDCG@10", delta=row.mde)
    assert found.queries == pytest.approx(200, rel=0.1)
    assert found.mde_now == pytest.approx(row.mde, rel=0.05)


@pytest.mark.parametrize("repositories", [1, 2, 5])
def test_icc_of_few_repositories_is_assumed_and_said(scores_of, repositories):
    differences, homes = drawn(repositories, 60 // repositories, between=0.0)
    found = plan_of(scores_of, differences, homes)
    assert found.icc == pytest.approx(0.1)
    assert found.icc_source == "assumed"
    many = "1 repository" if repositories == 1 else f"{repositories} repositories"
    assert f"ICC 0.1, assumed, since {many} cannot estimate it; set it with --icc." in found.sentence
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


@ROUGH
@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 9), st.floats(0.05, 0.3))
def test_plan_does_not_depend_on_the_direction(seed, repositories, delta):
    differences, homes = drawn(repositories, 20, seed=seed)
    units = tuple(make_units(homes))
    values = np.stack([np.zeros(len(homes)), differences])[:, None]
    table = Scores(("old", "new"), ("nDCG@10",), units, values)
    there, back = (
        plan_comparison(table, baseline=a, engine=b, primary="nDCG@10", delta=delta)
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


def pilot_of(values: dict[float, float], within_df: float = 59.0, means_df: float | None = 5.0) -> Pilot:
    return Pilot(within_df, means_df, np.array([*values]), np.array([*values.values()]))


def test_true_difference_adds_spread_where_most_queries_tie():
    ties = pilot_of({-1.0: 0.05, 0.0: 0.9, 1.0: 0.05})
    # Tilted to a mean of .2: the odds of win and tie grow by x, those of loss and tie shrink by it.
    x = optimize.brentq(lambda x: 0.05 * (x - 1 / x) / (0.9 + 0.05 * (x + 1 / x)) - 0.2, 1, 100)
    share = 0.05 * (x + 1 / x) / (0.9 + 0.05 * (x + 1 / x))
    assert ties.spread_at(0.2) == pytest.approx(math.sqrt((share - 0.04) / 0.1), rel=1e-6)
    assert ties.spread_at(1e-6) == pytest.approx(1.0)
    half = pilot_of({-1.0: 0.5, 1.0: 0.5})
    assert half.spread_at(0.5) == pytest.approx(math.sqrt(0.75))
    # A pilot that has the difference has its spread too, in either direction.
    there, back = (pilot_of({0.0: 0.8, side: 0.2}) for side in (1.0, -1.0))
    assert there.spread_at(0.2) == pytest.approx(1.0)
    # A smaller difference is as hard to measure: the pilot does not show how often the engine would lose.
    assert there.spread_at(0.1) == pytest.approx(1.0) == back.spread_at(0.1)


def test_a_pilot_and_its_standard_deviation_give_similar_plans(scores_of):
    differences = np.random.default_rng(3).normal(0.35, 0.3, 40).clip(-1.0, 1.0)
    piloted = plan_of(scores_of, differences, delta=0.05)
    assumed = plan(components_of(piloted.sd, piloted.icc, 1, 40), 0.05)
    assert or_none(piloted.queries) == pytest.approx(or_none(assumed.queries), rel=0.1)


@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.2, 0.9, 1.0, 3.0])
def test_tilted_differences_have_the_mean(delta):
    values, shares = pilot_of({-1.0: 0.05, 0.0: 0.9, 0.5: 0.05}).tilted(delta)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ values == pytest.approx(delta, abs=1e-6)


@pytest.mark.parametrize(("clusters", "queries", "icc"), [(6, 10, 0.1), (20, 10, 0.0), (80, 1, 0.0)])
def test_simulated_power_is_that_of_normal_means_where_differences_are_normal(clusters, queries, icc):
    shares = stats.norm.pdf(np.linspace(-3, 3, 41))
    pilot = Pilot(1e9, None, np.linspace(-3, 3, 41), shares / shares.sum())
    components = components_of(0.3, icc, clusters, queries)
    se = math.sqrt((components.between + components.within / queries) / clusters)
    delta = planned_mde(se, clusters - 1, clusters)
    power = pilot.power(delta, clusters, queries, components, 0.05)
    assert power == pytest.approx(0.8, abs=0.05)
    assert pilot.power(1e-6, clusters, queries, components, 0.05) == pytest.approx(0.025, abs=0.02)


def test_many_distinct_differences_are_simulated_by_fewer():
    values = np.random.default_rng(0).normal(0.0, 0.3, 300)
    pilot = Pilot(1e9, None, np.sort(values), np.full(300, 1 / 300))
    components = components_of(float(values.std()), 0.0, 1, 60)
    delta = planned_mde(float(values.std()) / math.sqrt(60), 59, 60)
    assert pilot.power(delta, 60, 1, components, 0.05) == pytest.approx(0.8, abs=0.05)


@given(
    sd=st.floats(0.05, 0.6),
    icc=st.floats(0, 0.5),
    repositories=st.integers(1, 80),
    queries=st.integers(3, 40),
    delta=st.floats(0.005, 0.2),
)
def test_a_plan_reaches_its_difference_and_no_smaller_set_does(sd, icc, repositories, queries, delta):
    components = components_of(sd, icc, repositories, queries)
    found = plan(components, delta)

    def mde(count: int) -> float:
        variance = (components.between + components.within / queries) / count
        return planned_mde(np.sqrt(variance), count - 1, count)

    assert found.repositories is not None
    assert mde(found.repositories) <= delta
    assert found.repositories == 6 or mde(found.repositories - 1) > delta
    assert found.repositories_range is found.queries_range is None


@ROUGH
@settings(max_examples=25)
@given(
    icc=st.floats(0, 0.5),
    repositories=st.integers(1, 30),
    delta=st.floats(0.03, 0.2),
    df=st.floats(2, 60),
    source=st.sampled_from(["pilot", "given"]),
)
def test_range_holds_the_answer_and_narrows_with_the_pilot(icc, repositories, delta, df, source):
    components = components_of(0.3, icc, repositories, 10)
    shares = {-0.5: 0.18, 0.0: 0.64, 0.5: 0.18}

    def sizes(df: float) -> list[list[float]]:
        pilot = pilot_of(shares, df, df if source == "pilot" else None)
        found = plan(components, delta, pilot=pilot)
        few, many = found.repositories_range, found.queries_range
        assert few is not None
        assert many is not None
        ends = [(few.low, found.repositories, few.high), (many.low, found.queries, many.high)]
        return [[or_none(one) for one in kind] for kind in ends]

    for rough, fine in zip(sizes(df), sizes(100 * df), strict=True):
        assert rough[0] <= fine[0] <= fine[1] == rough[1] <= fine[2] <= rough[2]


def test_sentence_has_the_range_and_the_icc():
    pilot = pilot_of({-0.5: 0.18, 0.0: 0.64, 0.5: 0.18})
    found = plan(components_of(0.3, 0.1, 6, 10), 0.1, pilot=pilot, icc_source="pilot")
    sizes = found.repositories_range
    assert sizes is not None
    assert f"{found.repositories} repositories of 10 queries (95% CI {sizes.low} to {sizes.high})" in found.sentence
    assert found.sentence.endswith("ICC 0.1, from the pilot.")
    assert "90% CI" in plan(components_of(0.3, 0.1, 6, 10), 0.1, alpha=0.1, pilot=pilot).sentence
    assert "or more)" in plan(components_of(0.3, 0.02, 6, 10), 0.12, pilot=pilot).sentence


def test_queries_alone_do_not_help_when_repositories_differ_too_much():
    found = plan(components_of(0.3, 0.1, 8, 20), 0.01)
    assert found.queries is None
    assert "no number of queries in 8 repositories" in found.sentence
    assert found.repositories is not None


def test_a_plan_for_one_repository_counts_queries():
    found = plan(components_of(0.3, 0.0, 1, 60), 0.05)
    assert found.queries is not None
    assert found.queries == pytest.approx((2.8 * 0.3 / 0.05) ** 2, rel=0.03)
    assert "in one repository" in found.sentence
    assert or_none(found.mde_now) > 0.05


@pytest.mark.parametrize(
    "arguments",
    [
        (0.0, 0.1, 5, 5),
        (math.nan, 0.1, 5, 5),
        (math.inf, 0.1, 5, 5),
        (0.3, -0.1, 5, 5),
        (0.3, 1.1, 5, 5),
        (0.3, math.nan, 5, 5),
        (0.3, 0.1, 0, 5),
        (0.3, 0.1, 5, 0),
        (0.3, 0.1, 5, math.nan),
    ],
)
def test_impossible_components_are_refused(arguments):
    with pytest.raises(ConfigError):
        components_of(*arguments)


def test_a_claim_of_no_size_is_refused():
    with pytest.raises(ConfigError, match="above 0") as caught:
        plan(components_of(0.3, 0.1, 8, 20), 0.0)
    assert caught.value.hint == "use --detect 0.02"


@pytest.mark.parametrize(
    "wrong", [{"delta": math.nan}, {"delta": math.inf}, {"alpha": 0.7}, {"power": 1.0}, {"power": 0.01}]
)
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(ConfigError) as caught:
        plan(components_of(0.3, 0.1, 8, 20), **({"delta": 0.1} | wrong))
    assert caught.value.hint


@pytest.mark.nightly
@pytest.mark.parametrize("cell", cells_of("plan", "nDCG", "10 × 100"), ids=lambda cell: cell.design.name)
def test_sets_of_the_stated_size_have_the_stated_power(cell):
    found = planned_power(cell.shape, cell.design, 1_000)
    assert found["power"] == pytest.approx(0.8, abs=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("cell", cells_of("pilot", "nDCG", "6 × 60"), ids=lambda cell: cell.design.name)
def test_range_of_a_small_pilot_holds_the_size_that_is_needed(cell):
    assert pilot(cell.shape, cell.design, 300)["in range"] >= 0.9
