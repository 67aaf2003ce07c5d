from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from assay.stats.clustered import cluster_table
from assay.stats.distributions import normal_quantile
from assay.stats.paired import mde_from_se, observed_mde, planned_mde, sign_flip, unequal_factor
from assay.stats.score_table import partition
from assay.types import Unit


@pytest.mark.parametrize("df", [5, 9, 19, 59, 500])
def test_reach_is_that_of_the_noncentral_t(df):
    critical = stats.t.ppf(0.975, df)
    exact = optimize.brentq(lambda shift: stats.nct.sf(critical, df, shift) - 0.8, 1, 8)
    assert mde_from_se(1.0, df) == pytest.approx(exact, rel=0.01)


def test_observed_difference_allows_for_an_estimated_error_and_a_coarse_test():
    assert observed_mde(1.0, 400, 401) == pytest.approx(mde_from_se(1.0, 400), rel=1e-3)
    assert observed_mde(1.0, 9, 10) > 1.02 * mde_from_se(1.0, 9)
    # Six clusters must all lean one way: √6·Φ⁻¹(.8^(1/6)), and an SE with five degrees is 4.8 % too small on average.
    unanimous = np.sqrt(6) * stats.norm.ppf(0.8 ** (1 / 6))
    assert observed_mde(1.0, 5, 6) == pytest.approx(unanimous / 0.9515, rel=0.01)


@pytest.mark.parametrize(("clusters", "alpha"), [(7, 0.05), (8, 0.05), (9, 0.05), (9, 0.025), (10, 0.01)])
def test_observed_difference_is_found_by_the_exact_test_four_times_in_five(clusters, alpha):
    """Normal clusters whose mean has an SE of one; with few p-values at or below α the t form would say too little."""
    bias = np.sqrt(2 / (clusters - 1)) * special.gamma(clusters / 2) / special.gamma((clusters - 1) / 2)
    delta = bias * observed_mde(1.0, clusters - 1, clusters, alpha=alpha)
    values = np.random.default_rng(5).normal(delta, np.sqrt(clusters), (clusters, 4000))
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(clusters)])
    p = sign_flip(cluster_table(values, parts), np.random.default_rng(0))
    assert p is not None
    assert np.mean(p <= alpha) == pytest.approx(0.8, abs=0.025)  # four Monte-Carlo standard errors


def test_planned_difference_is_that_of_the_exact_test():
    # Six clusters must all lean one way: √6·Φ⁻¹(.8^(1/6)); the t form would have power .60 there.
    unanimous = np.sqrt(6) * stats.norm.ppf(0.8 ** (1 / 6))
    assert planned_mde(1.0, 5, 6) == pytest.approx(unanimous, rel=0.01)
    assert planned_mde(1.0, 59, 60) == mde_from_se(1.0, 59)
    found = [planned_mde(count**-0.5, count - 1, count) for count in range(6, 40)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("clusters", "alpha"), [(5, 0.05), (6, 0.01), (100, 1e-5)])
def test_no_difference_is_shown_where_the_test_cannot_reach_its_level(clusters, alpha):
    assert planned_mde(1.0, clusters - 1, clusters, alpha=alpha) == math.inf


@pytest.mark.parametrize("clusters", [6, 7, 9])
def test_equal_clusters_do_not_raise_the_difference_that_is_found(clusters):
    assert unequal_factor(np.full(clusters, 20.0), 0.1) == 1.0


def test_unequal_clusters_raise_the_difference_that_the_exact_test_finds_unless_they_are_much_alike():
    sizes = np.array([2.0, 3.0, 10.0, 40.0, 60.0, 185.0])
    found = [unequal_factor(sizes, icc) for icc in (0.0, 0.05, 1.0)]
    assert found[0] > 1.3
    assert found == sorted(found, reverse=True)
    assert unequal_factor(np.array([*sizes, 5.0, 5.0, 5.0, 5.0]), 0.0) == 1.0, "ten clusters need not all agree"
    assert unequal_factor(sizes[:5], 0.0) == 1.0, "five clusters have no p-value"


def test_test_finds_the_raised_difference_of_unequal_clusters_in_four_of_five_sets():
    rng, sizes = np.random.default_rng(8), np.array([4, 6, 12, 40, 60, 178])
    se = 0.3 / math.sqrt(sizes.sum())
    delta = minimal_of_exact_test(se) * unequal_factor(sizes.astype(float), 0.0)
    sums = rng.normal(delta, 0.3, (2_000, sizes.sum())) @ np.repeat(np.eye(6), sizes, axis=0)
    assert np.mean((sums > 0).all(axis=1)) == pytest.approx(0.8, abs=0.03)


def minimal_of_exact_test(se: float) -> float:
    """All six equal clusters must agree: √6 Φ⁻¹(.8^(1/6)) standard errors."""
    return math.sqrt(6) * normal_quantile(0.8 ** (1 / 6)) * se
