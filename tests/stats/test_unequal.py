"""Unequal clusters: what the exact sign-flip test can find."""

import math

import numpy as np
import pytest

from assay.stats.distributions import normal_quantile
from assay.stats.unequal import unequal_factor


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
