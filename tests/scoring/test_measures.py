"""Measures as values: names, settings and errors."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.scoring import RR, nDCG, parse_measure, score
from assay.scoring.measures import (
    AP,
    MEASURES,
    All,
    Any,
    Displacement,
    Drop,
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
    Worst,
)
from assay.types import FORMS, Query

LEVEL = st.sampled_from(["file", "symbol", "lines"])
CUT = st.integers(1, 1000)
GRADE = st.sampled_from([1, 2, 3])
COUNTED = st.sampled_from([RR, Hit, R, P, AP])
LEVELLED = st.sampled_from([nDCG, Judged, Displacement, RankGap])
RANKED = st.one_of(
    st.builds(lambda m, level, grade, k: m(level=level, grade=grade) @ k, COUNTED, LEVEL, GRADE, CUT),
    st.builds(lambda m, level, k: m(level=level) @ k, LEVELLED, LEVEL, CUT),
    st.builds(lambda k: nDCG(rule="semble") @ k, CUT),
    st.builds(lambda m, grade, k: m(grade=grade) @ k, st.sampled_from([LineR, LineP]), GRADE, CUT),
    st.builds(lambda iou, k: SpanR(iou=iou) @ k, st.floats(0, 1, exclude_min=True), CUT),
    st.builds(lambda tokens, level: RecallAtTokens(tokens, level=level), CUT, LEVEL),
    st.builds(lambda cap: TokensToHit(cap=cap), CUT),
)  # fmt: skip
PAIRS = st.permutations(FORMS).map(lambda forms: f"{forms[0]}→{forms[1]}")
COMPLETE = st.one_of(
    RANKED,
    st.builds(lambda m, of: m(of), st.sampled_from([Worst, Spread]), RANKED),
    st.builds(lambda m, k: m(Hit @ k), st.sampled_from([Any, All]), CUT),
    st.builds(lambda of, pair: Drop(of, pair), RANKED, PAIRS),
)


@given(COMPLETE)
def test_measure_repr_round_trips(measure):
    again = parse_measure(repr(measure))
    assert again == measure
    assert repr(again) == repr(measure)
    assert hash(again) == hash(measure)
    assert pickle.loads(pickle.dumps(measure)) == measure


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nDCG@10", "nDCG@10"),
        (" nDCG ( level = 'lines' ) @ 10 ", "nDCG(level=lines)@10"),
        ("nDCG(level=file)@10", "nDCG@10"),
        ('nDCG(rule="semble")@10', "nDCG(rule=semble)@10"),
        ("nDCG(rule=octocode)@10", "nDCG(level=lines,rule=octocode)@10"),
        ("RR(rule=pyckle)@5", "RR(rule=pyckle)@5"),
        ("MRR@10", "RR@10"),
        ("recall(level=lines)@10", "R(level=lines)@10"),
        ("MAP@10", "AP@10"),
        ("Hit(grade=2)@5", "Hit(grade=2)@5"),
        ("SpanR@10", "SpanR(iou=0.3)@10"),
        ("RecallAtTokens(2000)", "RecallAtTokens(2000)"),
        ("RecallAtTokens(tokens=2000)", "RecallAtTokens(2000)"),
        ("TokensToHit", "TokensToHit"),
        ("TokensToHit(cap=32000)", "TokensToHit"),
        ("Any(Hit@10)", "Any(Hit@10)"),
        ("Worst(Hit(grade=2,level=lines)@5)", "Worst(Hit(level=lines,grade=2)@5)"),
        ("Drop(RR@10, human -> wrong_terminology)", "Drop(RR@10,human→wrong_terminology)"),
        ("Drop(human→wrong_terminology)", "Drop(nDCG@10,human→wrong_terminology)"),
    ],
)
def test_parse_measure_writes_one_name_for_each_meaning(text, name):
    assert repr(parse_measure(text)) == name


def test_measure_call_and_text_mean_the_same():
    assert nDCG(level="lines") @ 10 == parse_measure("nDCG(level=lines)@10")
    assert Drop(nDCG @ 10, "human->keyword") == parse_measure("Drop(nDCG@10,human→keyword)")
    assert RecallAtTokens(500) == parse_measure("RecallAtTokens(500)")
    assert nDCG @ 10 != nDCG @ 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nDGC@10", ["nDGC", "RankGap", "did you mean nDCG?"]),
        ("ndcg@10", ["did you mean nDCG?"]),
        ("Accuracy@10", ["did you mean Hit?"]),
        ("nDCG", ["needs a cutoff", "nDCG@10"]),
        ("Any(Hit)", ["needs a cutoff"]),
        ("nDCG(levl=lines)@10", ["levl", "level, rule", "did you mean level?"]),
        ("nDCG(level=line)@10", ["file | symbol | lines", "did you mean lines?"]),
        ("LineR(level=file)@10", ["unknown setting of LineR 'level'"]),
        ("nDCG(rule=semble,level=lines)@10", ["semble's rule is defined for level=file only"]),
        ("nDCG(rule=octocode,level=file)@10", ["octocode's rule is defined for level=lines only"]),
        ("RR(rule=semble)@10", ["rule: expected assay | octocode | pyckle"]),
        ("Hit(grade=0)@5", ["lowest grade", "at least 1"]),
        ("Hit(grade=1,grade=2)@5", ["twice"]),
        ("Hit(5)", ["named settings only"]),
        ("Hit@0", ["at least 1"]),
        ("Hit@-1", ["cannot parse"]),
        ("Hit@5@6", ["cannot parse"]),
        ("", ["cannot parse"]),
        ("SpanR(iou=0)@5", ["above 0"]),
        ("SpanR(iou=x)@5", ["above 0"]),
        ("RecallAtTokens", ["RecallAtTokens(2000)"]),
        ("RecallAtTokens(0)", ["whole number"]),
        ("RecallAtTokens(1,2)", ["unexpected argument '2'"]),
        ("TokensToHit@5", ["no cutoff"]),
        ("Any(nDCG@10)", ["binary measure", "Any(Hit@10)"]),
        ("Worst(Worst(Hit@5))", ["already combines phrasings"]),
        ("Drop(nDCG@10)", ["Drop(human→wrong_terminology)"]),
        ("Drop(human→humn)", ["did you mean human?"]),
        ("Drop(human→human)", ["are the same"]),
    ],
)
def test_parse_measure_says_what_is_wrong_and_what_exists(text, words):
    with pytest.raises(ConfigError) as caught:
        parse_measure(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("factory", [nDCG, RR, Hit, Displacement, RecallAtTokens, Worst, Drop])
def test_score_refuses_a_measure_that_is_not_complete(factory, make_run, targets):
    run = make_run([Query("q", {"human": "?"}, targets("a"))], {"e": {"q": {"human": ()}}})
    with pytest.raises(ConfigError):
        score(run, [factory])


def test_score_refuses_a_cutoff_deeper_than_the_run(make_run, targets):
    run = make_run([Query("q", {"human": "?"}, targets("a"))], {"e": {"q": {"human": ()}}}, k=10)
    for measure in (nDCG @ 11, Worst(Hit @ 20)):
        with pytest.raises(ConfigError, match="10 per query"):
            score(run, [measure])


@pytest.mark.parametrize(
    ("measure", "low", "high", "worst", "up"),
    [
        (nDCG @ 10, 0, 1, 0, True),
        (Displacement @ 10, 0, 1, 1, False),
        (RankGap @ 10, -10, 10, -10, True),
        (TokensToHit, 0, 32_000, 32_000, False),
        (TokensToHit(cap=500), 0, 500, 500, False),
        (RecallAtTokens(500), 0, 1, 0, True),
        (Any(Displacement @ 5), 0, 1, 1, False),
        (Worst(RankGap @ 5), -5, 5, -5, True),
        (Spread(RankGap @ 5), 0, 10, 10, False),
        (Drop(RR @ 5, "human→keyword"), -1, 1, 1, False),
    ],
)
def test_measure_knows_its_range(measure, low, high, worst, up):
    assert (measure.low, measure.high, measure.worst, measure.higher_is_better) == (low, high, worst, up)


def test_measures_all_say_what_they_are():
    assert len(MEASURES) == 19
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert measure.about
        assert "\n" not in measure.about


def test_octocode_worked_example(hits, targets, value):
    right = targets("fileA:10-50=2", "fileB:20-30=1")
    found = hits("fileC:1-10", "fileA:30-60", "fileB:25-35")
    dcg, idcg = 2 / math.log2(3) + 1 / math.log2(4), 2 / math.log2(2) + 1 / math.log2(3)
    assert (round(dcg, 2), round(idcg, 2)) == (1.76, 2.63)
    assert value(Hit(level="lines") @ 5, found, right) == 1
    assert value(RR(level="lines") @ 10, found, right) == 0.5
    assert value(R(level="lines") @ 10, found, right) == 1
    assert value(nDCG(level="lines") @ 10, found, right) == pytest.approx(dcg / idcg, abs=1e-15)
    assert round(dcg / idcg, 2) == 0.67
