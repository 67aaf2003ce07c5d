"""The statistics hold what they promise, on simulated worlds whose truth is known.

The bounds are the issue's. Each simulation runs at the stated counts under `make soak`; by default it runs a smaller
count, with each bound widened by three Monte-Carlo standard errors (a share of N replications is only known to
√(p(1−p)/N)). Both must agree with the figures that the documentation prints.
"""

from __future__ import annotations

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from assay.stats.clustered import cluster_table
from assay.stats.paired import intraclass_correlation, sign_flip
from assay.stats.score_table import partition, repository_codes
from docs.simulations import read_figures
from tests.stats.simulating import LEVEL, SIMULATIONS, SMALL, STATED, error_of

#: Slow for what they say; the stated counts run them.
SOAK_ONLY = {"agreement/100", "beyond/percentile/30", "beyond/alike/20"}
#: Of the groups that take long, these represent the others in `make test`.
SLOW_GROUPS = (
    *("differences", "power", "verdicts", "family", "slices", "repeats", "agreement"),
    *("hard", "margin", "leaders", "alike"),
)
REPRESENTATIVES = {
    *("differences/3", "differences/6", "power/8", "verdicts/20", "family/5", "slices/some", "repeats/3-3-1"),
    *(
        "agreement/20",
        "hard/skewed/1x100",
        "hard/unequal/10x300-0.05",
        "margin/rare/1x100",
        "margin/ceiling/10x600-0.15",
    ),
    *("leaders/3-1", "alike/20x600-0.3"),
}


def small(name: str) -> ParameterSet:
    """Return the case of a simulation at the small count."""
    is_nightly = name.startswith(SLOW_GROUPS) and name not in REPRESENTATIVES
    return pytest.param(name, SMALL, id=f"{name}-small", marks=[pytest.mark.nightly] if is_nightly else [])


CASES = [
    *(small(name) for name in SIMULATIONS if name not in SOAK_ONLY),
    *(pytest.param(name, STATED, id=f"{name}-stated", marks=pytest.mark.soak) for name in SIMULATIONS),
]


def slack(bound: float, replications: int) -> float:
    """Three Monte-Carlo standard errors at the small count, none at the stated one."""
    inside = bound if 0.0 < bound < 1.0 else LEVEL
    return 3 * error_of(inside, replications) if replications < STATED.replications else 0.0


@pytest.mark.parametrize(("name", "counts"), CASES)
def test_simulation_keeps_its_bounds_and_is_what_the_page_says(name, counts):
    simulation, stated = SIMULATIONS[name], read_figures()[name]
    figures = simulation.draw(counts)
    print(f"\n{name}: {figures}")
    for figure, bound in simulation.bounds.items():
        assert bound.low - slack(bound.low, counts.replications) <= figures[figure], figure
        assert figures[figure] <= bound.high + slack(bound.high, counts.replications), figure
    for figure, value in figures.items():
        said = stated[figure]
        spread = 0.05 * said if figure == "MDE" else 4 * error_of(said, counts.replications // simulation.part)
        assert value == pytest.approx(said, abs=spread), f"{figure}: run `python -m docs.simulations`"


@pytest.mark.parametrize("repositories", [1, 3, 5])
def test_no_p_value_below_six_clusters_of_nested_differences(repositories, differences):
    """Five repositories of one intent each, and fewer: five clusters at the most."""
    world = differences(np.random.default_rng(0), repositories, 3)
    codes = repository_codes(world.units)
    first = [int(np.flatnonzero(codes == code)[0]) for code in range(repositories)]
    table = cluster_table(world.values[first], partition([world.units[i] for i in first]))
    assert sign_flip(table, np.random.default_rng(0)) is None


def test_the_simulated_icc_is_about_a_tenth(differences):
    world = differences(np.random.default_rng(1), 60, 200)
    codes = repository_codes(world.units)
    found = [intraclass_correlation(world.values[:, i], codes) for i in range(200)]
    assert np.mean([icc for icc in found if icc is not None]) == pytest.approx(0.1, abs=0.02)
    assert np.mean(world.values != 0) == pytest.approx(0.45, abs=0.01)


def test_ignoring_repositories_turns_a_five_percent_test_into_a_quarter():
    """The reason for all of this: a query-level test on the same data."""
    assert read_figures()["beyond/naive"]["type I"] > 0.15
