"""Repeats: a query's value is its mean over them, they are no further queries, and chance between them is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import NotComparableError
from assay.report.comparison import compare_in_run, compare_sides
from assay.report.gate_checks import judge_gate
from assay.report.gate_document import gate_document
from assay.report.query_scores import Stability, chance_between, gather, stability
from assay.report.render.document import to_markdown
from assay.stats.records import Verdict
from assay.types import Hit
from tests.report.evidence.labs import PLAN, hashed, run_of
from tests.report.labs import lab

RANKS = [1, 2, 1, 1, 0, 1, 3, 1] * 5


def seen(*runs, name="new"):
    return gather(runs, PLAN.measures, name)


def test_value_of_a_query_is_its_mean_over_repeats_and_a_failed_one_counts_as_worst():
    made = seen(run_of([1, 2, 1]), run_of([2, 2, 1]), run_of([1, 2, 1], failed=[2]))
    assert made.scores.values[0, 0].tolist() == pytest.approx([(1 + 0.5 + 1) / 3, 0.5, 2 / 3])
    assert made.repeats == 3
    assert made.engine("mine").failed == 1
    assert [(one.query, one.failed) for one in made.engine("mine").wavering] == [("q2", 1)]
    assert made.engine("mine").changed == pytest.approx(2 / 3)
    means = [(1 + 0.5 + 1) / 3, (0.5 + 0.5 + 1) / 3, (1 + 0.5 + 0) / 3]
    found = stability(made, "mine", "RR@10")
    assert found.means == pytest.approx(means)
    assert found.sd == pytest.approx(np.std(means, ddof=1))


def test_query_that_fails_in_every_repeat_does_not_waver():
    made = seen(run_of([1, 2, 1], failed=[0]), run_of([1, 2, 1], failed=[0]))
    assert made.engine("mine").wavering == ()
    assert len(made.engine("mine").troubles) == 1
    assert made.engine("mine").changed == 0.0


def test_same_run_many_times_says_no_more_than_once():
    old, new = run_of(RANKS), run_of([2, 2, 1, 2, 0, 1, 0, 1] * 5)
    once = compare_sides(seen(old, name="old"), seen(new), PLAN)
    often = compare_sides(seen(*[old] * 9, name="old"), seen(*[new] * 9), PLAN)
    assert once.rows[0].queries == often.rows[0].queries == 40
    for name in ("difference", "p", "se", "df", "clusters", "effective_n", "verdict"):
        assert getattr(often.rows[0], name) == pytest.approx(getattr(once.rows[0], name)), name


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda run: replace(run, k=5), "differs from the first in its k"),
        (lambda run: replace(run, hashes={}), "in its gold"),
        (lambda run: replace(run, header=replace(run.header, corpora={})), "in its corpora"),
        (lambda run: replace(run, engines=(replace(run.engines[0], name="other"),)), "in its engines"),
        (lambda run: replace(run, engines=(replace(run.engines[0], config={"a": 1}),)), "settings or version of mine"),
        (lambda run: replace(run, engines=(replace(run.engines[0], version="2"),)), "settings or version of mine"),
    ],
)
def test_other_experiments_are_no_repeats(spoil, said):
    with pytest.raises(NotComparableError, match=said):
        seen(run_of(RANKS), spoil(run_of(RANKS)))


def test_gate_names_the_query_that_fails_sometimes_and_shows_the_deviation_beside_the_difference():
    old = seen(run_of(RANKS), run_of([2, *RANKS[1:]]), name="old")
    new = seen(run_of(RANKS), run_of(RANKS, failed=[3]))
    found = compare_sides(old, new, PLAN)
    gate = judge_gate(new, PLAN, (), found, engine=None, strict=False, old=old)
    assert gate.exit_code == 0
    steady = next(check for check in gate.checks if check.kind == "stability")
    assert steady.warning
    assert "gold0/q3 (human: 1 of 2)" in steady.detail
    detail = next(check.detail for check in gate.checks if check.kind == "comparison")
    sd = np.std([1.0, 0.0], ddof=1) / 40
    assert f"sd between repeats ±{sd:.3f} (now) and ±{sd / 2:.3f} (before)" in detail
    page = to_markdown(gate_document(gate))
    assert "| new | mine | 2 |" in page
    assert "inconclusive: mine is steady" not in page


def test_failures_are_counted_over_all_repeats():
    made = seen(run_of(RANKS), run_of(RANKS, failed=range(5)))  # 5 of 80: above five in a hundred
    assert judge_gate(made, PLAN, (), None, engine=None, strict=False).exit_code == 4
    made = seen(run_of(RANKS), run_of(RANKS, failed=range(4)))
    assert judge_gate(made, PLAN, (), None, engine=None, strict=False).exit_code == 0


def test_same_scores_are_a_pass_whether_rankings_changed_or_not():
    old, new = seen(run_of(RANKS), name="old"), seen(run_of(RANKS), run_of(RANKS))
    gate = judge_gate(new, PLAN, (), compare_sides(old, new, PLAN), engine=None, strict=True, old=old)
    assert (gate.exit_code, gate.verdict) == (0, "pass")
    run = run_of(RANKS)
    (engine,) = run.engines
    other = replace(engine.rankings[0], hits=(*engine.rankings[0].hits[:-1], Hit("elsewhere.py")))
    turned = replace(run, engines=(replace(engine, rankings=(other, *engine.rankings[1:])),))
    new = seen(run, turned)
    gate = judge_gate(new, PLAN, (), compare_sides(old, new, PLAN), engine=None, strict=True, old=old)
    assert (gate.exit_code, gate.verdict) == (0, "pass")
    assert gate.decision is not None
    assert gate.decision.outcome == "same scores"


def side(*means):
    return Stability("r", "mine", "RR@10", means, float(np.std(means, ddof=1)) if len(means) > 1 else None, 0.0, ())


def test_reach_of_chance_is_student_s_interval():
    from scipy.stats import t, ttest_ind

    old, new = side(0.5, 0.55, 0.6), side(0.7, 0.72)
    chance = chance_between(old, new)
    low, high = ttest_ind(new.means, old.means).confidence_interval(0.95)
    assert chance is not None
    assert chance.reach(0.05) == pytest.approx((high - low) / 2)
    assert chance_between(side(0.5), side(0.4)) is None
    alone = chance_between(side(0.5), side(0.4, 0.6))
    assert alone is not None
    assert alone.reach(0.05) == pytest.approx(t.ppf(0.975, 1) * math.sqrt(0.02) * math.sqrt(1 + 0.5))


def test_difference_that_whole_runs_reach_by_chance_is_told_as_such():
    old = seen(run_of([1] * 40), run_of([0] * 12 + [1] * 28), name="old")
    new = seen(run_of([0] * 20 + [1] * 20), run_of([0] * 34 + [1] * 6))
    found = compare_sides(old, new, PLAN)
    assert found.rows[0].verdict is Verdict.INCONCLUSIVE
    gate = judge_gate(new, PLAN, (), found, engine=None, strict=False, old=old)
    assert "between-run variance alone explains" in next(c.detail for c in gate.checks if c.kind == "comparison")


def flaky_world(rng, queries, repeats, shared):
    """An engine that finds each answer by a chance of the query's own, and by the luck of the whole run."""
    ease = rng.normal(0.7, 1.0, queries)
    luck = shared * rng.normal(size=2 * repeats)
    return [run_of((rng.random(queries) < 1 / (1 + np.exp(-ease - one))).astype(int).tolist()) for one in luck]


