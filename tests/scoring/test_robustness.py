"""Measures over the phrasings of one intent."""

from __future__ import annotations

import math

import pytest

from assay.scoring import RR, score
from assay.scoring.measures import All, Any, Displacement, Drop, Hit, Spread, TokensToHit, Worst
from assay.types import Query, Status

LINES = {"a": (4,) * 10, "b": (4,) * 10}


@pytest.fixture
def phrased(make_run, hits, targets, adversaries):
    """Score one intent whose forms got these results; returns the values of its units."""

    def build(measure, **answers):
        query = Query("q", dict.fromkeys(answers, "?"), targets("a"), adversaries("b"))
        given = {f: found if isinstance(found, Status) else hits(*found.split()) for f, found in answers.items()}
        return score(make_run([query], {"e": {"q": given}}, lines=LINES), [measure]).values[0, 0].tolist()

    return build


def test_phrasings_stand_at_the_headline_unit(phrased):
    values = phrased(Worst(RR @ 10), keyword="a", human="b a", wrong_terminology="b b:1-2 a")
    assert values[0] == 0.5
    assert all(math.isnan(value) for value in values[1:])


def test_any_and_all_ask_whether_phrasings_found_it(phrased):
    assert phrased(Any(Hit @ 1), human="b", keyword="a")[0] == 1
    assert phrased(All(Hit @ 1), human="b", keyword="a")[0] == 0
    assert phrased(All(Hit @ 2), human="b a", keyword="a")[0] == 1
    assert phrased(Any(Hit @ 1), human="b", keyword="b")[0] == 0


def test_worst_takes_the_direction_of_the_measure(phrased):
    assert phrased(Worst(RR @ 10), human="a", keyword="b a")[0] == 0.5
    assert phrased(Worst(TokensToHit), human="a", keyword="b a")[0] == 11
    assert phrased(Worst(Displacement @ 5), human="a", keyword="b a")[0] == 1


def test_spread_is_best_minus_worst_and_needs_two(phrased):
    assert phrased(Spread(RR @ 10), human="a", keyword="b a", ai_optimized="b")[0] == 1.0
    assert phrased(Spread(RR @ 10), human="a", keyword="b a")[0] == 0.5
    assert math.isnan(phrased(Spread(RR @ 10), human="a")[0])


def test_drop_is_what_the_second_phrasing_loses(phrased):
    drop = Drop(RR @ 10, "human→wrong_terminology")
    assert phrased(drop, human="a", wrong_terminology="b a")[0] == 0.5
    assert phrased(drop, human="b a", wrong_terminology="a")[0] == -0.5
    assert math.isnan(phrased(drop, human="a", keyword="b")[0])
    assert phrased(Drop(Displacement @ 5, "human→keyword"), human="a", keyword="b a")[0] == 1


def test_failed_phrasing_takes_the_worst_value(phrased):
    crash = Status.CRASH
    assert phrased(Any(Hit @ 5), human="a", keyword=crash)[0] == 1
    assert phrased(Any(Displacement @ 5), human="a", keyword=crash)[0] == 1
    assert phrased(All(Hit @ 5), human="a", keyword=crash)[0] == 0
    assert phrased(Worst(RR @ 5), human="a", keyword=crash)[0] == 0
    assert phrased(Spread(RR @ 5), human=crash, keyword=crash)[0] == 1  # not 0, which is the best there is
    assert phrased(Drop(RR @ 5, "human→keyword"), human=crash, keyword="a")[0] == 1  # not -1
    assert phrased(Drop(RR @ 5, "human→keyword"), human="a", keyword="a", ai_optimized=crash)[0] == 0


def test_phrasings_of_other_intents_do_not_mix(make_run, hits, targets):
    queries = [Query(f"q{n}", {"human": "?", "keyword": "?"}, targets("a")) for n in range(2)]
    answers = {"q0": {"human": hits("a"), "keyword": hits("b")}, "q1": {"human": hits("a"), "keyword": hits("a")}}
    values = score(make_run(queries, {"e": answers}), [All(Hit @ 1)]).values[0, 0]
    assert (values[0], values[2]) == (0, 1)
