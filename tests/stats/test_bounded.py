"""Bounds of a mean that allow for differences a set did not show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.intervals import lower_bound, upper_bound
from assay.stats.paired import is_skewed
from tests.properties import examples

VALUES = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=2, max_size=40)


@pytest.mark.parametrize(("queries", "losses"), [(30, 0), (100, 0), (100, 1), (100, 3), (300, 6), (600, 30)])
@pytest.mark.parametrize("alpha", [0.025, 0.05])
def test_losses_of_everything_have_the_bound_of_clopper_and_pearson(queries, losses, alpha):
    values = np.zeros(queries)
    values[:losses] = -1.0
    exact = -stats.beta.ppf(1 - alpha, losses + 1, queries - losses)
    assert lower_bound(values, np.ones(queries), alpha, -1.0) == pytest.approx(exact, rel=0.01)


def test_bound_is_the_quantile_of_random_weights_with_one_more_worst_value():
    rng = np.random.default_rng(3)
    values = rng.choice([-0.63, -0.13, 0.0, 0.0, 0.37, 1.0], 60)
    weights = rng.exponential(size=(200_000, 61))
    means = (weights[:, :60] @ values - weights[:, 60]) / weights.sum(axis=1)
    assert lower_bound(values, np.ones(60), 0.05, -1.0) == pytest.approx(np.quantile(means, 0.05), abs=0.002)


@given(VALUES, st.sampled_from([0.01, 0.025, 0.05]))
@examples(60)
def test_bounds_enclose_the_mean_mirror_each_other_and_widen_with_fewer_queries(values, alpha):
    given_values = np.array(values)
    ones = np.ones(len(values))
    low, high = lower_bound(given_values, ones, alpha, -1.0), upper_bound(given_values, ones, alpha, 1.0)
    assert -1.0 <= low <= given_values.mean() + 1e-6
    assert given_values.mean() - 1e-6 <= high <= 1.0
    assert low == pytest.approx(-upper_bound(-given_values, ones, alpha, 1.0), abs=1e-6)
    assert lower_bound(given_values, ones / 2, alpha, -1.0) <= low + 1e-6
    assert lower_bound(given_values, ones, alpha / 2, -1.0) <= low + 1e-6


def test_weights_count_a_value_as_often():
    values, weights = np.array([0.5, -0.2, 0.0]), np.array([3.0, 1.0, 2.0])
    repeated = np.repeat(values, [3, 1, 2])
    assert lower_bound(values, weights, 0.05, -1.0) == pytest.approx(lower_bound(repeated, np.ones(6), 0.05, -1.0))


def test_bound_of_values_that_are_all_the_worst_is_the_worst():
    assert lower_bound(np.full(4, -1.0), np.ones(4), 0.05, -1.0) == -1.0


def test_rare_large_losses_against_frequent_small_gains_are_skewed():
    gains = [0.07] * 40 + [0.0] * 58
    assert is_skewed(np.array([*gains, -1.0, -0.63]), 1.0)
    assert is_skewed(np.array(gains), 1.0), "a set without any loss does not prove that there is none"
    assert is_skewed(-np.array([*gains, -1.0]), 1.0)


def test_differences_of_like_sizes_are_not_skewed():
    small = np.random.default_rng(4).normal(0.05, 0.04, 40)
    assert 0 < (small < 0).sum() < 10
    assert not is_skewed(small, 1.0), "small losses were seen, so losses are not taken for large ones"
    assert not is_skewed(np.array([0.5, 0.37, 0.63, -0.5, 0.0, 0.0]), 1.0)
    assert not is_skewed(np.array([0.05] * 30 + [-0.05] * 40), 1.0)
    assert not is_skewed(np.array([0.1, -0.9]), 1.0), "neither side is the frequent one"
    assert not is_skewed(np.zeros(10), 1.0)
