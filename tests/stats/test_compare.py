from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.stats import Comparison, Verdict, all_pairs, compare
from assay.stats.paired import observed_mde, raise_for_ties
from assay.types import Scores, Unit
from tests.properties import examples
from tests.stats.worlds import make_units

from .conftest import B, random_table


def test_compare_reports_everything_beside_the_difference(scores_of):
    found = compare(random_table(scores_of, 12, 200), baseline="e0", primary="nDCG@10", B=B)
    row = found.rows[-1]
    assert [r.engine for r in found.rows] == ["e1", "e2"]
    assert row.difference == pytest.approx(row.mean - row.baseline_mean)
    assert row.interval.low < row.difference < row.interval.high
    assert row.equivalence.low < row.difference < row.equivalence.high
    assert row.cross_check.method == "bootstrap-t"
    assert row.cross_check.low == pytest.approx(row.interval.low, abs=0.03)
    assert row.wins + row.ties + row.losses == row.queries == 200
    assert (row.clusters, row.repositories, row.label) == (12, 12, "over 12 repositories")
    assert row.icc is not None
    assert row.mde is not None
    assert row.p_adjusted is not None
    assert row.p_adjusted >= (row.p or 0)
    assert row.verdict is Verdict.BETTER
    assert found.family_size == 2
    assert any("not adjusted for multiplicity" in note for note in found.notes)


@pytest.mark.parametrize(("heavy", "told"), [(10, False), (60, True)])
def test_one_repository_that_outweighs_the_others_is_told(heavy, told, scores_of):
    table = random_table(scores_of, 10, 100)
    units = [replace(unit, repository="heavy") if at < heavy else unit for at, unit in enumerate(table.units)]
    found = compare(replace(table, units=tuple(units)), baseline="e0", primary="nDCG@10", B=B)
    assert any("of the queries and dominates the mean" in note for note in found.notes) == told
    assert found.rows[0].heaviest >= heavy / 100


@pytest.mark.parametrize(("repositories", "label"), [(1, "on this repository"), (4, "on these 4 repositories only")])
def test_compare_labels_what_it_speaks_of(repositories, label, scores_of):
    found = compare(random_table(scores_of, repositories, 60), baseline="e0", primary="nDCG@10", B=B)
    assert found.label == label
    assert found.rows[0].clusters == 60
    assert found.rows[0].summary.endswith(label)


@examples(25)
@given(seed=st.integers(0, 10**6), repositories=st.sampled_from([1, 3, 7, 20]))
def test_swapping_engines_flips_every_sign(seed, repositories, scores_of):
    table = random_table(scores_of, repositories, 40, engines=2, seed=seed)
    one = compare(table, baseline="e0", primary="nDCG@10", B=B).rows[0]
    other = compare(table, baseline="e1", primary="nDCG@10", B=B).rows[0]
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    assert (one.interval.low, one.interval.high) == pytest.approx(
        (-other.interval.high, -other.interval.low), abs=1e-12
    )
    assert one.cross_check.low == pytest.approx(-other.cross_check.high, abs=1e-9)
    assert one.p == pytest.approx(other.p)
    assert (one.wins, one.losses) == (other.losses, other.wins)
    assert one.mde == pytest.approx(other.mde)


@examples(25)
@given(order=st.permutations(range(30)), repositories=st.sampled_from([1, 3, 7]))
def test_the_order_of_queries_does_not_matter(order, repositories, scores_of):
    table = random_table(scores_of, repositories, 30)
    mixed = replace(table, units=tuple(table.units[i] for i in order), values=table.values[:, :, list(order)])
    one, other = (compare(t, baseline="e0", primary="nDCG@10", B=B) for t in (table, mixed))
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.difference, a.interval.low, a.p) == pytest.approx((b.difference, b.interval.low, b.p), abs=1e-9)
        assert (a.verdict, a.wins, a.label) == (b.verdict, b.wins, b.label)


def test_the_names_of_repositories_do_not_matter(scores_of):
    table = random_table(scores_of, 9, 90)
    renamed = tuple(
        replace(u, repository=f"git:{99 - int(u.repository[1:])}", query=f"x{u.query}") for u in table.units
    )
    one, other = (compare(t, baseline="e0", primary="nDCG@10", B=B) for t in (table, replace(table, units=renamed)))
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.p, a.difference, a.interval.high) == pytest.approx((b.p, b.difference, b.interval.high), abs=1e-9)