def share_worse(draws, shared=0.0, repeats=3):
    """Compare an engine with itself, some repeats on either side, and count how often it is found worse."""
    rng = np.random.default_rng(8)
    worse = 0
    for _ in range(draws):
        runs = flaky_world(rng, 30, repeats, shared)
        row = compare_sides(seen(*runs[:repeats], name="old"), seen(*runs[repeats:]), PLAN).rows[0]
        assert row.queries == 30
        worse += row.verdict is Verdict.WORSE
    return worse / draws


@pytest.mark.parametrize("shared", [pytest.param(0.0, marks=pytest.mark.nightly), 2.0])
def test_flaky_engine_is_seldom_worse_than_itself(shared):
    assert share_worse(40, shared) <= 4 / 40  # P(more, at 2.5 % on this side) < .01


@pytest.mark.soak
@pytest.mark.parametrize(("shared", "repeats"), [(0.0, 3), (0.5, 2), (2.0, 2)])
def test_flaky_engine_is_worse_than_itself_as_seldom_as_declared(shared, repeats):
    assert share_worse(400, shared, repeats) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 400)


def test_loss_beyond_the_chance_of_runs_is_significant():
    old = seen(*(run_of([1] * 38 + [0] * lost + [1] * (2 - lost)) for lost in (0, 1, 2)), name="old")
    new = seen(*(run_of([1] * 18 + [0] * (20 + lost) + [1] * (2 - lost)) for lost in (0, 1, 2)))
    row = compare_sides(old, new, PLAN).rows[0]
    assert row.verdict is Verdict.WORSE
    assert "between-run variance" in " ".join(row.notes)


