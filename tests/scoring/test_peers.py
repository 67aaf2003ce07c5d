"""Scores of other tools' files equal the scores that these tools compute."""

from __future__ import annotations

from typing import Any

import ir_measures
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring import RR, Measure, nDCG
from assay.scoring.measures import AP, Hit, Judged, P, R
from benchmarks.agreement import assay_values, depth_of, trec_pairs
from tests.properties import examples

DOCUMENTS = [f"{source}{number}" for source in ("D", "FT9-", "d/e/") for number in range(8)]
#: Judged documents of every query; one is relevant.
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2", "301"]),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 4), max_size=12).map(lambda grades: grades | {"X": 2}),
    min_size=1,
)
#: Scores with ties; all of them are exact in the single precision of trec_eval.
SCORES = st.sampled_from([0.0, 0.5, 0.5, 1.0, 2.0, -1.0, 1e6])
RUN = st.dictionaries(st.sampled_from([*DOCUMENTS, "X"]), SCORES, min_size=1, max_size=15)


@examples(40)
@given(QRELS, st.data(), st.integers(1, 3))
def test_trec_files_score_as_in_pytrec_eval(qrels, data, level):
    run = {query: data.draw(RUN) for query in qrels}
    peer = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg", "ndcg_cut", "map", "map_cut", "P", "recall", "success", "recip_rank"}, relevance_level=level
    )
    theirs = peer.evaluate(run)
    pairs = trec_pairs(theirs[next(iter(qrels))], depth_of(qrels, run), level)
    assert len(pairs) > 30
    measures = list(dict.fromkeys(pairs.values()))
    ours = assay_values(qrels, run, measures)
    for query, grades in qrels.items():
        for name, measure in pairs.items():
            value = ours[query][measures.index(measure)]
            applies = name.startswith("ndcg") or max(grades.values()) >= level
            assert abs(value - theirs[query][name]) <= 1e-9 if applies else value != value, (query, name)


@examples(40)
@given(QRELS, st.data())
def test_trec_files_score_as_in_ir_measures(qrels, data):
    # Where scores are equal, ir_measures has two orders, that of trec_eval and the opposite one.
    run = {q: {d: s + at / 64 for at, (d, s) in enumerate(data.draw(RUN).items())} for q in qrels}
    run = {q: found for q, found in run.items() if len(set(found.values())) == len(found)}
    pairs: dict[Measure, Any] = {
        nDCG @ 5: ir_measures.nDCG @ 5, RR @ 10: ir_measures.RR @ 10, AP @ 10: ir_measures.AP @ 10,
        P @ 5: ir_measures.P @ 5, R @ 10: ir_measures.R @ 10, Hit @ 1: ir_measures.Success @ 1,
        Judged @ 10: ir_measures.Judged @ 10, R(grade=2) @ 10: ir_measures.R(rel=2) @ 10,
    }  # fmt: skip
    ours = assay_values(qrels, run, list(pairs))
    theirs = {(one.query_id, one.measure): one.value for one in ir_measures.iter_calc(pairs.values(), qrels, run)}
    for query in run:
        for measure, value in zip(pairs.values(), ours[query], strict=True):
            assert abs(value - theirs[query, measure]) <= 1e-9, (query, measure)


def test_the_example_that_was_scored_1_is_trec_evals_value():
    qrels = {"q": {"D0": 3, "D1": 2, "D2": 1, "D3": 0}}
    run = {"q": {"D1": 3.0, "D0": 2.0, "D2": 1.0, "D3": 0.0}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)["q"]["ndcg_cut_10"]
    assert abs(assay_values(qrels, run, [nDCG @ 10])["q"][0] - theirs) <= 1e-12
    assert theirs < 0.93
