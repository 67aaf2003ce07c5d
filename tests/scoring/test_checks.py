"""Ties that decide a score (rule 9), and identical rankings (rule 7)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring import RR, IdenticalEngines, Measure, identical_rankings, nDCG, score, ties
from assay.scoring.measures import RecallAtTokens, Spread
from assay.scoring.score import Scorer
from assay.types import Hit, Query, Run, Scores, Status
from tests.properties import examples


def _scored(*pairs: tuple[str, float]) -> tuple[Hit, ...]:
    return tuple(Hit(path, score=value) for path, value in pairs)


def test_ties_reports_the_range_that_tied_hits_could_give(make_run, targets):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(2)]
    answers = {
        "q0": {"human": _scored(("a", 1.0), ("b", 1.0), ("c", 0.5))},
        "q1": {"human": _scored(("a", 0.9), ("b", 0.8))},
    }
    (found,) = ties(make_run(queries, {"e": answers}), [RR @ 10], np.random.default_rng(0))
    assert (found.engine, found.measure, found.rate, found.value) == ("e", "RR@10", 0.5, 1.0)
    assert (found.low, found.high) == (0.75, 1.0)
    assert 0.80 < found.mean < 0.95


def test_ties_is_the_value_itself_where_there_are_none(make_run, targets):
    queries = [Query("q", {"human": "?"}, targets("a"))]
    plain = make_run(queries, {"e": {"q": {"human": (Hit("b"), Hit("a"), Hit("c"))}}})  # no score is no tie
    (found,) = ties(plain, [RR @ 10], np.random.default_rng(0))
    assert (found.rate, found.low, found.value, found.mean, found.high) == (0, 0.5, 0.5, 0.5, 0.5)


def test_ties_never_move_a_hit_past_another_score(make_run, targets):
    queries = [Query("q", {"human": "?"}, targets("a"))]
    hits = _scored(("x", 3.0), ("y", 3.0), ("a", 2.0), ("z", 1.0), ("w", 1.0))
    (found,) = ties(make_run(queries, {"e": {"q": {"human": hits}}}), [RR @ 10], np.random.default_rng(0))
    assert (found.rate, found.low, found.high) == (1.0, 1 / 3, 1 / 3)


def test_ties_is_seeded_and_leaves_the_run_alone(make_run, targets):
    queries = [Query(f"q{n}", {"human": "?", "keyword": "?"}, targets("a")) for n in range(4)]
    hits = _scored(*((path, 1.0) for path in "bcdae"))
    run = make_run(queries, {"e": {f"q{n}": {"human": hits, "keyword": hits} for n in range(4)}}, lines={})
    measures = [RR @ 10, Spread(RR @ 10)]
    one, two, other = (ties(run, measures, np.random.default_rng(seed), shuffles=9) for seed in (1, 1, 2))
    assert one == two
    assert one != other
    assert run.engines[0].rankings[0].hits == hits


def test_ties_survive_an_unanswered_phrasing_of_a_tied_query(make_run, targets, hits):
    forms = {"human": "?", "keyword": "?"}
    queries = [Query("tied", forms, targets("a")), Query("other", forms, targets("a"))]
    answers = {"tied": {"keyword": _scored(("a", 1.0), ("b", 1.0))}, "other": dict.fromkeys(forms, hits("a"))}
    (found,) = ties(make_run(queries, {"e": answers}), [Spread(RR @ 10)], np.random.default_rng(0))
    assert (found.low, found.value, found.high) == (0.5, 0.5, 0.5)  # the tied intent failed once: 1, the other has 0


def test_ties_in_another_phrasing_reach_measures_over_phrasings(make_run, targets, hits):
    query = Query("q", {"human": "?", "keyword": "?"}, targets("a"))
    answers = {"q": {"human": hits("a"), "keyword": _scored(("a", 1.0), ("b", 1.0))}}
    run = make_run([query], {"e": answers})
    (found,) = ties(run, [Spread(RR @ 10)], np.random.default_rng(0))
    assert (found.low, found.value, found.high) == (0, 0, 0.5)
    (found,) = ties(run, [RR @ 10], np.random.default_rng(0))
    assert (found.rate, found.low, found.high) == (0.5, 1, 1)


SCORES = st.lists(st.sampled_from([3.0, 2.0, 1.0, None]), max_size=8)


def test_ties_draw_every_order_of_tied_hits_equally(make_run, targets):
    hits = _scored(*((path, 1.0) for path in "abc"))
    run = make_run([Query("q", {"human": "?"}, targets("a"))], {"e": {"q": {"human": hits}}})
    (found,) = ties(run, [RR @ 10], np.random.default_rng(0), shuffles=2_000)
    assert abs(found.mean - (1 + 1 / 2 + 1 / 3) / 3) < 0.025  # four standard errors


def _counted(run: Run) -> Run:
    """Return the run with hits of 1, 2, 3, … tokens."""
    engines = [
        replace(engine, rankings=tuple(replace(r, tokens=tuple(range(1, len(r.hits) + 1))) for r in engine.rankings))
        for engine in run.engines
    ]
    return replace(run, engines=tuple(engines))


def _shuffle_all(run: Run, rng: np.random.Generator) -> Run:
    """Put the tied hits of every ranking in another order, tied or not: the plain way, to compare with."""
    engines = []
    for engine in run.engines:
        rankings = []
        for ranking in engine.rankings:
            lots, groups = rng.random(len(ranking.hits)), [0]
            for before, hit in pairwise(ranking.hits):
                groups.append(groups[-1] + (hit.score is None or before.score != hit.score))
            order = np.lexsort(np.array([lots, groups[: len(lots)]]))
            hits, tokens = (tuple(column[at] for at in order) for column in (ranking.hits, ranking.tokens))
            rankings.append(replace(ranking, hits=hits, tokens=tokens))
        engines.append(replace(engine, rankings=tuple(rankings)))
    return replace(run, engines=tuple(engines))


@examples(40)
@given(st.lists(st.lists(SCORES, min_size=3, max_size=3), min_size=1, max_size=3), st.integers(0, 9))
def test_ties_equal_shuffling_and_scoring_everything(make_run, targets, engines, seed):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a", "c=1")) for n in range(3)]
    answers = {
        f"e{e}": {f"q{n}": {"human": [Hit("abcdefgh"[i], score=s) for i, s in enumerate(scores)]} for n, scores in rows}
        for e, rows in enumerate(map(enumerate, engines))
    }
    tied = {
        f"q{n}": {"human": _scored(("a", 1.0), ("b", 1.0), ("c", 1.0))} for n in range(3)
    }  # so that every query is drawn for
    lines = dict.fromkeys("ac", (4,))  # of the other files only the recorded tokens are known
    run = _counted(make_run(queries, {**answers, "tied": tied}, lines=lines))
    measures, rng = [RR @ 10, nDCG @ 2, RecallAtTokens(3)], np.random.default_rng(seed)
    slow = np.array([score(_shuffle_all(run, rng), measures).values.mean(axis=-1) for _ in range(20)])
    found = ties(run, measures, np.random.default_rng(seed), shuffles=20)
    expected = [(slow[:, e, m].min(), slow[:, e, m].mean(), slow[:, e, m].max()) for e, m in np.ndindex(slow.shape[1:])]
    assert np.allclose([(one.low, one.mean, one.high) for one in found], expected, rtol=0, atol=1e-12)


def test_answers_without_ties_are_not_scored_again_and_nothing_is_drawn(make_run, targets, monkeypatch):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(3)]
    plain = {f"q{n}": {"human": _scored(("b", 2.0), ("a", 1.0))} for n in range(3)}
    tied = {**plain, "q1": {"human": _scored(("b", 1.0), ("a", 1.0))}}
    scored: list[int] = []
    tabulate = Scorer.tabulate

    def count(scorer: Scorer, measures: list[Measure]) -> Scores:
        scored.append(sum(len(engine.rankings) for engine in scorer.run.engines))
        return tabulate(scorer, measures)

    monkeypatch.setattr(Scorer, "tabulate", count)
    rng = np.random.default_rng(0)
    ties(make_run(queries, {"e": plain}), [RR @ 10], rng)
    assert scored == [3]
    assert rng.random() == np.random.default_rng(0).random()
    ties(make_run(queries, {"e": plain, "f": tied}), [RR @ 10], rng)
    assert scored == [3, 6, 2]  # two orders of one answer of one engine, whatever the number of draws


def test_identical_rankings_finds_the_knob_that_is_not_connected(make_run, targets, hits):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(2)]
    same = {"q0": {"human": hits("a:1-2", "b")}, "q1": {"human": hits("b")}}
    other = {"q0": {"human": hits("a:1-3", "b")}, "q1": {"human": hits("b")}}
    run = make_run(queries, {"plain": same, "graph": same, "rerank": other})
    assert identical_rankings(run) == (IdenticalEngines("plain", "graph"),)


def test_identical_rankings_ignores_scores_but_not_failures(make_run, targets, hits):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(2)]
    first = {"q0": {"human": _scored(("a", 1.0))}, "q1": {"human": hits("b")}}
    second = {"q0": {"human": _scored(("a", 9.0))}, "q1": {"human": hits("b")}}
    third = {"q0": {"human": hits("a")}, "q1": {"human": Status.CRASH}}
    dead = {"q0": {"human": Status.CRASH}, "q1": {"human": Status.CRASH}}
    run = make_run(queries, {"a": first, "b": second, "c": third, "d": dead, "e": dead})
    assert identical_rankings(run) == (IdenticalEngines("a", "b"),)


def test_ties_keep_token_measures_working(make_run, targets):
    hits = _scored(("a", 1.0), ("b", 1.0))
    query = Query("q", {"human": "?"}, targets("a"))
    run = make_run([query], {"e": {"q": {"human": hits}}}, lines={"a": (4,), "b": (40,)})
    (found,) = ties(run, [RecallAtTokens(5)], np.random.default_rng(0))
    assert (found.low, found.value, found.high) == (0, 1, 1)
