from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from assay.errors import ConfigError
from assay.stats.clustered import cluster_table
from assay.stats.paired import sign_flip
from assay.stats.power import (
    Pilot,
    components_of,
    minimal_difference,
    observed_minimal_difference,
    plan,
    planned_minimal_difference,
    reach,
)
from assay.stats.units import partition
from assay.types import Unit

from .conftest import or_none


@pytest.mark.parametrize("df", [5, 9, 19, 59, 500])
def test_reach_is_that_of_the_noncentral_t(df):
    critical = stats.t.ppf(0.975, df)
    exact = optimize.brentq(lambda shift: stats.nct.sf(critical, df, shift) - 0.8, 1, 8)
    assert reach(df) == pytest.approx(exact, rel=0.01)


def test_observed_difference_allows_for_an_estimated_error_and_a_coarse_test():
    assert observed_minimal_difference(1.0, 400, 401) == pytest.approx(minimal_difference(1.0, 400), rel=1e-3)
    assert observed_minimal_difference(1.0, 9, 10) > 1.02 * minimal_difference(1.0, 9)
    # Six clusters must all lean one way: √6·Φ⁻¹(.8^(1/6)), and an SE with five degrees is 4.8 % too small on average.
    unanimous = np.sqrt(6) * stats.norm.ppf(0.8 ** (1 / 6))
    assert observed_minimal_difference(1.0, 5, 6) == pytest.approx(unanimous / 0.9515, rel=0.01)


@pytest.mark.parametrize(("clusters", "alpha"), [(7, 0.05), (8, 0.05), (9, 0.05), (9, 0.025), (10, 0.01)])
def test_observed_difference_is_found_by_the_exact_test_four_times_in_five(clusters, alpha):
    """Normal clusters whose mean has an SE of one; with few p-values at or below α the t form would say too little."""
    bias = np.sqrt(2 / (clusters - 1)) * special.gamma(clusters / 2) / special.gamma((clusters - 1) / 2)
    delta = bias * observed_minimal_difference(1.0, clusters - 1, clusters, alpha=alpha)
    values = np.random.default_rng(5).normal(delta, np.sqrt(clusters), (clusters, 4000))
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(clusters)])
    p = sign_flip(cluster_table(values, parts), np.random.default_rng(0))
    assert p is not None
    assert np.mean(p <= alpha) == pytest.approx(0.8, abs=0.025)  # four Monte-Carlo standard errors


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
        return planned_minimal_difference(np.sqrt(variance), count - 1, count)

    assert found.repositories is not None
    assert mde(found.repositories) <= delta
    assert found.repositories == 6 or mde(found.repositories - 1) > delta
    assert found.repositories_range is found.queries_range is None


def test_planned_difference_is_that_of_the_exact_test():
    # Six clusters must all lean one way: √6·Φ⁻¹(.8^(1/6)); the t form would have power .60 there.
    unanimous = np.sqrt(6) * stats.norm.ppf(0.8 ** (1 / 6))
    assert planned_minimal_difference(1.0, 5, 6) == pytest.approx(unanimous, rel=0.01)
    assert planned_minimal_difference(1.0, 59, 60) == minimal_difference(1.0, 59)
    found = [planned_minimal_difference(count**-0.5, count - 1, count) for count in range(6, 40)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("clusters", "alpha"), [(5, 0.05), (6, 0.01), (100, 1e-5)])
def test_no_difference_is_shown_where_the_test_cannot_reach_its_level(clusters, alpha):
    assert planned_minimal_difference(1.0, clusters - 1, clusters, alpha=alpha) == math.inf


def pilot_of(values: dict[float, float], within_df: float = 59.0, means_df: float | None = 5.0) -> Pilot:
    return Pilot(within_df, means_df, np.array([*values]), np.array([*values.values()]))


def test_true_difference_adds_spread_where_most_queries_tie():
    ties = pilot_of({-1.0: 0.05, 0.0: 0.9, 1.0: 0.05})
    # Tilted to a mean of .2: the odds of win and tie grow by x, those of loss and tie shrink by it.
    x = optimize.brentq(lambda x: 0.05 * (x - 1 / x) / (0.9 + 0.05 * (x + 1 / x)) - 0.2, 1, 100)
    share = 0.05 * (x + 1 / x) / (0.9 + 0.05 * (x + 1 / x))
    assert ties.shifted(0.2)[0] == pytest.approx(math.sqrt((share - 0.04) / 0.1), rel=1e-6)
    assert ties.shifted(1e-6)[0] == pytest.approx(1.0)
    half = pilot_of({-1.0: 0.5, 1.0: 0.5})
    assert half.shifted(0.5)[0] == 1.0
    # A pilot that has the difference has its spread too, in either direction.
    there, back = (pilot_of({0.0: 0.8, side: 0.2}).shifted(0.1) for side in (1.0, -1.0))
    assert there == back
    assert there == pytest.approx((1.0, 1.5))


def test_skewed_clusters_need_less_where_the_long_tail_is_on_the_side_of_the_difference():
    for clusters in (6, 8, 12, 40):
        left, none, right = (planned_minimal_difference(1.0, clusters - 1, clusters, skew=s) for s in (-1.0, 0.0, 1.0))
        assert right < none < left


@pytest.mark.parametrize("clusters", [12, 25])
def test_skewed_difference_is_found_four_times_in_five(clusters):
    """Gamma clusters with skewness 1 whose mean has an SE of one."""
    delta = planned_minimal_difference(1.0, clusters - 1, clusters, skew=1.0)
    drawn = (np.random.default_rng(5).gamma(4.0, size=(clusters, 4000)) - 4.0) / 2.0
    values = delta + np.sqrt(clusters) * drawn
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(clusters)])
    p = sign_flip(cluster_table(values, parts), np.random.default_rng(0), resamples=1_999)
    assert p is not None
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.05)


@given(st.integers(1, 60), st.floats(0.05, 1.0), st.floats(0.1, 0.9))
def test_half_step_of_hits_and_misses_is_half_a_query(queries, size, ties):
    pilot = pilot_of({-size: (1 - ties) / 2, 0.0: ties, size: (1 - ties) / 2})
    if queries * (1 - ties) >= 5:
        assert pilot.half_step(queries) == pytest.approx(size / (2 * queries), rel=0.15)
    assert pilot.half_step(10 * queries) <= pilot.half_step(queries)


def test_half_step_vanishes_where_sums_hardly_ever_tie():
    values = np.random.default_rng(0).normal(0.0, 0.3, 200)
    assert Pilot(199, None, values, np.full(200, 1 / 200)).half_step(10) < 1e-3


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
    assert "no number of queries in these 8 repositories" in found.sentence
    assert found.repositories is not None


def test_a_plan_for_one_repository_counts_queries():
    found = plan(components_of(0.3, 0.0, 1, 60), 0.05)
    assert found.queries is not None
    assert found.queries == pytest.approx((2.8 * 0.3 / 0.05) ** 2, rel=0.03)
    assert "in this repository" in found.sentence
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
    assert caught.value.hint == "for example --detect 0.02"


@pytest.mark.parametrize(
    "wrong", [{"delta": math.nan}, {"delta": math.inf}, {"alpha": 0.7}, {"power": 1.0}, {"power": 0.01}]
)
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(ConfigError) as caught:
        plan(components_of(0.3, 0.1, 8, 20), **({"delta": 0.1} | wrong))
    assert caught.value.hint
