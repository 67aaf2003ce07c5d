"""Pools of unjudged results; every stated change equals rescoring."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.scoring import parse_measure, score
from assay.scoring.pooling import PoolConfig, Returned, pool
from assay.types import Query, Span, Status, Target
from tests.properties import examples

nDCG = parse_measure("nDCG@10")
LINES = parse_measure("nDCG(level=lines)@10")


def query(name, targets, adversaries=(), **forms):
    return Query(name, forms or {"human": f"{name}?"}, targets, adversaries)


@pytest.fixture
def two(make_run, hits, targets):
    """Two queries, two engines: `mine` is better, and both return unjudged results."""
    queries = [query("q", targets("a.py")), query("r", targets("b.py"))]
    answers = {
        "mine": {"q": {"human": hits("a.py", "x.py:1-9", "y.py")}, "r": {"human": hits("b.py")}},
        "yours": {"q": {"human": hits("x.py:20-30", "a.py")}, "r": {"human": hits("z.py", "b.py")}},
    }
    return make_run(queries, answers)


def test_results_that_touch_no_label_are_gathered_once(two):
    found = pool(two, nDCG)
    places = {(c.query, str(c.span)): c.returned for c in found.candidates}
    assert places == {
        ("q", "x.py:20-30"): (
            Returned("yours", 1),
            Returned("mine", 2),
        ),  # one file; the best-ranked lines stand for it
        ("q", "y.py"): (Returned("mine", 3),),
        ("r", "z.py"): (Returned("yours", 1),),
    }
    assert (found.level, found.queries) == ("file", 2)


def test_at_line_level_lines_apart_are_two_places_and_overlapping_ones_are_one(make_run, hits, targets):
    run = make_run(
        [query("q", targets("a.py:1-9"))],
        {
            "one": {"q": {"human": hits("x.py:1-9", "x.py:20-30", "a.py:10-12")}},
            "two": {"q": {"human": hits("x.py:5-22")}},
        },
    )
    found = {str(c.span): [r.engine for r in c.returned] for c in pool(run, LINES).candidates}
    assert found == {"x.py:1-9": ["one", "two"], "x.py:20-30": ["one"], "a.py:10-12": ["one"]}


def test_targets_and_adversaries_are_judged(make_run, hits, targets, adversaries):
    run = make_run(
        [query("q", targets("a.py:1-9", "b.py=1"), adversaries("c.py"))],
        {"one": {"q": {"human": hits("a.py:3-4", "b.py", "c.py:1-2", "d.py")}}},
    )
    assert [str(c.span) for c in pool(run, nDCG).candidates] == ["d.py"]


def test_what_reviewers_turned_down_is_judged(two):
    wrong = Span("x.py", 25, 26)
    found = pool(two, nDCG, lambda gold, name, span: name == "q" and span.common_lines(wrong) > 0)
    spans = {(c.query, str(c.span)) for c in found.candidates}
    assert ("q", "x.py:20-30") not in spans
    assert ("q", "x.py:1-9") in spans  # other lines of the file, which are unjudged


def test_the_depth_and_failures_limit_what_is_gathered(two, make_run, hits, targets):
    assert {str(c.span) for c in pool(two, nDCG, config=PoolConfig(depth=2)).candidates} == {"x.py:20-30", "z.py"}
    failed = make_run([query("q", targets("a.py"))], {"one": {"q": {"human": Status.TIMEOUT}}})
    assert pool(failed, nDCG).candidates == ()
    with pytest.raises(ConfigError):
        PoolConfig(depth=0)


def test_floor_and_ceiling_bring_nothing_up(two):
    engines = (*two.engines, replace(two.engines[1], name="random", role="floor"))
    found = pool(replace(two, engines=engines), nDCG)
    assert [b.engine for b in found.bounds] == ["mine", "yours"]


def test_only_the_headline_phrasing_counts(make_run, hits, targets):
    forms = {"human": "how?", "keyword": "k"}
    run = make_run(
        [query("q", targets("a.py"), **forms)],
        {"one": {"q": {"human": hits("a.py", "x.py"), "keyword": hits("y.py", "a.py")}}},
    )
    assert [str(c.span) for c in pool(run, nDCG).candidates] == ["x.py"]


def with_target(run, name, target):
    gold = run.suite.golds[0]
    queries = tuple(replace(q, targets=(*q.targets, target)) if q.id == name else q for q in gold.queries)
    return replace(run, suite=replace(run.suite, golds=(replace(gold, queries=queries),)))


def means(run, measure):
    scores = score(run, [measure])
    return dict(zip(scores.engines, np.nanmean(scores.values[:, 0], axis=1), strict=True))


names = st.lists(st.sampled_from(["a.py:1-9", "a.py:5-20", "b.py", "c.py:3-4", "d.py", "e.py:1-50"]), max_size=5)


@examples(60)
@given(
    answers=st.lists(st.lists(names, min_size=3, max_size=3), min_size=2, max_size=3),
    measure=st.sampled_from([nDCG, LINES, parse_measure("RR@5"), parse_measure("R@10"), parse_measure("Hit@1")]),
)
def test_every_change_equals_rescoring(make_run, hits, targets, answers, measure):
    queries = [query(f"q{n}", targets(where)) for n, where in enumerate(["a.py:1-9", "b.py", "d.py"])]
    run = make_run(
        queries,
        {f"e{n}": {f"q{i}": {"human": hits(*h)} for i, h in enumerate(each)} for n, each in enumerate(answers)},
    )
    found = pool(run, measure)
    before = means(run, measure)
    for candidate in found.candidates:
        for effect in candidate.effects:
            after = means(with_target(run, candidate.query, Target(candidate.span, effect.grade)), measure)
            for engine, change in effect.changes.items():
                assert change == pytest.approx(after[engine] - before[engine], abs=1e-9)
            assert found.contest is not None
            first, second = found.contest.first, found.contest.second
            assert effect.gap == pytest.approx(effect.changes[first] - effect.changes[second], abs=1e-9)
    assert {b.engine: pytest.approx(b.now) for b in found.bounds} == before


@examples(40)
@given(answers=st.lists(st.lists(names, min_size=2, max_size=2), min_size=2, max_size=2))
def test_the_ends_of_the_gap_hold_every_single_label_and_are_reached_by_the_scenes(make_run, hits, targets, answers):
    queries = [query(f"q{n}", targets(where)) for n, where in enumerate(["a.py:1-9", "b.py"])]
    run = make_run(
        queries, {f"e{n}": {f"q{i}": {"human": hits(*h)} for i, h in enumerate(a)} for n, a in enumerate(answers)}
    )
    found = pool(run, nDCG)
    contest = found.contest
    assert contest is not None
    assert contest.least <= contest.gap <= contest.most
    assert contest.gap >= 0
    for candidate in found.candidates:
        for effect in candidate.effects[:1]:  # a single primary is one of the ways that are tried
            assert contest.least - 1e-9 <= contest.gap + effect.gap <= contest.most + 1e-9
    for name, gap in (("now", contest.gap), ("least", contest.least), ("most", contest.most)):
        values = contest.scenes[name].values[:, 0]
        assert float(np.mean(values[0] - values[1])) == pytest.approx(gap, abs=1e-9)
    assert (contest.labels is not None) == (contest.least < -1e-12) or contest.gap == 0


def test_labels_that_turn_the_order_are_found(make_run, hits, targets):
    queries = [query("q", targets("a.py")), query("r", targets("b.py"))]
    run = make_run(
        queries,
        {
            "mine": {"q": {"human": hits("a.py")}, "r": {"human": hits("b.py")}},
            "yours": {"q": {"human": hits("x.py", "a.py")}, "r": {"human": hits("b.py")}},
        },
    )
    contest = pool(run, nDCG).contest
    assert contest is not None
    assert (contest.first, contest.second, contest.labels) == ("mine", "yours", 1)
    assert contest.least < 0 < contest.gap


def test_the_most_telling_result_comes_first_and_the_order_is_total(two):
    found = pool(two, nDCG)
    weights = [candidate.weight for candidate in found.candidates]
    assert weights == sorted(weights, reverse=True)
    swapped = replace(two, engines=two.engines[::-1])
    again = pool(swapped, nDCG)
    assert [(c.query, c.span) for c in again.candidates] == [(c.query, c.span) for c in found.candidates]


def test_all_right_is_the_score_with_the_whole_pool_added(two):
    found = pool(two, nDCG)
    run = two
    for candidate in found.candidates:
        run = with_target(run, candidate.query, Target(candidate.span))
    expected = means(run, nDCG)
    assert {b.engine: b.all_right for b in found.bounds} == pytest.approx(expected)
    assert {b.engine: b.unjudged for b in found.bounds} == {"mine": 2, "yours": 2}


def test_a_measure_over_phrasings_is_refused(two):
    with pytest.raises(ConfigError, match="combines several phrasings"):
        pool(two, parse_measure("Worst(nDCG@10)"))


def test_one_engine_has_no_contest(make_run, hits, targets):
    run = make_run([query("q", targets("a.py"))], {"one": {"q": {"human": hits("x.py", "a.py")}}})
    found = pool(run, nDCG)
    assert found.contest is None
    assert found.candidates[0].effects[0].changes["one"] > 0
