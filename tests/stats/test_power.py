from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from assay.errors import ConfigError
from assay.stats.clustered import cluster_table
from assay.stats.paired import sign_flip
from assay.stats.power import components_of, minimal_difference, observed_minimal_difference, plan, reach
from assay.stats.units import partition
from assay.types import Unit


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
        return minimal_difference(np.sqrt(variance), count - 1)

    assert found.repositories is not None
    assert mde(found.repositories) <= delta
    assert found.repositories == 6 or mde(found.repositories - 1) > delta


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
    assert found.mde_now > 0.05


@pytest.mark.parametrize(
    "arguments", [(0.0, 0.1, 5, 5), (0.3, -0.1, 5, 5), (0.3, 1.1, 5, 5), (0.3, 0.1, 0, 5), (0.3, 0.1, 5, 0)]
)
def test_impossible_components_are_refused(arguments):
    with pytest.raises(ConfigError):
        components_of(*arguments)


def test_a_claim_of_no_size_is_refused():
    with pytest.raises(ConfigError, match="above 0") as caught:
        plan(components_of(0.3, 0.1, 8, 20), 0.0)
    assert caught.value.hint == "for example --detect 0.02"