def test_engines_of_one_run_are_compared_with_the_chance_of_its_repeats_too():
    def both(good, bad):
        return hashed(lab({"mine": [1] * good + [0] * (40 - good), "yours": [1] * bad + [0] * (40 - bad)}))

    found = compare_in_run(seen(both(40, 38), both(22, 6)), PLAN).rows[0]
    once = compare_in_run(seen(both(31, 22)), PLAN).rows[0]
    assert (once.verdict, found.verdict) == (Verdict.WORSE, Verdict.INCONCLUSIVE)


def noisy_runs(rng, runs, queries=60, rate=0.8):
    """Runs of an engine that finds each answer by chance."""
    return [run_of((rng.random(queries) < rate).astype(int).tolist()) for _ in range(runs)]


def test_noise_is_the_chance_of_single_queries_without_the_luck_of_whole_runs():
    rng = np.random.default_rng(3)
    steady = seen(run_of(RANKS), run_of(RANKS)).engine("mine")
    assert (steady.noise, steady.changed) == ((0.0, 0.0), 0.0)
    made = seen(*noisy_runs(rng, 20)).engine("mine")
    assert made.noise[0] == pytest.approx(0.8 * 0.2 / 60, rel=0.2)
    assert made.changed > 0.0
    # Every query falls from rank 1 to 2 in the second run: that is luck of the run, not of its queries.
    shared = seen(run_of([1] * 40), run_of([2] * 40)).engine("mine")
    assert shared.noise[0] == pytest.approx(0.0, abs=1e-12)
    assert seen(run_of(RANKS)).engine("mine").noise == (0.0, 0.0)


def test_repeating_both_sides_narrows_the_interval_of_a_noisy_engine():
    widths = []
    for runs in (1, 3, 10):
        rng = np.random.default_rng(5)
        old, new = (seen(*noisy_runs(rng, runs), name=name) for name in ("old", "new"))
        row = compare_sides(old, new, PLAN).rows[0]
        widths.append(row.interval.high - row.interval.low)
    assert widths[0] > widths[1] > widths[2]


def gated(old, new, strict=False):
    found = compare_sides(old, new, PLAN)
    return judge_gate(new, PLAN, (), found, engine=None, strict=strict, old=old)


def test_single_run_of_a_noisy_engine_is_warned_of_as_a_baseline_with_the_command_that_mends_it():
    rng = np.random.default_rng(7)
    old, new = seen(*noisy_runs(rng, 1), name="old"), seen(*noisy_runs(rng, 3))
    (warning,) = (check for check in gated(old, new).checks if check.what == "mine: baseline repeated")
    assert (warning.passed, warning.warning) == (True, True)
    assert "`assay run --repeat 5 --out DIR`, then `assay gate RESULTS --against DIR`" in warning.detail
    file = replace(old, name="base.json", is_file=True)
    (warning,) = (check for check in gated(file, new).checks if check.what == "mine: baseline repeated")
    assert "`assay gate repeats --write-baseline base.json`" in warning.detail
    for before, after in (
        (seen(*noisy_runs(rng, 2), name="old"), new),
        (old, seen(run_of([1] * 60), run_of([1] * 60))),
    ):
        assert not any(check.what.startswith("baseline of") for check in gated(before, after).checks)


def test_unknown_noise_is_a_quiet_hint_and_only_where_rankings_differ():
    old, new = seen(run_of(RANKS), name="old"), seen(run_of([2, *RANKS[1:]]))
    (hint,) = gated(old, new).hints
    assert "Neither run was repeated" in hint
    assert "`assay run --repeat 5 --out DIR`" in hint
    assert hint in to_markdown(gate_document(gated(old, new))).replace("\\", "")
    assert gated(old, seen(run_of(RANKS))).hints == ()
    assert gated(old, seen(run_of(RANKS), run_of([2, *RANKS[1:]]))).hints == ()
    assert judge_gate(new, PLAN, (), None, engine=None, strict=False).hints == ()


def test_loss_that_a_lucky_baseline_explains_does_not_fail_the_gate():
    rng = np.random.default_rng(5)
    old, new = seen(*noisy_runs(rng, 1, rate=0.95), name="old"), seen(*noisy_runs(rng, 5))
    assert compare_sides(old, new, PLAN).rows[0].verdict is Verdict.WORSE
    gate = gated(old, new)
    check = next(check for check in gate.checks if check.kind == "comparison")
    assert (gate.exit_code, gate.verdict, check.doubtful) == (0, "inconclusive", True)
    assert not any(check.fails_as_regression for check in gate.checks)
    assert "against a lucky baseline" in check.detail
    assert gated(old, new, strict=True).exit_code == 3
    steady = seen(*[run_of([1] * 30 + [0] * 30)] * 5)
    failing = gated(old, steady)
    assert failing.exit_code == 1
    assert [check.kind for check in failing.checks if check.fails_as_regression] == ["comparison"]
