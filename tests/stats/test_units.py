from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.clustered import cluster_table, estimate
from assay.stats.intervals import difference_interval
from assay.stats.records import ValueRange
from assay.stats.score_table import Partition, average_phrasings, partition
from assay.types import Unit


def unit(query: str, repository: str, form: str = "human", gold: str = "g") -> Unit:
    return Unit(gold, query, form, repository)


def strata_of(found: Partition) -> int:
    return len(set(found.strata.tolist()))


@pytest.mark.parametrize("repositories", [6, 7, 30])
def test_partition_uses_repositories_from_six_up(repositories):
    found = partition([unit(f"q{i}", f"r{i % repositories}") for i in range(60)])
    assert (found.kind, found.count, strata_of(found)) == ("repository", repositories, 1)
    assert found.label == f"over {repositories} repositories"


@pytest.mark.parametrize("repositories", [2, 5])
def test_partition_resamples_intents_inside_two_to_five_repositories(repositories):
    found = partition([unit(f"q{i}", f"r{i % repositories}") for i in range(60)])
    assert (found.kind, found.count, strata_of(found)) == ("intent", 60, repositories)
    assert found.label == f"on these {repositories} repositories only"
    assert list(found.strata) == sorted(found.strata)


def test_partition_of_one_repository_says_so():
    found = partition([unit(f"q{i}", "r") for i in range(9)])
    assert (found.kind, found.count, strata_of(found), found.label) == ("intent", 9, 1, "on this repository")


def test_partition_without_a_repository_speaks_of_queries_only():
    assert partition([unit(f"q{i}", "") for i in range(9)]).label == "on these queries"
    assert partition([unit(f"q{i}", "r" * (i % 2)) for i in range(9)]).label == "on these 2 repositories only"


@pytest.mark.parametrize("repositories", [1, 2, 3, 4, 5])
def test_every_stratum_costs_a_degree_of_freedom(repositories):
    units = [unit(f"q{i}", f"r{i % repositories}") for i in range(40)]
    values = np.random.default_rng(repositories).random((40, 1))
    found = estimate(cluster_table(values, partition(units)))
    assert found.df == pytest.approx(40 - repositories, rel=1e-4)
    spreads = [values[i::repositories].var(ddof=1) * len(values[i::repositories]) for i in range(repositories)]
    assert found.se[0] == pytest.approx(np.sqrt(sum(spreads)) / 40)
    half = (difference_interval(found, ValueRange()).high - found.mean)[0]
    assert half == pytest.approx(stats.t.ppf(0.975, found.df) * found.se[0], rel=1e-9)


@given(order=st.permutations(range(12)))
def test_partition_puts_each_unit_in_its_repositorys_stratum(order):
    units = [unit(f"q{i}", f"r{i % 3}") for i in range(12)]
    found = partition([units[i] for i in order])
    homes = {i: int(found.strata[found.clusters[place]]) for place, i in enumerate(order)}
    assert all((homes[i] == homes[j]) == (i % 3 == j % 3) for i in range(12) for j in range(12))


def test_phrasings_of_one_intent_share_a_cluster():
    units = [unit(f"q{i}", "r", form) for i in range(7) for form in ("human", "keyword", "ai_optimized")]
    assert partition(units).count == 7


def test_same_query_id_in_two_golds_is_two_intents():
    assert partition([unit("q", "r", gold="a"), unit("q", "r", gold="b")]).count == 2


def test_average_phrasings_gives_one_column_an_intent():
    units = [unit("a", "r"), unit("b", "r"), unit("a", "r", "keyword"), unit("c", "r")]
    intents, values = average_phrasings(units, np.array([[0.0, 0.2, 1.0, np.nan]]))
    assert [u.query for u in intents] == ["a", "b", "c"]
    np.testing.assert_array_equal(values, [[0.5, 0.2, np.nan]])


def test_average_phrasings_leaves_out_phrasings_without_a_value():
    units = [unit("a", "r"), unit("a", "r", "keyword")]
    assert average_phrasings(units, np.array([[np.nan, 0.4]]))[1].tolist() == [[0.4]]


def test_repeating_phrasings_does_not_shrink_the_standard_error():
    rng = np.random.default_rng(0)
    values = rng.random((20, 1))
    once = [unit(f"q{i}", "r") for i in range(20)]
    thrice = [unit(f"q{i}", "r", form) for i in range(20) for form in ("human", "keyword", "ai_optimized")]
    expected = estimate(cluster_table(values, partition(once))).se
    clustered = estimate(cluster_table(np.repeat(values, 3, axis=0), partition(thrice))).se
    intents, averaged = average_phrasings(thrice, np.repeat(values, 3, axis=0).T)
    folded = estimate(cluster_table(averaged.T, partition(intents))).se
    np.testing.assert_allclose([clustered, folded], [expected, expected], rtol=1e-12)


@pytest.mark.parametrize("sizes", [[1, 5], [1, 1, 5], [1, 1], [1, 1, 1, 1, 1], [1, 4, 2, 6]])
def test_lone_intents_are_merged_so_that_every_stratum_has_a_spread(sizes):
    units = [unit(f"q{r}-{i}", f"r{r}") for r, size in enumerate(sizes) for i in range(size)]
    found = partition(units)
    assert np.bincount(found.strata).min() >= 2
    assert sorted(found.clusters) == list(range(sum(sizes)))


def test_stratified_error_ignores_the_spread_between_repositories():
    units = [unit(f"q{i}", f"r{i % 3}") for i in range(30)]
    values = np.array([[0.3 * (i % 3) + 0.01 * (i // 3)] for i in range(30)])
    inside = np.array([[0.01 * (i // 3)] for i in range(30)])
    se = estimate(cluster_table(values, partition(units))).se
    np.testing.assert_allclose(se, estimate(cluster_table(inside, partition(units))).se, rtol=1e-9)


def test_queries_that_share_targets_are_one_cluster_inside_repositories():
    units = [replace(unit(f"q{i}", f"r{i % 2}"), shared=f"s{i // 4}" if i < 8 else "") for i in range(20)]
    found = partition(units)
    assert found.count == 12 + 4  # two groups, each in two repositories
    assert found.shared == "20 queries form 16 units: queries that share targets count as one"
    assert found.nouns == "16 units"
    assert found.label == partition([replace(one, shared="") for one in units]).label
    assert partition(units, "intent").count == 16


def test_shared_targets_change_nothing_where_repositories_are_clusters():
    units = [unit(f"q{i}", f"r{i % 6}") for i in range(60)]
    shared = [replace(one, shared=f"s{i // 12}") for i, one in enumerate(units)]
    found, expected = partition(shared), partition(units)
    assert (found.kind, found.shared, found.label) == ("repository", "", expected.label)
    assert found.clusters.tolist() == expected.clusters.tolist()


def test_a_query_whose_partners_are_elsewhere_stands_alone():
    units = [replace(unit(f"q{i}", "r"), shared="s" if i == 3 else "") for i in range(9)]
    found = partition(units)
    assert (found.count, found.shared, found.nouns) == (9, "", "9 intents")
