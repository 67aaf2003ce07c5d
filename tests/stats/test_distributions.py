from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from assay.stats.distributions import (
    chi_square_quantile,
    incomplete_beta,
    normal_cdf,
    normal_quantile,
    t_quantile,
    t_sf,
)

PROBABILITIES = [1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.005, 0.025, 0.05, 0.1, 0.2, 0.45, 0.4999, 0.51, 0.8, 0.95, 0.9999]
DEGREES = [0.5, 1, 1.5, 2, 3, 4, 5, 7, 9, 10, 19, 29, 59, 100, 500, 1249, 1e4, 1e6]


@pytest.mark.parametrize("p", PROBABILITIES)
def test_normal_quantile_equals_scipy(p):
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-11)


@pytest.mark.parametrize("x", [-37.0, -10.0, -1.96, -1e-9, 0.0, 0.3, 1.0, 5.0, 9.0])
def test_normal_cdf_equals_scipy(x):
    assert normal_cdf(x) == pytest.approx(stats.norm.cdf(x), rel=1e-12)


@pytest.mark.parametrize("df", DEGREES)
def test_t_quantile_equals_scipy(df):
    usable = [p for p in PROBABILITIES if not (df < 2 and p < 1e-30)]  # beyond, the quantile leaves the doubles
    ours = [t_quantile(p, df) for p in usable]
    np.testing.assert_allclose(ours, stats.t.ppf(usable, df), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("df", DEGREES)
def test_chi_square_quantile_equals_scipy(df):
    usable = [p for p in PROBABILITIES if p >= 1e-6]
    ours = [chi_square_quantile(p, df) for p in usable]
    np.testing.assert_allclose(ours, stats.chi2.ppf(usable, df), rtol=1e-9 if df < 2_000 else 1e-4)


@pytest.mark.parametrize("df", DEGREES)
def test_t_tail_equals_scipy(df):
    points = [s * t for t in (0.0, 1e-3, 0.1, 0.5, 1, 2, 3, 5, 10, 30) for s in (1, -1)]
    np.testing.assert_allclose([t_sf(t, df) for t in points], stats.t.sf(points, df), rtol=1e-9)


@pytest.mark.parametrize("a", [0.1, 0.5, 1, 2.5, 10, 77, 1e3, 1e5])
@pytest.mark.parametrize("b", [0.1, 0.5, 1, 3, 20, 1e3])
def test_incomplete_beta_equals_scipy_where_its_fraction_converges(a, b):
    points = [x for x in (1e-10, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6) if x < (a + 1) / (a + b + 2)]
    ours = [incomplete_beta(a, b, x, 1 - x) for x in points]
    assert ours
    np.testing.assert_allclose(ours, special.betainc(a, b, points), atol=1e-11)


@given(p=st.floats(1e-9, 1 - 1e-9), df=st.floats(0.6, 1e5))
def test_t_quantile_inverts_the_tail(p, df):
    assert t_sf(-t_quantile(p, df), df) == pytest.approx(p, rel=1e-9)


@given(p=st.floats(1e-6, 1 - 1e-6), df=st.floats(1, 1e4))
def test_t_is_symmetric(p, df):
    t = t_quantile(p, df)
    assert t_sf(t, df) + t_sf(-t, df) == pytest.approx(1.0, rel=1e-12)


def test_edges_are_infinite_and_outside_is_nan():
    assert (normal_quantile(0.0), normal_quantile(1.0)) == (-math.inf, math.inf)
    assert (t_quantile(0.0, 3.0), t_quantile(1.0, 3.0), t_quantile(0.5, 3.0)) == (-math.inf, math.inf, 0.0)
    assert math.isnan(normal_quantile(1.5))
    assert math.isnan(t_quantile(0.3, 0.0))
    assert t_sf(math.inf, 3.0) == 0.0
    assert t_sf(1.0, math.inf) == pytest.approx(stats.norm.sf(1.0))