def test_the_same_seed_gives_the_same_comparison_and_the_engines_beside_do_not_matter(scores_of):
    table = random_table(scores_of, 30, 300, engines=4)
    full = compare(table, baseline="e0", primary="nDCG@10", B=B)
    assert full == compare(table, baseline="e0", primary="nDCG@10", B=B)
    assert full.rows[0].p != compare(table, baseline="e0", primary="nDCG@10", B=B, seed=1).rows[0].p
    alone = replace(table, engines=("e0", "e1"), values=table.values[:2])
    assert compare(alone, baseline="e0", primary="nDCG@10", B=B).rows[0].p == full.rows[0].p
    pair = next(r for r in all_pairs(table, "nDCG@10", B=B).rows if (r.engine, r.baseline) == ("e1", "e0"))
    assert (pair.p, pair.difference) == (full.rows[0].p, full.rows[0].difference)


def test_a_lower_is_better_measure_gets_the_right_direction(scores_of):
    rng = np.random.default_rng(0)
    worse = (rng.random(60) < 0.6).astype(float)
    better = worse * (rng.random(60) < 0.3)
    table = scores_of({"old": worse, "new": better}, measures=["Displacement@10"])
    row = compare(table, baseline="old", primary="Displacement@10", B=B).rows[0]
    assert row.difference < 0
    assert row.verdict is Verdict.BETTER
    assert (row.losses, row.worse_share) == (0, 0.0)
    assert row.wins == int((worse != better).sum())
    assert all_pairs(table, "Displacement@10", B=B).leader == "new"
    assert compare(table, baseline="new", primary="Displacement@10", B=B).rows[0].verdict is Verdict.WORSE


def test_a_measure_of_another_range_keeps_its_units(scores_of):
    rng = np.random.default_rng(1)
    table = scores_of({"a": rng.integers(-10, 11, 40), "b": rng.integers(-10, 11, 40)}, measures=["RankGap@10"])
    found = compare(table, baseline="a", primary="RankGap@10", margin=1.0, B=B)
    assert -20 <= found.rows[0].interval.low <= found.rows[0].interval.high <= 20
    assert found.rows[0].interval.high > 1.0
    assert all(-10 <= row.interval.low <= row.mean <= row.interval.high <= 10 for row in found.means)


def test_queries_a_measure_does_not_apply_to_are_left_out_for_both_and_counted(scores_of):
    rng = np.random.default_rng(2)
    a, b = rng.random(50), rng.random(50)
    a[:5] = np.nan
    b[3:9] = np.nan
    row = compare(scores_of({"a": a, "b": b}), baseline="a", primary="nDCG@10", B=B).rows[0]
    assert (row.queries, row.left_out) == (41, 9)
    assert row.difference == pytest.approx((b - a)[9:].mean())
    assert row.baseline_mean == pytest.approx(a[9:].mean())
    assert any("9 queries left out" in note for note in row.notes)


def test_the_unit_rule_is_applied_to_the_queries_that_are_left(scores_of):
    """Ten repositories, but the measure applies in four of them only."""
    homes = np.repeat(np.arange(10), 10)
    values = np.random.default_rng(3).random((2, 100))
    values[:, homes >= 4] = np.nan
    row = compare(scores_of({"a": values[0], "b": values[1]}, homes), baseline="a", primary="nDCG@10", B=B).rows[0]
    assert (row.label, row.clusters) == ("on these 4 repositories only", 40)


def test_only_headline_units_count(scores_of):
    rng = np.random.default_rng(4)
    units = [
        Unit("g", f"q{i}", form, "r", headline=form == "human") for i in range(40) for form in ("human", "keyword")
    ]
    values = rng.random((2, 80))
    table = scores_of({"a": values[0], "b": values[1]}, units=units)
    row = compare(table, baseline="a", primary="nDCG@10", B=B).rows[0]
    assert row.queries == 40
    assert row.difference == pytest.approx((values[1] - values[0])[::2].mean())


def test_other_measures_are_secondary_and_outside_the_family(scores_of):
    rng = np.random.default_rng(5)
    table = scores_of(
        {name: rng.random((3, 60)) for name in ("a", "b", "c")}, measures=["nDCG@10", "RR@10", "TokensToHit"]
    )
    found = compare(table, baseline="a", primary="RR@10", B=B)
    assert {row.measure for row in found.rows} == {"RR@10"}
    assert [row.measure for row in found.secondary] == ["nDCG@10", "nDCG@10", "TokensToHit", "TokensToHit"]
    assert all(row.p is not None and row.p_adjusted is None and row.verdict is None for row in found.secondary)
    assert found.family_size == 2
    assert any("not in the family" in note for note in found.notes)
    only = compare(table, baseline="a", primary="RR@10", measures=["RR@10"], B=B)
    assert only.secondary == ()
    assert only.rows == found.rows


