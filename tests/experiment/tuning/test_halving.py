"""Half-splits: laws that hold for any data, and simulations that show the honest number to be honest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.errors import GoldError
from assay.experiment.spec.variants import SettingChange
from assay.experiment.tuning import GridPoint, tune_scores
from assay.stats.selection import split_half
from assay.types import AnalysisPlan, Scores, Unit
from tests.properties import examples

PLAN = AnalysisPlan(("nDCG@10",), "default")


def units_of(homes):
    return tuple(Unit("g", f"q{at}", "human", f"r{home:03d}") for at, home in enumerate(homes))


def tuned(values, homes, seed=0, partitions=20, plan=PLAN):
    """Tune over points given by their values; the first is the default."""
    names = ("default", *(f"p{at}" for at in range(1, len(values))))
    scores = Scores(names, ("nDCG@10",), units_of(homes), np.asarray(values)[:, None, :])
    points = tuple(GridPoint(SettingChange(name, {"x": at}), {"x": at}) for at, name in enumerate(names[1:], 1))
    return tune_scores(scores, "default", points, AnalysisPlan(plan.measures, plan.baseline, seed=seed), partitions)


@st.composite
def fields(draw):
    points, homes = draw(st.integers(2, 5)), draw(st.lists(st.integers(0, 7), min_size=6, max_size=24))
    coarse = st.integers(0, 4).map(lambda value: value / 4)
    values = draw(arrays(np.float64, (points, len(homes)), elements=coarse))
    return values, homes


@examples(80)
@given(fields(), st.integers(0, 3))
def test_laws_of_halving(field, seed):
    values, homes = field
    units = units_of(homes)

    found = split_half(values, (0, *[1] * (len(values) - 1)), units, partitions=7, seed=seed)
    assert sum(found.chosen) == 14
    for seen in (found.honest, found.apparent):
        assert (values.min(axis=0) - 1e-12 <= seen).all()
        assert (seen <= values.max(axis=0) + 1e-12).all()
    assert found.apparent.mean() >= values[0].mean() - 1e-9  # what is chosen on a half is never worse there
    assert found.best == 0 or values[found.best].mean() > values[0].mean()
    assert values[found.best].mean() >= values.mean(axis=1).max() - 1e-9
    turned = split_half(
        1.0 - values, (0, *[1] * (len(values) - 1)), units, higher_is_better=False, partitions=7, seed=seed
    )
    assert turned.chosen == found.chosen
    np.testing.assert_allclose(1.0 - turned.honest, found.honest)
    again = split_half(values, (0, *[1] * (len(values) - 1)), units, partitions=7, seed=seed)
    assert (again.honest == found.honest).all()


def test_each_query_is_unseen_exactly_once_in_every_halving():
    homes = np.repeat(np.arange(8), 4)
    one_for_all = np.full((3, 32), 0.5)
    one_for_all[2] += np.where(homes == 0, 0.5, -0.1)  # wins only where repository 0 is seen
    found = split_half(one_for_all, (0, 1, 1), units_of(homes), partitions=40)
    assert found.honest[homes == 0] == pytest.approx(0.5)  # never chosen by the half without it
    assert found.apparent[homes == 0] == pytest.approx(1.0)
    assert found.honest[homes != 0].min() < 0.5
    assert found.chosen == (40, 0, 40)


def test_ties_go_to_the_default_then_to_the_fewest_changes_then_to_the_first():
    homes, flat = range(12), np.full(12, 0.5)
    better = flat + 0.1

    assert split_half(np.stack([flat, flat, flat]), (0, 1, 1), units_of(homes), partitions=3).best == 0
    assert split_half(np.stack([flat, better, better]), (0, 2, 1), units_of(homes), partitions=3).best == 2
    assert split_half(np.stack([flat, better, better]), (0, 1, 1), units_of(homes), partitions=3).best == 1
    nearly = np.stack([better, better + 1e-12, better])
    assert split_half(nearly, (0, 1, 1), units_of(homes), partitions=3).chosen == (6, 0, 0)


def test_clusters_are_never_torn_apart():
    homes = np.repeat(np.arange(6), 5)
    rng = np.random.default_rng(3)
    effects = rng.normal(size=(4, 6))[:, homes]
    found = split_half(effects, (0, 1, 1, 1), units_of(homes), partitions=9)
    for repository in range(6):
        assert len(set(np.round(found.honest[homes == repository], 12))) == 1
    assert found.clusters == 6
    assert found.label == "6 repositories"


def test_intents_are_halved_inside_each_of_a_few_repositories():
    homes = np.repeat([0, 1], 6)
    values = np.stack([np.zeros(12), np.where(homes == 0, 1.0, -1.0)])
    found = split_half(values, (0, 1), units_of(homes), partitions=10)
    assert found.clusters == 12
    assert found.chosen == (20, 0)  # both halves hold as much of either: a tie, so the default


def test_too_few_clusters_are_refused():
    with pytest.raises(GoldError, match="cannot halve 3 intents"):
        split_half(np.zeros((2, 3)), (0, 1), units_of([0, 0, 0]), partitions=20)


def test_queries_that_the_measure_does_not_apply_to_are_left_out():
    values = np.stack([np.linspace(0, 1, 12), np.linspace(0, 1, 12) + 0.1])
    with_nan = np.concatenate([values, np.full((2, 3), np.nan)], axis=1)
    found = tuned(with_nan, [0] * 15)
    assert found.queries == 12
    assert found.gain.difference == pytest.approx(0.1)


def noise(rng, repositories, points, effect=0.0, spread=0.05):
    """Values of points that are all equal in truth but the second, on queries of several repositories."""
    homes = np.repeat(np.arange(repositories), 8)
    truth = np.zeros((points, 1))
    truth[1] = effect
    theirs = rng.normal(0.0, spread, (points, repositories)) if repositories > 1 else np.zeros((points, 1))
    return 0.5 + truth + theirs[:, homes] + rng.normal(0.0, 0.2, (points, len(homes))), homes


def check_noise(repositories, points, draws):
    """Tune on noise, again and again: the honest mean is the truth, the best mean is not."""
    rng = np.random.default_rng(7)
    honest, apparent, best, covered, better = [], [], [], [], []
    for seed in range(draws):
        values, homes = noise(rng, repositories, points)
        found = tuned(values, homes, seed)
        honest.append(found.honest.mean)
        apparent.append(found.honest.mean + found.optimism.difference)
        best.append(found.tried[found.best].mean)
        covered.append(found.gain.interval.low <= 0.0 <= found.gain.interval.high)
        better.append(found.worthwhile)
    error = np.std(honest) / np.sqrt(draws)
    assert abs(np.mean(honest) - 0.5) < 3 * error  # the truth, within what so many draws can tell
    assert error < 0.005
    assert np.mean(best) > 0.5 + 3 * error  # the best mean of many promises too much
    assert np.mean(apparent) > np.mean(best)
    assert np.mean(covered) >= 0.90
    assert np.mean(better) <= 0.05


def test_pure_noise_flatters_the_apparent_number_and_not_the_honest_one():
    check_noise(12, 9, draws=50)


@pytest.mark.soak
@pytest.mark.parametrize(("repositories", "points"), [(8, 4), (12, 9), (15, 30), (40, 9)])
def test_noise_of_many_kinds(repositories, points):
    check_noise(repositories, points, draws=400)


def test_a_real_effect_is_found_and_its_size_is_right():
    rng = np.random.default_rng(8)
    drawn = [noise(rng, 12, 6, effect=0.15) for _ in range(20)]
    found = [tuned(values, homes, seed) for seed, (values, homes) in enumerate(drawn)]
    assert np.mean([one.worthwhile for one in found]) >= 0.85
    assert np.mean([one.best == 1 for one in found]) >= 0.95
    assert np.mean([one.gain.difference for one in found]) == pytest.approx(0.15, abs=0.03)
    assert np.mean([one.tried[1].chosen for one in found]) >= 0.9 * 40


def test_one_repository_is_told_apart_too():
    rng = np.random.default_rng(9)
    values, homes = noise(rng, 1, 5)
    wide = np.concatenate([values] + [noise(rng, 1, 5)[0] for _ in range(5)], axis=1)
    found = tuned(wide, np.repeat(homes, 6))
    assert found.label == "48 intents"
    assert not found.worthwhile
    wide[2] += 0.3
    assert tuned(wide, np.repeat(homes, 6)).worthwhile
