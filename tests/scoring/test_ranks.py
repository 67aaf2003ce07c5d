"""Measures of a ranked list, against independent implementations and published definitions."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.build import GoldLocation, build_query
from assay.scoring import RR, nDCG, score
from assay.scoring.measures import AP, Displacement, Hit, Judged, P, R
from assay.types import Hit as Result
from assay.types import Query, Run, Span, Target
from tests.properties import examples

#: Rankings in one example; with `max_examples` thousands of them are compared.
BATCH = 25
DEPTH = 12

HERE = GoldLocation("drawn.yaml")
#: Judged documents with their grades, and a ranking, of each query.
Rankings = list[tuple[dict[int, int], list[int]]]

RANKINGS = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 19), st.integers(0, 4), max_size=14).map(lambda grades: grades | {20: 1}),
        st.lists(st.integers(0, 20), unique=True, max_size=DEPTH),
    ),
    min_size=BATCH,
    max_size=BATCH,
)


def _run(make_run: Any, rankings: Rankings) -> Run:
    queries = [
        build_query(f"q{n}", {"human": "?"}, [Target(Span(f"d{d}"), g) for d, g in judged.items()], HERE, least=1)
        for n, (judged, _) in enumerate(rankings)
    ]
    answers = {f"q{n}": {"human": [Result(f"d{d}") for d in ranked]} for n, (_, ranked) in enumerate(rankings)}
    run: Run = make_run(queries, {"engine": answers}, k=DEPTH)
    return run


def _qrels(rankings: Rankings) -> dict[str, dict[str, int]]:
    return {f"q{n}": {f"d{d}": grade for d, grade in judged.items()} for n, (judged, _) in enumerate(rankings)}


def _scored(rankings: Rankings) -> dict[str, dict[str, float]]:
    return {f"q{n}": {f"d{d}": float(-rank) for rank, d in enumerate(ranked)} for n, (_, ranked) in enumerate(rankings)}


@examples(80)
@given(RANKINGS)
def test_ranks_equal_ir_measures(make_run, rankings):
    pairs = {
        nDCG @ 10: ir_measures.nDCG @ 10,  # trec_eval's gain is the grade itself, not 2^grade - 1
        nDCG @ 3: ir_measures.nDCG @ 3,
        RR @ 10: ir_measures.RR @ 10,
        RR(grade=2) @ 5: ir_measures.RR(rel=2) @ 5,
        Hit @ 5: ir_measures.Success @ 5,
        R @ 10: ir_measures.R @ 10,
        P @ 5: ir_measures.P @ 5,
        P(grade=2) @ 5: ir_measures.P(rel=2) @ 5,
        R(grade=3) @ 10: ir_measures.R(rel=3) @ 10,
        AP(grade=4) @ 10: ir_measures.AP(rel=4) @ 10,
        AP @ 10: ir_measures.AP @ 10,
        Judged @ 10: ir_measures.Judged @ 10,
    }
    mine = score(_run(make_run, rankings), list(pairs)).values[0]
    # a query without results does not exist for some of its providers: they are ours to call 0
    answered = {query: hits for query, hits in _scored(rankings).items() if hits}
    theirs = {
        (m.measure, m.query_id): m.value for m in ir_measures.iter_calc(pairs.values(), _qrels(rankings), answered)
    }
    for row, measure in zip(mine, pairs.values(), strict=True):
        for number, value in enumerate(row):
            expected = theirs.get((measure, f"q{number}"), 0.0)
            # R(grade=2) and the like do not apply where the gold set has no primary: NaN here, 0 there
            assert abs(value - expected) <= 1e-12 or (math.isnan(value) and expected == 0), (measure, number)


@examples(80)
@given(RANKINGS)
def test_ranks_equal_pytrec_eval(make_run, rankings):
    pairs = {
        nDCG @ 10: "ndcg_cut_10",
        AP @ 10: "map_cut_10",
        R @ 10: "recall_10",
        P @ 5: "P_5",
        Hit @ 5: "success_5",
        RR @ DEPTH: "recip_rank",
    }
    mine = score(_run(make_run, rankings), list(pairs)).values[0]
    peer = pytrec_eval.RelevanceEvaluator(_qrels(rankings), set(pairs.values()))
    theirs = peer.evaluate(_scored(rankings))
    for row, name in zip(mine, pairs.values(), strict=True):
        expected = [theirs.get(f"q{number}", {}).get(name, 0.0) for number in range(BATCH)]
        assert np.abs(row - expected).max() <= 1e-12, name


def pyckle_mrr_at_10(results: list[dict[str, Any]]) -> float:
    """The function of the Pyckle guide (seed 002), as printed there."""
    reciprocal_ranks: list[float] = []
    for r in results:
        ranked = r["ranked"][:10]
        expected = r["expected"]
        try:
            rank = ranked.index(expected) + 1
            reciprocal_ranks.append(1.0 / rank)
        except ValueError:
            reciprocal_ranks.append(0.0)
    return sum(reciprocal_ranks) / len(reciprocal_ranks)


@given(st.lists(st.lists(st.integers(0, 14), unique=True, max_size=10), min_size=1, max_size=40))
def test_rr_at_10_is_the_pyckle_guides_mrr_when_no_file_repeats(make_run, lists):
    rankings = [({0: 2}, ranked) for ranked in lists]
    mine = score(_run(make_run, rankings), [RR @ 10]).values[0, 0].mean()
    theirs = pyckle_mrr_at_10([{"expected": 0, "ranked": ranked} for ranked in lists])
    assert mine == pytest.approx(theirs, abs=1e-12)


def test_rr_at_10_counts_files_where_the_pyckle_guide_counts_chunks(value, targets, hits):
    ranked = ["big"] * 5 + ["answer"]
    assert pyckle_mrr_at_10([{"expected": "answer", "ranked": ranked}]) == pytest.approx(1 / 6)
    assert value(RR @ 10, hits(*ranked), targets("answer")) == 0.5


def test_missing_rank_is_censored_not_dropped(make_run, targets, hits):
    queries = [Query(f"q{n}", {"human": "?"}, targets("a")) for n in range(100)]
    answers = {f"q{n}": {"human": hits("a") if n == 0 else hits("b")} for n in range(100)}
    mine = score(make_run(queries, {"e": answers}), [RR @ 10]).values[0, 0]
    assert mine.mean() == pytest.approx(0.01)  # ChunkHound's evaluation averages over the hits and says 1.0


def test_cutoff_looks_at_what_was_returned_inside_it_and_refills_nothing(value, targets, hits):
    found = hits("a:1-1", "a:2-2", "a:3-3", "a:4-4", "a:5-5", "b")
    assert value(RR @ 10, found, targets("b")) == 0.5
    assert value(Hit @ 5, found, targets("b")) == 0.0  # the sixth result, though the second file
    assert value(Hit @ 5, found, targets("b"), oversample=2) == 1.0  # declared, so the engine may
    assert value(RR @ 2, found, targets("b"), oversample=3) == 0.5


def test_cutoff_is_not_moved_by_a_list_that_is_too_long(value, targets, hits):
    found = hits("a", "b", "c", "d")
    assert value(Hit @ 2, found, targets("c"), k=2) == 0.0
    assert value(R @ 2, found, targets("b", "c"), k=2) == 0.5


def test_judged_counts_targets_and_adversaries_among_distinct_results(value, targets, adversaries, hits):
    found = hits("a:1-2", "a:3-4", "b", "c", "d")
    assert value(Judged @ 5, found, targets("a=1"), adversaries("b")) == 0.5
    assert value(Judged @ 5, (), targets("a")) == 0.0


def test_judged_counts_what_was_judged_irrelevant_and_nothing_else_does(make_run, targets, hits):
    query = Query("q", {"human": "?"}, targets("a"), irrelevant=targets("b=0", "c:1-9=0"))
    run = make_run([query], {"engine": {"q": {"human": hits("b", "c:20-30", "a", "d")}}})
    measures = [Judged @ 4, Judged(level="lines") @ 4, nDCG @ 4, Displacement @ 4]
    values = score(run, measures).values[0, :, 0]
    assert values[:3].tolist() == [0.75, 0.5, 0.5]
    assert math.isnan(values[3])


def test_grade_restricts_and_does_not_apply_without_a_primary(value, targets, hits):
    right = targets("a=1", "b=2")
    assert value(Hit(grade=2) @ 1, hits("a"), right) == 0.0
    assert value(Hit @ 1, hits("a"), right) == 1.0
    assert value(R(grade=2) @ 2, hits("a", "b"), right) == 1.0
    for measure in (Hit, RR, R, P, AP):
        assert math.isnan(value(measure(grade=2) @ 5, hits("a"), targets("a=1")))


def test_ndcg_gains_are_the_grades_of_the_gold_set(value, targets, hits):
    right = targets("a=3", "b=2", "c=1")
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert value(nDCG @ 10, hits("b", "a", "c"), right) == pytest.approx((2 + 3 / math.log2(3) + 1 / 2) / ideal)
    assert value(nDCG @ 10, hits("c"), targets("a=1", "c=1")) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_p_divides_by_k_and_ap_by_all_relevant(value, targets, hits):
    assert value(P @ 5, hits("a"), targets("a")) == 0.2
    assert value(AP @ 1, hits("a"), targets("a", "b", "c", "d")) == 0.25


def semble_reference(paths: list[str], wanted: list[str], k: int = 10) -> float:
    """The definition in shared/gold/README.md, word for word."""
    slots = [0] * k
    for target in wanted:
        for rank, path in enumerate(paths[:k], 1):
            if path == target or path.endswith("/" + target) or target.endswith("/" + path):
                slots[rank - 1] = 1
                break
    dcg = sum(s / math.log2(i + 1) for i, s in enumerate(slots, 1))
    return dcg / sum(1 / math.log2(i + 1) for i in range(1, min(k, len(wanted)) + 1))


def test_semble_rule_collapses_two_spans_of_one_file(value, targets, hits):
    right = targets("a:1-5", "a:50-60=1")
    assert value(nDCG(rule="semble") @ 10, hits("a"), right) == pytest.approx(0.613, abs=5e-4)
    assert value(nDCG @ 10, hits("a"), right) == 1.0


def test_semble_rule_matches_suffixes_in_both_directions(value, targets, hits):
    rule = nDCG(rule="semble") @ 10
    assert value(rule, hits("ginS/gin.go"), targets("gin.go")) == 1.0
    assert value(rule, hits("gin.go"), targets("ginS/gin.go")) == 1.0
    assert value(rule, hits("begin.go"), targets("gin.go")) == 0.0
    assert value(nDCG @ 10, hits("ginS/gin.go"), targets("gin.go")) == 0.0


def test_semble_rule_counts_repeated_files_as_returned(value, targets, hits):
    found = hits("x:1-2", "x:3-4", "a")
    assert value(nDCG(rule="semble") @ 10, found, targets("a")) == pytest.approx(1 / math.log2(4))
    assert value(nDCG @ 10, found, targets("a")) == pytest.approx(1 / math.log2(3))


PATHS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map("/".join)


@given(st.lists(PATHS, max_size=14), st.lists(PATHS, min_size=1, max_size=12))
def test_semble_rule_equals_its_readme(value, found, wanted):
    mine = value(
        nDCG(rule="semble") @ 10, [Result(path) for path in found], [Target(Span(path)) for path in wanted], k=14
    )
    assert mine == pytest.approx(semble_reference(found, wanted), abs=1e-12)


def octocode_reference(results, truths, k: int) -> dict[str, float]:
    """The definitions of octocode's benchmark/score.py; results and truths are (path, start, end[, relevance])."""

    def overlaps(result, truth) -> bool:
        return truth[0] == result[0] and truth[1] <= result[2] and result[1] <= truth[2]

    grades = [max((truth[3] for truth in truths if overlaps(result, truth)), default=0) for result in results[:k]]
    ideal = sorted((truth[3] for truth in truths), reverse=True)[:k]
    dcg, idcg = (sum(g / math.log2(i + 2) for i, g in enumerate(row)) for row in (grades, ideal))
    found = [truth for truth in truths if any(overlaps(result, truth) for result in results[:k])]
    first = next((1 / (i + 1) for i, g in enumerate(grades) if g), 0.0)
    return {"nDCG": dcg / idcg, "R": len(found) / len(truths), "RR": first, "Hit": float(any(grades))}


