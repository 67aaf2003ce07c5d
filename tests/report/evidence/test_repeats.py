"""Repeats: a query's value is its mean over them, they are no further queries, and chance between them is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import NotComparableError
from assay.report.commands.gating import gate_document, judge_gate
from assay.report.comparing import compare_evidence, compare_within
from assay.report.evidence.gathering import gather
from assay.report.evidence.steadiness import Steadiness, noise_reach, steadiness
from assay.report.pages.markdown import to_markdown
from assay.stats.records import Verdict
from assay.types import Hit
from tests.report.evidence.labs import CLAIM, hashed, run_of
from tests.report.labs import lab

RANKS = [1, 2, 1, 1, 0, 1, 3, 1] * 5


def seen(*runs, name="new"):
    return gather(runs, CLAIM.measures, name)


def test_value_of_a_query_is_its_mean_over_repeats_and_a_failed_one_counts_as_worst():
    made = seen(run_of([1, 2, 1]), run_of([2, 2, 1]), run_of([1, 2, 1], failed=[2]))
    assert made.scores.values[0, 0].tolist() == pytest.approx([(1 + 0.5 + 1) / 3, 0.5, 2 / 3])
    assert made.repeats == 3
    assert made.engine("mine").failed == 1
    assert [(one.query, one.failed) for one in made.engine("mine").wavering] == [("q2", 1)]
    assert made.engine("mine").changed == pytest.approx(2 / 3)
    means = [(1 + 0.5 + 1) / 3, (0.5 + 0.5 + 1) / 3, (1 + 0.5 + 0) / 3]
    found = steadiness(made, "mine", "RR@10")
    assert found.means == pytest.approx(means)
    assert found.sd == pytest.approx(np.std(means, ddof=1))


def test_query_that_fails_in_every_repeat_does_not_waver():
    made = seen(run_of([1, 2, 1], failed=[0]), run_of([1, 2, 1], failed=[0]))
    assert made.engine("mine").wavering == ()
    assert len(made.engine("mine").troubles) == 1
    assert made.engine("mine").changed == 0.0


def test_same_run_many_times_says_no_more_than_once():
    old, new = run_of(RANKS), run_of([2, 2, 1, 2, 0, 1, 0, 1] * 5)
    once = compare_evidence(seen(old, name="old"), seen(new), CLAIM)
    often = compare_evidence(seen(*[old] * 9, name="old"), seen(*[new] * 9), CLAIM)
    assert once.rows[0].queries == often.rows[0].queries == 40
    for name in ("difference", "p", "se", "df", "clusters", "effective_n", "verdict"):
        assert getattr(often.rows[0], name) == pytest.approx(getattr(once.rows[0], name)), name


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda run: replace(run, k=5), "the same k"),
        (lambda run: replace(run, hashes={}), "the same gold"),
        (lambda run: replace(run, header=replace(run.header, corpora={})), "the same corpora"),
        (lambda run: replace(run, engines=(replace(run.engines[0], name="other"),)), "the same engines"),
        (lambda run: replace(run, engines=(replace(run.engines[0], config={"a": 1}),)), "mine is another one"),
        (lambda run: replace(run, engines=(replace(run.engines[0], version="2"),)), "mine is another one"),
    ],
)
def test_other_experiments_are_no_repeats(spoil, said):
    with pytest.raises(NotComparableError, match=said):
        seen(run_of(RANKS), spoil(run_of(RANKS)))


def test_gate_names_the_query_that_fails_sometimes_and_shows_the_deviation_beside_the_difference():
    old = seen(run_of(RANKS), run_of([2, *RANKS[1:]]), name="old")
    new = seen(run_of(RANKS), run_of(RANKS, failed=[3]))
    found = compare_evidence(old, new, CLAIM)
    gate = judge_gate(new, CLAIM, (), found, engine=None, strict=False, old=old)
    assert gate.exit_code == 0
    steady = next(check for check in gate.checks if check.kind == "steadiness")
    assert steady.warning
    assert "gold0/q3 (human: 1 of 2)" in steady.detail
    detail = next(check.detail for check in gate.checks if check.kind == "comparison")
    sd = np.std([1.0, 0.0], ddof=1) / 40
    assert f"sd between repeats ±{sd:.3f} (now) and ±{sd / 2:.3f} (before)" in detail
    page = to_markdown(gate_document(gate))
    assert "| new | mine | 2 |" in page
    assert "not proven either way: mine is steady" not in page


def test_failures_are_counted_over_all_repeats():
    made = seen(run_of(RANKS), run_of(RANKS, failed=range(5)))  # 5 of 80: above five in a hundred
    assert judge_gate(made, CLAIM, (), None, engine=None, strict=False).exit_code == 4
    made = seen(run_of(RANKS), run_of(RANKS, failed=range(4)))
    assert judge_gate(made, CLAIM, (), None, engine=None, strict=False).exit_code == 0


def test_same_rankings_in_every_repeat_are_no_doubt_but_other_ones_in_one_repeat_are():
    old, new = seen(run_of(RANKS), name="old"), seen(run_of(RANKS), run_of(RANKS))
    gate = judge_gate(new, CLAIM, (), compare_evidence(old, new, CLAIM), engine=None, strict=True, old=old)
    assert (gate.exit_code, gate.verdict) == (0, "pass")
    run = run_of(RANKS)
    (engine,) = run.engines
    other = replace(engine.rankings[0], hits=(*engine.rankings[0].hits[:-1], Hit("elsewhere.py")))
    turned = replace(run, engines=(replace(engine, rankings=(other, *engine.rankings[1:])),))
    new = seen(run, turned)
    gate = judge_gate(new, CLAIM, (), compare_evidence(old, new, CLAIM), engine=None, strict=True, old=old)
    assert (gate.exit_code, gate.verdict) == (3, "inconclusive")


def side(*means):
    return Steadiness("r", "mine", "RR@10", means, float(np.std(means, ddof=1)) if len(means) > 1 else None, 0.0, ())


def test_reach_of_chance_is_student_s_interval():
    from scipy.stats import t, ttest_ind

    old, new = side(0.5, 0.55, 0.6), side(0.7, 0.72)
    reach = noise_reach(old, new, 0.05)
    low, high = ttest_ind(new.means, old.means).confidence_interval(0.95)
    assert reach == pytest.approx((high - low) / 2)
    assert noise_reach(side(0.5), side(0.4), 0.05) is None
    alone = noise_reach(side(0.5), side(0.4, 0.6), 0.05)
    assert alone == pytest.approx(t.ppf(0.975, 1) * math.sqrt(0.02) * math.sqrt(1 + 0.5))


def test_difference_that_whole_runs_reach_by_chance_is_told_as_such():
    old = seen(run_of([1] * 40), run_of([0] * 12 + [1] * 28), name="old")
    new = seen(run_of([0] * 20 + [1] * 20), run_of([0] * 34 + [1] * 6))
    found = compare_evidence(old, new, CLAIM)
    assert found.rows[0].verdict is Verdict.INCONCLUSIVE
    gate = judge_gate(new, CLAIM, (), found, engine=None, strict=False, old=old)
    assert "chance between whole runs alone reaches" in next(c.detail for c in gate.checks if c.kind == "comparison")


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
        row = compare_evidence(seen(*runs[:repeats], name="old"), seen(*runs[repeats:]), CLAIM).rows[0]
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


def test_harm_beyond_the_chance_of_runs_is_proven_all_the_same():
    old = seen(*(run_of([1] * 38 + [0] * lost + [1] * (2 - lost)) for lost in (0, 1, 2)), name="old")
    new = seen(*(run_of([1] * 18 + [0] * (20 + lost) + [1] * (2 - lost)) for lost in (0, 1, 2)))
    row = compare_evidence(old, new, CLAIM).rows[0]
    assert row.verdict is Verdict.WORSE
    assert "chance between whole runs" in " ".join(row.notes)


def test_engines_of_one_run_are_compared_with_the_chance_of_its_repeats_too():
    def both(good, bad):
        return hashed(lab({"mine": [1] * good + [0] * (40 - good), "yours": [1] * bad + [0] * (40 - bad)}))

    found = compare_within(seen(both(40, 38), both(22, 6)), CLAIM).rows[0]
    once = compare_within(seen(both(31, 22)), CLAIM).rows[0]
    assert (once.verdict, found.verdict) == (Verdict.WORSE, Verdict.INCONCLUSIVE)
