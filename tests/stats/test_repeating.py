"""Chance between whole runs: Student's interval of it, and how it adds up with chance between queries.

That the level holds whatever part of the chance lies between runs is simulated: `repeats/` of simulating.py.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.distributions import t_quantile
from assay.stats.run_variance import RunVariance, add_run_variance, estimate_run_variance
from assay.stats.runs import compare_scores
from assay.types import Scores, Unit
from tests.properties import examples

UNITS = tuple(Unit("g", f"q{i}", "human", "r", headline=True, hash=f"h{i}") for i in range(24))


def compared(values, chance):
    """Compare one engine with itself at zero, with a chance between runs."""
    old, new = (Scores(("e",), ("RR@10",), UNITS, np.array(v)[None, None, :]) for v in ([0.0] * 24, values))
    found = compare_scores(old, new, primary="RR@10")
    return found, add_run_variance(found, lambda _row: chance, CompareSettings())


def test_variance_is_the_pooled_one_of_a_t_test():
    from scipy.stats import ttest_ind

    old, new = (0.5, 0.55, 0.6), (0.7, 0.72)
    found = estimate_run_variance(old, new)
    low, high = ttest_ind(new, old).confidence_interval(0.95)
    assert found is not None
    assert found.df == 3
    assert found.reach(0.05) == pytest.approx((high - low) / 2)
    assert estimate_run_variance((0.5,), (0.4,)) is None
    assert estimate_run_variance((0.5, math.nan), (0.4, 0.5)) is None


def test_runs_that_do_not_differ_change_nothing():
    before, after = compared([0.5, 0.7] * 12, RunVariance(0.0, 3))
    assert before == after
    assert compared([0.5, 0.7] * 12, None)[1] == before


def test_half_widths_add_up_by_their_squares_and_p_is_where_the_interval_touches_zero():
    chance = RunVariance(0.005, 4)
    (before,), (after,) = (found.rows for found in compared([0.5, 0.7] * 12, chance))
    half = math.hypot(before.difference - before.interval.low, chance.reach(DEFAULT.alpha))
    assert after.interval.low == pytest.approx(before.difference - half)
    assert before.p < after.p
    bare = compare_scores(
        *(Scores(("e",), ("RR@10",), UNITS, np.array(v)[None, None, :]) for v in ([0.0] * 24, [0.5, 0.7] * 12)),
        primary="RR@10",
        alpha=after.p,
    )
    at_p = add_run_variance(bare, lambda _row: chance, CompareSettings(alpha=after.p)).rows[0]
    assert at_p.interval.low == pytest.approx(0.0, abs=1e-6)
    assert after.se == pytest.approx(math.hypot(before.se, 0.1))
    assert after.mde > before.mde
    assert after.p_adjusted == after.p


def test_chance_of_single_queries_is_not_counted_twice():
    """Runs vary as much as chance of single queries makes them: the spread over queries shows all of it."""
    values = [0.5, 0.7] * 12
    bare = compared(values, None)[0].rows[0]
    assert bare.se is not None
    once, twice = (
        compared(values, RunVariance(bare.se**2 / 2, 500, (1, 1), noise))[1].rows[0] for noise in (bare.se**2 / 2, 0)
    )
    assert once.interval.low == pytest.approx(bare.interval.low, abs=0.02 * bare.se)
    assert once.se == pytest.approx(bare.se)
    assert twice.se == pytest.approx(math.sqrt(2) * bare.se)
    assert twice.interval.low < once.interval.low


@examples(50)
@given(st.floats(0, 1), st.integers(1, 30), st.floats(0, 1), st.integers(1, 9), st.integers(1, 9))
def test_runs_only_widen_and_a_lucky_baseline_explains_more_than_an_average_one(of_run, df, of_queries, old, new):
    chance = RunVariance(of_run, df, (old, new), of_queries)
    before, after = (found.rows[0] for found in compared([0.1, 0.3] * 12, chance))
    assert after.interval.low <= before.interval.low
    assert after.interval.high >= before.interval.high
    assert after.p >= before.p
    more = RunVariance(of_run, df, (old + 1, new + 1), of_queries)
    assert more.lucky_reach(0.05) <= chance.lucky_reach(0.05)
    assert chance.lucky_reach(0.05) >= t_quantile(0.95, df) * math.sqrt(of_run) * (old**-0.5 + new**-0.5)


def test_noise_of_both_sides_is_pooled_by_their_repeats():
    chance = estimate_run_variance((0.5, 0.6, 0.7), (0.4, 0.5), (0.01, 0.04))
    assert chance is not None
    assert chance.runs == (3, 2)
    assert chance.of_queries == pytest.approx((2 * 0.01 + 0.04) / 3)
    assert chance.seen_by_queries == pytest.approx(chance.of_queries * (1 / 3 + 1 / 2))
    single = estimate_run_variance((0.5,), (0.4, 0.5), (math.nan, 0.04))
    assert single is not None
    assert single.of_queries == 0.04


def test_notes_are_those_of_the_last_judgment():
    gains = [0.3] * 8 + [-0.1] * 4 + [0.0] * 12
    bare, wide = compared(gains, RunVariance(0.2**2, 4, (3, 3), 0.0))
    assert bare.rows[0].p != wide.rows[0].p
    assert not any(f"p = {bare.rows[0].p:.2g}" in note for note in wide.rows[0].notes)