OCTOCODE = {measure.name: measure(rule="octocode") @ 10 for measure in (nDCG, R, RR, Hit)}


@pytest.mark.parametrize(
    ("found", "right", "expected"),
    [
        # the worked example of octocode's README
        (["c:1-10", "a:30-60", "b:25-35"], ["a:10-50=2", "b:20-30=1"], {"nDCG": 0.6697, "R": 1, "RR": 0.5, "Hit": 1}),
        # three results in one target: (2 + 1.262 + 1) / 2
        (["a:1-20", "a:21-40", "a:41-60"], ["a:10-50=2"], {"nDCG": 2.1309, "R": 1, "RR": 1, "Hit": 1}),
        # one long result finds both targets: nDCG is 2 / 2.631
        (["a:1-5000"], ["a:10-50=2", "a:60-70=1"], {"nDCG": 0.7602, "R": 1, "RR": 1, "Hit": 1}),
        (["a"], ["a:10-50=2"], {"nDCG": 0, "R": 0, "RR": 0, "Hit": 0}),
    ],
)
def test_octocode_rule(value, targets, hits, found, right, expected):
    for name, measure in OCTOCODE.items():
        assert value(measure, hits(*found), targets(*right)) == pytest.approx(expected[name], abs=5e-5), name


INTS = st.integers(1, 15)
LINES = st.tuples(st.sampled_from("ab"), st.integers(1, 30), st.integers(0, 12)).map(
    lambda s: (s[0], s[1], s[1] + s[2])
)
TRUTHS = st.lists(st.tuples(LINES, st.sampled_from((1, 2))).map(lambda t: (*t[0], t[1])), min_size=1, max_size=3)


@given(st.lists(LINES, max_size=14), TRUTHS)
def test_octocode_rule_equals_its_script(value, found, truths):
    expected = octocode_reference(found, truths, 10)
    right = [Target(Span(path, start, end), grade) for path, start, end, grade in truths]
    for name, measure in OCTOCODE.items():
        mine = value(measure, [Result(*span) for span in found], right, k=14)
        assert mine == pytest.approx(expected[name], abs=1e-12), name
        assert measure.low <= mine <= measure.high + 1e-12, name


def test_pyckle_rule_keeps_repeated_files(value, targets, hits):
    found = hits("x:1-9", "x:20-29", "y", "a")
    assert value(RR(rule="pyckle") @ 10, found, targets("a")) == 0.25
    assert value(RR @ 10, found, targets("a")) == pytest.approx(1 / 3)