def test_a_declared_family_keeps_the_rest_out(scores_of):
    table = random_table(scores_of, 12, 150, engines=4)
    found = compare(table, baseline="e0", primary="nDCG@10", family=["e2"], B=B)
    inside = [row for row in found.rows if row.in_family]
    assert [row.engine for row in inside] == ["e2"]
    assert inside[0].p_adjusted == inside[0].p
    assert all(row.verdict is None and row.p_adjusted is None for row in found.rows if not row.in_family)
    assert any("outside the declared family" in note for note in found.notes)


def test_six_clusters_cannot_decide_a_family_of_two(scores_of):
    homes = np.repeat(np.arange(6), 10)
    base = np.random.default_rng(6).random(60) * 0.3
    table = scores_of({"a": base, "b": base + 0.4, "c": base + 0.5}, homes)
    found = compare(table, baseline="a", primary="nDCG@10", B=B)
    assert all("6 clusters may be too few for a family of 2" in " ".join(row.notes) for row in found.rows)
    assert all(row.mde is None and row.mde_text == "none" for row in found.rows)
    assert Verdict.BETTER not in {row.verdict for row in found.rows}
    alone = compare(table, baseline="a", primary="nDCG@10", family=["b"], B=B)
    assert alone.rows[0].verdict is Verdict.BETTER


def test_the_minimal_difference_grows_with_the_family(scores_of):
    table = random_table(scores_of, 20, 300, engines=6)
    alone, family = (
        next(row for row in compare(table, baseline="e0", primary="nDCG@10", family=f, B=B).rows if row.engine == "e1")
        for f in (["e1"], None)
    )
    assert alone.se is not None
    for row, alpha in ((alone, 0.05), (family, 0.05 / 5)):
        symmetric = observed_mde(alone.se, alone.df, 20, alpha=alpha)
        differing = 1 - alone.ties / alone.queries
        assert row.mde == pytest.approx(raise_for_ties(symmetric, differing, alone.typical_size))


def test_no_p_value_and_no_better_below_six_queries(scores_of):
    found = compare(scores_of({"a": [0.0] * 5, "b": [1.0] * 5}), baseline="a", primary="nDCG@10", B=B).rows[0]
    assert (found.p, found.p_adjusted, found.mde) == (None, None, None)
    assert found.verdict is Verdict.NOT_INFERIOR
    assert "no p-value: 5 intents, at least 6 are needed" in found.notes


@pytest.mark.parametrize(("queries", "verdict"), [(60, Verdict.INCONCLUSIVE), (200, Verdict.EQUIVALENT)])
def test_identical_engines_are_never_certain(queries, verdict, scores_of):
    values = np.random.default_rng(7).random(queries)
    row = compare(scores_of({"a": values, "b": values}), baseline="a", primary="nDCG@10", B=B).rows[0]
    assert row.wins == row.losses == 0
    for interval, tail in ((row.interval, 0.025), (row.equivalence, 0.05)):
        unseen = 1 - tail ** (1 / queries)  # the rate at which a set of this size shows no such query that often
        assert (interval.low, interval.high) == pytest.approx((-unseen, unseen), rel=0.03)
    assert row.p == 1.0
    assert row.verdict is verdict
    assert row.mde is None


def test_a_small_gain_is_better_within_the_margin(scores_of):
    rng = np.random.default_rng(8)
    base = rng.random(1000) * 0.9
    row = compare(
        scores_of({"a": base, "b": base + rng.random(1000) * 0.02}), baseline="a", primary="nDCG@10", B=B
    ).rows[0]
    assert row.verdict is Verdict.BETTER
    assert row.within_margin
    assert row.summary == "better, within the margin, on this repository"


