"""Pairs that somebody chose, differences by repository, and two runs in one table."""

import numpy as np
import pytest

from assay.errors import ConfigError, NotComparableError
from assay.stats import compare
from assay.stats.compare import RepositoryChange, by_repository, compare_pairs, tally, worst
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import Scores, Unit

HOMES = np.repeat(np.arange(7), [3, 4, 5, 6, 7, 8, 9])


def scores(seed=0, engines=("a", "b", "c"), measure="nDCG@10"):
    rng = np.random.default_rng(seed)
    units = tuple(Unit("g", f"q{at}", "human", f"r{home}", hash=f"h{at}") for at, home in enumerate(HOMES))
    return Scores(engines, (measure,), units, rng.random((len(engines), 1, len(HOMES))))


def test_chosen_pairs_are_the_rows_of_the_usual_comparison_under_one_family():
    table = scores()
    found = compare_pairs(table, [("b", "a"), ("c", "a")], primary="nDCG@10")
    usual = compare(table, baseline="a", primary="nDCG@10")
    assert [(row.engine, row.p_adjusted, row.interval) for row in found.rows] == [
        (row.engine, row.p_adjusted, row.interval) for row in usual.rows
    ]


def test_a_ladder_has_another_baseline_at_every_step():
    found = compare_pairs(scores(), [("b", "a"), ("c", "b")], primary="nDCG@10")
    assert [(row.engine, row.baseline) for row in found.rows] == [("b", "a"), ("c", "b")]
    assert found.family_size == 2
    alone = compare_pairs(scores(), [("b", "a")], primary="nDCG@10").rows[0]
    assert found.rows[0].p == alone.p
    assert (found.rows[0].p_adjusted or 0.0) >= (alone.p_adjusted or 1.0)
    with pytest.raises(ConfigError, match="'x'"):
        compare_pairs(scores(), [("x", "a")], primary="nDCG@10")


def test_differences_by_repository_add_up_to_the_whole():
    table = scores()
    changes = by_repository(table, "b", "a", "nDCG@10")
    assert [change.repository for change in changes] == [f"r{at}" for at in range(7)]
    assert [change.queries for change in changes] == [3, 4, 5, 6, 7, 8, 9]
    whole = (table.values[1, 0] - table.values[0, 0]).mean()
    assert sum(c.difference * c.queries for c in changes) / len(HOMES) == pytest.approx(whole)
    counts = tally(changes)
    assert counts.wins + counts.ties + counts.losses == 7
    assert worst(changes).gain == min(change.gain for change in changes)


def test_a_loss_is_a_gain_where_less_is_better_and_nan_does_not_count():
    table = scores(measure="Displacement@10")
    values = table.values.copy()
    values[:, :, :3] = np.nan  # all of r0
    values[1, 0, 3:7] = values[0, 0, 3:7]  # r1 is a tie
    changes = by_repository(Scores(table.engines, table.measures, table.units, values), "b", "a", "Displacement@10")
    assert [change.repository for change in changes] == [f"r{at}" for at in range(1, 7)]
    assert all(change.gain == pytest.approx(-change.difference) for change in changes)
    assert changes[0] == RepositoryChange("r1", 4, 0.0, 0.0)
    assert str(tally(changes)).split("/")[1] == "1"


def test_two_runs_are_put_into_one_table_on_the_queries_they_share():
    old, new = scores(0), scores(1)
    shuffled = Scores(new.engines, new.measures, new.units[::-1], new.values[:, :, ::-1])
    joined = join_sides(EngineOfRun(old, "a", "before"), EngineOfRun(shuffled, "b", "after"), "nDCG@10")
    assert joined.scores.engines == ("a", "b")
    np.testing.assert_allclose(joined.scores.values[:, 0], [old.values[0, 0], new.values[1, 0]])
    same = join_sides(EngineOfRun(old, "a", "before"), EngineOfRun(new, "a", "after"), "nDCG@10")
    assert same.scores.engines == ("a (before)", "a (after)")
    assert same.names.old == "a (before)"
    with pytest.raises(ConfigError, match="'x' in after"):
        join_sides(EngineOfRun(old, "a", "before"), EngineOfRun(new, "x", "after"), "nDCG@10")


def test_two_runs_that_share_too_little_are_not_put_together():
    old = scores()
    kept = 20
    part = Scores(old.engines, old.measures, old.units[:kept], old.values[:, :, :kept])
    with pytest.raises(NotComparableError, match="20 of 42"):
        join_sides(EngineOfRun(old, "a", "before"), EngineOfRun(part, "a", "after"), "nDCG@10")
