"""Rule 9: what ties could have done. Rule 7: variants that answer the same."""

from __future__ import annotations

import numpy as np

from assay.scoring import RR, RecallAtTokens, Spread, Twins, identical_rankings, ties
from assay.scoring.audit import _shuffle
from assay.types import Hit, Query, Ranking, Status


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


def test_ties_survive_a_form_that_nobody_answered_where_the_ties_are(make_run, targets, hits):
    forms = {"human": "?", "keyword": "?"}
    queries = [Query("tied", forms, targets("a")), Query("other", forms, targets("a"))]
    answers = {"tied": {"keyword": _scored(("a", 1.0), ("b", 1.0))}, "other": dict.fromkeys(forms, hits("a"))}
    (found,) = ties(make_run(queries, {"e": answers}), [Spread(RR @ 10)], np.random.default_rng(0))
    assert (found.low, found.value, found.high) == (0.5, 0.5, 0.5)  # the tied intent failed once: 1, the other has 0


def test_shuffle_moves_tokens_with_their_hits():
    ranking = Ranking("g", "q", "human", _scored(*((path, 1.0) for path in "abcdef")), tokens=(1, 2, 3, 4, 5, 6))
    turned = _shuffle(ranking, np.random.default_rng(0))
    assert turned.hits != ranking.hits
    assert dict(zip(turned.hits, turned.tokens, strict=True)) == dict(zip(ranking.hits, ranking.tokens, strict=True))


def test_identical_rankings_finds_the_knob_that_is_not_connected(make_run, targets, hits):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(2)]
    same = {"q0": {"human": hits("a:1-2", "b")}, "q1": {"human": hits("b")}}
    other = {"q0": {"human": hits("a:1-3", "b")}, "q1": {"human": hits("b")}}
    run = make_run(queries, {"plain": same, "graph": same, "rerank": other})
    assert identical_rankings(run) == (Twins("plain", "graph"),)


def test_identical_rankings_ignores_scores_but_not_failures(make_run, targets, hits):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(2)]
    first = {"q0": {"human": _scored(("a", 1.0))}, "q1": {"human": hits("b")}}
    second = {"q0": {"human": _scored(("a", 9.0))}, "q1": {"human": hits("b")}}
    third = {"q0": {"human": hits("a")}, "q1": {"human": Status.CRASH}}
    dead = {"q0": {"human": Status.CRASH}, "q1": {"human": Status.CRASH}}
    run = make_run(queries, {"a": first, "b": second, "c": third, "d": dead, "e": dead})
    assert identical_rankings(run) == (Twins("a", "b"),)


def test_ties_keep_token_measures_working(make_run, targets):
    hits = _scored(("a", 1.0), ("b", 1.0))
    query = Query("q", {"human": "?"}, targets("a"))
    run = make_run([query], {"e": {"q": {"human": hits}}}, lines={"a": (4,), "b": (40,)})
    (found,) = ties(run, [RecallAtTokens(5)], np.random.default_rng(0))
    assert (found.low, found.value, found.high) == (0, 1, 1)