def test_all_pairs_names_those_that_cannot_be_told_from_the_leader(scores_of):
    rng = np.random.default_rng(9)
    base = rng.random(300) * 0.5
    engines = {"poor": base, "good": base + 0.4, "as good": base + 0.4 + rng.normal(0, 0.01, 300) - 0.001}
    table = scores_of(engines, rng.integers(0, 15, 300))
    found = all_pairs(table, "nDCG@10", B=B)
    assert (found.leader, found.leaders) == ("good", ("good", "as good"))
    assert (len(found.rows), found.family_size) == (3, 3)
    assert all(row.in_family for row in found.rows)
    assert isinstance(found, Comparison)
    assert asdict(found).keys() == asdict(compare(table, baseline="good", primary="nDCG@10", B=B)).keys() | {
        "leader",
        "leaders",
    }


def test_all_pairs_equal_the_comparisons_one_by_one(scores_of):
    table = random_table(scores_of, 11, 120, engines=4, measures=["nDCG@10"])
    for row in all_pairs(table, "nDCG@10", B=B).rows:
        single = compare(table, baseline=row.baseline, primary="nDCG@10", family=[row.engine], B=B)
        twin = next(r for r in single.rows if r.engine == row.engine)
        assert (row.p, row.interval, row.wins, row.icc) == (twin.p, twin.interval, twin.wins, twin.icc)
        assert row.cross_check.low == pytest.approx(twin.cross_check.low, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "nobody"}, "baseline 'nobody'"),
        ({"primary": "RR@10"}, "RR@10 was not scored"),
        ({"alpha": 0.0}, "alpha: expected .* got 0.0"),
        ({"alpha": 0.5}, "alpha: expected .* got 0.5"),
        ({"margin": 0.0}, "margin: expected .* got 0.0"),
        ({"B": 0}, "B: expected .* got 0"),
        ({"seed": -1}, "seed: expected .* got -1"),
        ({"family": ["nobody"]}, "family member 'nobody'"),
        ({"family": []}, "no engine besides"),
        ({"family": ["e0"]}, "includes the baseline"),
    ],
)
def test_compare_refuses_what_makes_no_sense_and_says_what_to_do(options, message, scores_of):
    with pytest.raises(ConfigError, match=message) as caught:
        compare(random_table(scores_of, 8, 40), **{"baseline": "e0", "primary": "nDCG@10", "B": B} | options)
    assert caught.value.hint


def test_a_primary_measure_that_never_applies_is_refused(scores_of):
    with pytest.raises(ConfigError, match="applies to no query"):
        compare(scores_of({"a": [np.nan] * 8, "b": [np.nan] * 8}), baseline="a", primary="nDCG@10", B=B)


def test_an_empty_table_is_refused():
    with pytest.raises(ConfigError, match="no queries"):
        compare(Scores(("a", "b"), ("nDCG@10",), (), np.zeros((2, 1, 0))), baseline="a", primary="nDCG@10")


def test_arguments_are_not_changed(scores_of):
    table = random_table(scores_of, 8, 60)
    before = table.values.copy()
    table.values.setflags(write=False)
    all_pairs(table, "nDCG@10", B=B)
    np.testing.assert_array_equal(table.values, before)


def test_queries_that_share_targets_do_not_add_evidence(scores_of):
    """34 small gains and no loss cannot rule out rare large losses, and neither can two copies of each."""
    values = np.linspace(0.2, 0.8, 34)
    once = compare(scores_of({"a": values, "b": values + 0.05}), baseline="a", primary="nDCG@10", B=B).rows[0]
    units = [replace(unit, shared=f"t{at // 2}") for at, unit in enumerate(make_units(np.zeros(68, dtype=int)))]
    twice = np.repeat(values, 2)
    table = scores_of({"a": twice, "b": twice + 0.05}, units=units)
    doubled = compare(table, baseline="a", primary="nDCG@10", B=B).rows[0]
    assert (doubled.clusters, doubled.effective_n) == (34, 34)
    assert doubled.verdict is once.verdict is Verdict.INCONCLUSIVE
    assert doubled.interval.low == pytest.approx(once.interval.low, abs=1e-6)


def test_equal_differences_have_no_mde(scores_of):
    values = np.linspace(0.2, 0.8, 60)
    row = compare(scores_of({"a": values, "b": values - 0.1}), baseline="a", primary="nDCG@10", B=B).rows[0]
    assert row.mde is None
    assert any("all differences have one direction" in note for note in row.notes)


def test_equal_scores_have_an_interval_of_some_width(scores_of):
    found = compare(scores_of({"a": [0.6309] * 40, "b": [0.5] * 40}), baseline="a", primary="nDCG@10", B=B)
    assert all(row.interval.high - row.interval.low > 0.2 for row in found.means)
