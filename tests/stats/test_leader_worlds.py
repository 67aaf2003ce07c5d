"""A leader that is chosen by looking, and queries that share targets: claims hold their level."""

import numpy as np
import pytest

from assay.stats import Verdict, all_pairs
from assay.stats.config import DEFAULT
from assay.stats.score_table import partition
from assay.types import Scores
from tests.stats.leader_worlds import (
    ALIKE,
    ENGINES,
    LEVEL,
    SMALL,
    STATED,
    STATED_SHARED,
    Claims,
    Contest,
    SharedWorld,
    contests,
    count_claims,
    draw_values,
    shared_worlds,
    simulate,
    simulate_shared,
)
from tests.stats.simulating import error_of
from tests.stats.worlds import make_units

TYPE_I = 0.06


def check_level(found: Claims, sets: int) -> None:
    bound = LEVEL + 3 * error_of(LEVEL, sets)
    assert max(found.anyone, found.noise, found.challenger) <= bound
    assert found.runner_up <= found.anyone


@pytest.mark.parametrize("engines", [ENGINES[0], ENGINES[-1]])
@pytest.mark.parametrize("alike", ALIKE)
def test_the_best_of_equal_engines_is_rarely_claimed_to_be_better(engines, alike):
    check_level(simulate(Contest(engines, 1, 100, alike), SMALL), SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("contest", list(contests()), ids=str)
def test_claims_about_leaders_hold_their_level(contest):
    check_level(simulate(contest, STATED), STATED)


@pytest.mark.parametrize("repositories", [1, 10])
def test_simulated_claims_are_those_of_all_pairs(repositories):
    drawn = draw_values(Contest(5, repositories, 100, 0.0), np.random.default_rng(3), 12)
    values = np.clip(drawn + np.linspace(0.0, 0.2, 5)[:, None], 0.0, 1.0)
    units = tuple(make_units(np.arange(100) % repositories))
    rng = np.random.default_rng([DEFAULT.seed, 0])  # the stream that `all_pairs` draws signs from
    counted = [claims[1] for claims in count_claims(values, partition(units), rng, 4000)]
    names = tuple(f"e{at}" for at in range(5))
    found = [all_pairs(Scores(names, ("nDCG@10",), units, one[:, None]), "nDCG@10", B=4000) for one in values]
    assert counted == [len(one.leaders) < 5 for one in found]
    assert 0 < sum(counted) < 12
    assert all(row.verdict is not Verdict.WORSE or row.difference < 0 for one in found for row in one.rows)


def named(world: SharedWorld) -> str:
    return f"{world.about}, {world.correlation:g}"


def check_shared(world: SharedWorld, sets: int) -> None:
    found = simulate_shared(world, sets)
    slack = 3 * error_of(LEVEL, sets) if sets < STATED_SHARED else 0.0
    assert found["type I together"] <= TYPE_I + slack
    assert found["coverage together"] >= 1 - TYPE_I - slack
    if world.correlation >= 0.3:
        assert found["type I apart"] > TYPE_I  # what it corrects


@pytest.mark.parametrize("world", [world for world in shared_worlds() if world.correlation == 0.6], ids=named)
def test_queries_that_share_targets_hold_the_level_as_one_unit(world):
    check_shared(world, SMALL)


@pytest.mark.soak
@pytest.mark.parametrize("world", list(shared_worlds()), ids=named)
def test_shared_targets_hold_the_level(world):
    check_shared(world, STATED_SHARED)
