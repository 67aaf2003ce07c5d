from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.clustered import ClusterTable, cluster_table, estimate
from assay.stats.paired import effects, intraclass_correlation, sign_flip, smallest_p, variance_components
from assay.stats.score_table import partition
from tests.properties import examples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from assay.types import Unit

lattice = st.sampled_from([0.0, 0.0, 0.1, -0.1, 0.37, -0.5, 1.0])


def table_of(values: ArrayLike, units: Sequence[Unit]) -> ClusterTable:
    return cluster_table(np.asarray(values, dtype=float).reshape(len(units), -1), partition(units))


def p_of(values: ArrayLike, units: Sequence[Unit], seed: int = 0, **options: Any) -> Any:
    found = sign_flip(table_of(values, units), np.random.default_rng(seed), **options)
    return None if found is None else float(found[0])


def brute_force(values: Sequence[float], homes: Sequence[int], strata: dict[int, int] | None = None) -> float:
    """Enumerate all 2^G patterns; |t| from the textbook formula, ties with a relative tolerance."""
    groups = sorted(set(homes))
    strata = strata or dict.fromkeys(groups, 0)
    n = len(values)

    def t(flipped: Sequence[float]) -> float:
        mean, variance = sum(flipped) / n, 0.0
        for stratum in set(strata.values()):
            members = [g for g in groups if strata[g] == stratum]
            inside = [v for v, h in zip(flipped, homes, strict=True) if strata[h] == stratum]
            centre = sum(inside) / len(inside)
            sums = [sum(v - centre for v, h in zip(flipped, homes, strict=True) if h == g) for g in members]
            variance += len(members) / (len(members) - 1) * sum(s * s for s in sums) / n**2
        if variance <= 1e-20:
            return math.inf if abs(mean) > 1e-10 else 0.0
        return float(abs(mean) / math.sqrt(variance))

    observed = t(list(values))
    reached = 0
    for signs in itertools.product((1, -1), repeat=len(groups)):
        sign = dict(zip(groups, signs, strict=True))
        value: float = t([v * sign[h] for v, h in zip(values, homes, strict=True)])
        reached += value >= observed * (1 - 1e-9) - 1e-9 or value == observed
    return float(reached / 2 ** len(groups))


@examples(40)
@given(data=st.data(), repositories=st.integers(6, 8))
def test_exact_sign_flip_equals_enumeration_of_repositories(data, repositories, units_of):
    homes = [*range(repositories), *data.draw(st.lists(st.integers(0, repositories - 1), max_size=10))]
    values = data.draw(st.lists(lattice, min_size=len(homes), max_size=len(homes)))
    assert p_of(values, units_of(homes)) == pytest.approx(brute_force(values, homes))


@examples(20)
@given(values=st.lists(lattice, min_size=9, max_size=9))
def test_exact_sign_flip_equals_enumeration_of_intents_in_three_repositories(values, units_of):
    strata = {i: i % 3 for i in range(9)}
    assert p_of(values, units_of([i % 3 for i in range(9)])) == pytest.approx(
        brute_force(values, list(range(9)), strata)
    )


def test_sign_flip_of_single_queries_is_near_the_paired_t_test(units_of):
    values = np.random.default_rng(0).normal(0.06, 0.2, 60)
    p = p_of(values, units_of([0] * 60), resamples=100_000)
    assert p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.01)


@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_no_p_value_below_six_clusters(clusters, units_of):
    assert p_of(np.ones(clusters), units_of([0] * clusters)) is None
    assert smallest_p(clusters) is None


@pytest.mark.parametrize(("clusters", "expected"), [(6, 2 / 64), (16, 2 / 2**16), (17, 1 / 10_001), (200, 1 / 10_001)])
def test_the_smallest_p_is_reached_by_a_unanimous_difference(clusters, expected, units_of):
    assert smallest_p(clusters) == pytest.approx(expected)
    values = np.ones(clusters) + np.linspace(0, 1e-3, clusters)
    assert p_of(values, units_of([0] * clusters)) >= expected * (1 - 1e-12)
    if clusters <= 100:  # with so many, one of 10,000 draws is unanimous with chance 2^(1 - clusters)·10,000
        assert p_of(values, units_of([0] * clusters)) <= expected + 3 / 10_001


