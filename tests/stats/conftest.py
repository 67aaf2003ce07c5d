"""What the tests of the statistics share: worlds whose truth is known, and score tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from assay.types import Scores
from tests.stats.worlds import make_units, measure_values, nested_differences

B = 500  # resamples where the test is not about them


@pytest.fixture(scope="session")
def differences():
    return nested_differences


@pytest.fixture(scope="session")
def measured():
    return measure_values


@pytest.fixture(scope="session")
def units_of():
    return make_units


@pytest.fixture(scope="session")
def scores_of():
    """Build a score table from {engine: values} on one measure, or {engine: {measure: values}}."""

    def build(engines, repositories=None, *, measures=("nDCG@10",), units=None):
        values = np.array([np.atleast_2d(v) for v in engines.values()], dtype=float)
        count = values.shape[2]
        homes = np.zeros(count, dtype=int) if repositories is None else np.asarray(repositories)
        return Scores(tuple(engines), tuple(measures), tuple(units or make_units(homes)), values)

    return build


def random_table(
    scores_of: Callable[..., Scores], repositories: int, queries: int, engines: int = 3, seed: int = 0, **options: Any
) -> Scores:
    """Make a table of engines e0, e1, … each a little better than the one before."""
    rng = np.random.default_rng(seed)
    homes = [*range(repositories), *rng.integers(0, repositories, queries - repositories)]
    base = rng.choice([0.0, 0.3, 0.5, 0.63, 1.0], size=queries)
    lifted = {f"e{i}": np.clip(base + rng.normal(0.05 * i, 0.2, queries), 0, 1) for i in range(engines)}
    return scores_of(lifted, homes, **options)


def or_none(value: float | None) -> float:
    """Return the value, or infinity for a size or difference that does not exist."""
    return float("inf") if value is None else value
