"""Scores of runs: units, failures, laws."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, InputError, SetupError
from assay.scoring import RR, EvaluationMean, Measure, evaluation_means, evaluation_measures, nDCG, score
from assay.scoring.grid import Grid
from assay.scoring.measures import (
    AP,
    Displacement,
    Hit,
    Judged,
    LineP,
    LineR,
    P,
    R,
    RankGap,
    RecallAtTokens,
    SpanR,
    Spread,
    TokensToHit,
)
from assay.types import Adversary, Query, Ranking, Span, Status, Target
from assay.types import Hit as Result

if TYPE_CHECKING:
    from assay.types import FloatArray

LINES = dict.fromkeys("abcd", (7,) * 30)
RANKED = [
    *(m(level=level) @ k for m in (nDCG, RR, Hit, R, P, AP) for level in ("file", "symbol", "lines") for k in (3, 10)),
    *(m @ k for m in (LineR, LineP, SpanR) for k in (3, 10)),
    RecallAtTokens(60),
]
EVERY = [*RANKED, Judged @ 10, TokensToHit, Displacement(level="lines") @ 10, RankGap @ 5, nDCG(rule="semble") @ 10]
RECALLS = [m for m in RANKED if m.name in ("R", "Hit", "LineR", "RecallAtTokens", "RR", "nDCG", "AP", "SpanR")]

SPANS = st.builds(
    lambda path, start, length: Span(path) if start == 0 else Span(path, start, start + length),
    st.sampled_from("abcd"),
    st.integers(0, 20),
    st.integers(0, 9),
)
HITS = st.lists(SPANS.map(lambda s: Result(s.path, s.start, s.end)), max_size=14)
TARGETS = st.lists(st.builds(Target, SPANS, st.sampled_from([1, 2]), unit=st.none() | SPANS), min_size=1, max_size=5)
RIVALS = st.lists(st.builds(lambda s: Adversary(Target(s), "sibling", "strong", ""), SPANS), max_size=3)


def _values(
    make_run: Any, measures: list[Measure], found: Any, right: Any, rivals: Any = (), k: int = 10
) -> FloatArray:
    query = Query("q", {"human": "?"}, tuple(right), tuple(rivals))
    scores = score(make_run([query], {"e": {"q": {"human": found}}}, k, LINES), measures)
    values: FloatArray = scores.values[0, :, 0]
    return values


@given(HITS, TARGETS, RIVALS)
def test_values_stay_inside_their_bounds(make_run, found, right, rivals):
    for measure, value in zip(EVERY, _values(make_run, EVERY, found, right, rivals), strict=True):
        assert math.isnan(value) or measure.low <= value <= measure.high, measure


@given(HITS, TARGETS, RIVALS)
def test_failure_is_never_better_than_an_answer(make_run, found, right, rivals):
    answered = _values(make_run, EVERY, found, right, rivals)
    failed = _values(make_run, EVERY, Status.ERROR, right, rivals)
    for measure, value, worst in zip(EVERY, answered, failed, strict=True):
        assert math.isnan(value) == math.isnan(worst), measure  # whether it applies is the query's matter
        if not math.isnan(value):
            assert worst == measure.worst
            assert value >= worst if measure.higher_is_better else value <= worst


@given(HITS, TARGETS, st.randoms(use_true_random=False))
def test_order_of_targets_does_not_matter(make_run, found, right, random):
    measures = [nDCG @ 10, RR @ 10, R @ 10, AP @ 10, P @ 3, LineR @ 10, LineP @ 3, RecallAtTokens(60), Judged @ 5]
    shuffled = random.sample(right, len(right))
    np.testing.assert_array_equal(
        _values(make_run, measures, found, right), _values(make_run, measures, found, shuffled)
    )


@given(HITS.map(lambda found: found[:9]), TARGETS, SPANS)
def test_one_more_hit_at_the_end_never_lowers_what_was_found(make_run, found, right, last):
    before = _values(make_run, RECALLS, found, right)
    after = _values(make_run, RECALLS, [*found, Result(last.path, last.start, last.end)], right)
    assert np.all((after >= before - 1e-12) | np.isnan(before))


@given(HITS, TARGETS)
def test_cutoff_depends_on_nothing_below_it(make_run, found, right):
    shallow = [m for m in EVERY if m.k == 3]
    np.testing.assert_array_equal(
        _values(make_run, shallow, found, right), _values(make_run, shallow, found[:3], right, k=3)
    )


@given(TARGETS)
def test_ideal_ranking_scores_one(make_run, right):
    disjoint = list({target.span.path: target for target in right}.values())
    ideal = sorted(disjoint, key=lambda target: -target.grade)
    found = [Result(t.span.path, t.span.start, t.span.end) for t in ideal]
    measures = [
        *(m(level=level) @ 10 for m in (nDCG, RR, Hit, R, AP) for level in ("file", "lines")),
        LineR @ 10,
        LineP @ 10,
        SpanR(iou=1) @ 10,
        Judged @ 10,
    ]
    assert _values(make_run, measures, found, disjoint).tolist() == [1.0] * len(measures)


@given(HITS, TARGETS)
def test_repeated_hits_change_no_rank_above_them(make_run, found, right):
    measures = [m(level="lines") @ 10 for m in (nDCG, RR, R, AP)]
    once = list(dict.fromkeys(found))[:5]
    np.testing.assert_array_equal(
        _values(make_run, measures, once, right), _values(make_run, measures, [*once, *once], right)
    )


def test_failures_are_never_averaged_away(make_run, hits, targets):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(127)]
    answers = {f"q{n}": {"human": hits("a") if n == 0 else Status.TIMEOUT} for n in range(127)}
    values = score(make_run(queries, {"e": answers}), [Hit @ 5]).values[0, 0]
    assert np.mean(values) == pytest.approx(1 / 127)  # octocode's score.py says 1.000 of 1 query


@pytest.mark.parametrize("status", [Status.ERROR, Status.TIMEOUT, Status.CRASH])
def test_failed_ranking_keeps_none_of_its_hits(make_run, hits, targets, status):
    run = make_run([Query("q", {"human": "?"}, targets("a"))], {"e": {"q": {"human": hits("a")}}}, lines=LINES)
    ranking = replace(run.engines[0].rankings[0], status=status)
    broken = replace(run, engines=(replace(run.engines[0], rankings=(ranking,)),))
    assert score(broken, [Hit @ 5, LineR @ 5, RecallAtTokens(5)]).values[0, :, 0].tolist() == [0, 0, 0]
    assert [cell.hits for cell in Grid(broken).cells()] == [()]


def test_missing_ranking_is_a_failure(make_run, hits, targets):
    queries = [Query("p", {"human": "?"}, targets("a")), Query("q", {"human": "?"}, targets("a"))]
    found = {"human": hits("a")}
    run = make_run(queries, {"whole": {"p": found, "q": found}, "half": {"q": found}, "none": {}})
    assert score(run, [Hit @ 5]).values[:, 0].tolist() == [[1, 1], [0, 1], [0, 0]]


def test_units_are_in_suite_order_with_forms_in_theirs(make_run, hits, targets):
    forms = {"keyword": "k", "own": "o", "human": "h"}
    queries = [Query("z", forms, targets("a"), tags={"category": "x"}), Query("b", {"keyword": "k"}, targets("a"))]
    answers = {"z": dict.fromkeys(forms, hits("a")), "b": {"keyword": hits("a")}}
    run = replace(make_run(queries, {"e": answers}), hashes={"gold/z": "abc"})
    units = score(run, [Hit @ 1]).units
    assert [(u.query, u.form, u.headline) for u in units] == [
        ("z", "human", True), ("z", "keyword", False), ("z", "own", False), ("b", "keyword", True),
    ]  # fmt: skip
    assert (units[0].hash, units[0].repository, units[0].tags, units[3].hash) == (
        "abc",
        "path:.",
        {"category": "x"},
        "",
    )


def test_units_are_the_forms_that_were_run(make_run, hits, targets):
    query = Query("q", {"human": "h", "keyword": "k"}, targets("a"))
    units = score(make_run([query], {"e": {"q": {"keyword": hits("a")}}}), [Hit @ 1]).units
    assert [(u.form, u.headline) for u in units] == [("keyword", True)]
    units = score(make_run([query], {"e": {}}), [Hit @ 1]).units
    assert [(u.form, u.headline) for u in units] == [("human", True), ("keyword", False)]


def test_score_refuses_rankings_that_do_not_belong(make_run, hits, targets):
    run = make_run([Query("q", {"human": "h"}, targets("a"))], {"e": {"q": {"human": hits("a")}}})
    engine = run.engines[0]
    strange = replace(engine, rankings=(*engine.rankings, Ranking("gold", "other", "human")))
    with pytest.raises(InputError, match="not in the gold set"):
        score(replace(run, engines=(strange,)), [Hit @ 1])
    twice = replace(engine, rankings=engine.rankings * 2)
    with pytest.raises(InputError, match="two rankings"):
        score(replace(run, engines=(twice,)), [Hit @ 1])


def test_score_names_measures_once_and_takes_names(make_run, hits, targets):
    run = make_run([Query("q", {"human": "h"}, targets("a"))], {"e": {"q": {"human": hits("a")}}})
    scores = score(run, ["Hit@1", Hit @ 1, "RR@10"])
    assert scores.measures == ("Hit@1", "RR@10")
    assert (scores.engines, scores.values.shape) == (("e",), (1, 2, 1))


def test_score_of_an_empty_run_is_empty(make_run):
    scores = score(make_run([], {}), [nDCG @ 10, Displacement @ 5, LineR @ 3, Spread(RR @ 5)])
    assert scores.values.shape == (0, 4, 0)


def test_score_does_not_depend_on_the_order_of_engines_or_rankings(make_run, hits, targets):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(3)]
    answers = {f"q{n}": {"human": hits("b", "a")[n % 2 :]} for n in range(3)}
    run = make_run(queries, {"x": answers, "y": {}})
    turned = tuple(replace(e, rankings=e.rankings[::-1]) for e in run.engines[::-1])
    one, two = score(run, [RR @ 5]), score(replace(run, engines=turned), [RR @ 5])
    np.testing.assert_array_equal(one.values[::-1], two.values)


def test_evaluation_means_use_the_queries_that_name_the_measure(make_run, hits, targets):
    queries = [
        Query("p", {"human": "?", "keyword": "?"}, targets("a"), measures=("RR @ 10",)),
        Query("q", {"human": "?"}, targets("a"), measures=("RR@10", "Displacement@10")),
        Query("r", {"human": "?"}, targets("a")),
    ]
    answers = {
        "p": {"human": hits("a"), "keyword": hits("b")},
        "q": {"human": hits("b", "a")},
        "r": {"human": hits("b")},
    }
    run = make_run(queries, {"e": answers})
    assert evaluation_measures(run.suite) == (RR @ 10, Displacement @ 10)
    means = evaluation_means(run, score(run, [nDCG @ 10, RR @ 10, Displacement @ 10]))
    assert means[0] == EvaluationMean("e", "RR@10", 2, 0.75)
    assert (means[1].measure, means[1].n, len(means)) == ("Displacement@10", 0, 2)
    assert math.isnan(means[1].mean)


def test_evaluation_measures_say_whose_name_is_wrong(make_run, targets):
    run = make_run([Query("p", {"human": "?"}, targets("a"), measures=("Accuracy@10",), line=7)], {})
    with pytest.raises(ConfigError, match="gold/p") as caught:
        evaluation_measures(run.suite)
    assert caught.value.line == 7


def test_scores_as_means_and_columns(make_run, hits, targets):
    queries = [
        Query("p", {"human": "?", "keyword": "?"}, targets("a")),
        Query("q", {"human": "?"}, targets("b")),
    ]
    answers = {"p": {"human": hits("a"), "keyword": hits("x")}, "q": {"human": hits("x", "b")}}
    scores = score(make_run(queries, {"e": answers}), [RR @ 10, Displacement @ 10])
    means = scores.means()["e"]
    assert means["RR@10"] == 0.75  # the first phrasing of each query
    assert math.isnan(means["Displacement@10"])
    columns = scores.to_dict()
    assert list(columns) == ["engine", "gold", "query", "form", "RR@10", "Displacement@10"]
    assert columns["form"] == ["human", "keyword", "human"]
    assert columns["RR@10"] == [1.0, 0.0, 0.5]


def test_scores_as_a_frame(make_run, hits, targets, monkeypatch):
    scores = score(make_run([Query("q", {"human": "?"}, targets("a"))], {"e": {"q": {"human": hits("a")}}}), [RR @ 5])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError, match="pandas is not installed") as caught:
        scores.to_frame()
    assert "pip install pandas" in str(caught.value.hint)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))  # not a dependency of the tests
    assert scores.to_frame() == scores.to_dict()