def test_no_difference_has_p_one_and_a_constant_one_the_smallest(units_of):
    units = units_of([0] * 10)
    assert p_of(np.zeros(10), units) == 1.0
    assert p_of(np.full(10, 0.1), units) == pytest.approx(2 / 2**10)


def test_random_p_is_never_zero(units_of):
    assert p_of(np.ones(40), units_of([0] * 40), resamples=99) == pytest.approx(1 / 100)


@pytest.mark.parametrize("repositories", [1, 4, 9, 25])
def test_sign_flip_does_not_depend_on_the_block_size(repositories, units_of):
    values = np.random.default_rng(1).normal(0.1, 1, size=(60, 4))
    table = table_of(values, units_of([i % repositories for i in range(60)]))
    found = [sign_flip(table, np.random.default_rng(2), resamples=700, cells=cells) for cells in (64, 1000, 10**7)]
    assert found[0] is not None
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_sign_flip_is_a_function_of_the_seed(units_of):
    values, units = np.random.default_rng(3).normal(0.1, 1, 40), units_of([0] * 40)
    assert p_of(values, units, seed=1) == p_of(values, units, seed=1)
    assert p_of(values, units, seed=1) != p_of(values, units, seed=2)


@examples(30)
@given(values=st.lists(lattice, min_size=14, max_size=14), order=st.permutations(range(14)))
def test_exact_sign_flip_ignores_order_names_and_the_sign_of_the_comparison(values, order, units_of):
    homes = [i % 7 for i in range(14)]
    p = p_of(values, units_of(homes))
    assert p_of([values[i] for i in order], units_of([homes[i] for i in order])) == p
    assert p_of(values, units_of([(3 * h) % 7 + 10 for h in homes])) == p
    assert p_of([-v for v in values], units_of(homes)) == p


def test_the_estimand_is_the_mean_over_queries(units_of):
    homes, values = [0] * 18 + [1, 2, 3, 4, 5], [0.1] * 18 + [-0.2] * 5
    assert estimate(table_of(values, units_of(homes))).mean[0] == pytest.approx(np.mean(values))


@given(values=st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_wins_ties_and_losses_swap_with_the_direction(values):
    differences, groups = np.array(values), np.zeros(len(values), dtype=np.intp)
    up, down = (effects(differences, groups, 0.1, higher_is_better=h) for h in (True, False))
    assert (up.wins, up.ties, up.losses) == (down.losses, down.ties, down.wins)
    assert up.wins + up.ties + up.losses == len(values)
    assert up.worse_share == up.losses / len(values)


def test_effect_sizes_of_a_known_case():
    found = effects(np.array([0.2, 0.0, -0.1, 0.3]), np.array([0, 0, 1, 1]), 0.1)
    assert found.d_z == pytest.approx(0.1 / np.std([0.2, 0.0, -0.1, 0.3], ddof=1))
    assert (found.wins, found.ties, found.losses, found.worse_share) == (2, 1, 1, 0.25)
    assert found.design_effect == pytest.approx(0.01 * 4 / np.var([0.2, 0.0, -0.1, 0.3], ddof=1))


def test_effective_n_is_never_above_n():
    assert effects(np.array([0.2, 0.0, -0.1, 0.3]), np.array([0, 0, 1, 1]), 1e-6).effective_n == 4
    assert effects(np.zeros(4), np.array([0, 0, 1, 1]), 0.0).d_z is None


def test_icc_of_extreme_cases():
    groups = np.repeat(np.arange(5, dtype=np.intp), 4)
    assert intraclass_correlation(groups.astype(float), groups) == 1.0
    assert intraclass_correlation(np.tile([1.0, -1.0], 10), groups) == 0.0
    assert intraclass_correlation(np.zeros(20), groups) == 0.0
    assert intraclass_correlation(np.arange(5.0), np.arange(5)) is None
    assert intraclass_correlation(np.arange(5.0), np.zeros(5, dtype=np.intp)) is None


def test_variance_components_find_what_was_put_in():
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(2000), rng.integers(5, 15, 2000))
    values = rng.normal(0, 0.3, 2000)[groups] + rng.normal(0, 0.9, len(groups))
    found = variance_components(values, groups)
    assert found is not None
    assert (found.between, found.within) == pytest.approx((0.09, 0.81), rel=0.1)
    assert found.icc == pytest.approx(0.1, abs=0.01)
