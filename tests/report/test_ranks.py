"""Ranks that stand beside a measure are of its level."""

from dataclasses import replace

import pytest

from assay.report.analysis import analyze
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.report.scored_run import level_of, rank_measure
from assay.scoring import score
from assay.types import AnalysisPlan, CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Run, Span, Suite, Target

LINES = {"gold": dict.fromkeys(("a.py", "b.py", "c.py"), (10,) * 60)}


def asked(hits, target):
    gold = GoldSet("gold", CorpusSpec("path", "place"), (Query("q", {"human": "where"}, (Target(target, 2),)),))
    return Run(Suite((gold,)), 10, (EngineRun("mine", (Ranking("gold", "q", "human", tuple(hits)),)),), lines=LINES)


#: docs/reference/measures.md has this list.
FOLDED = asked(
    [
        Hit("a.py", 1, 9),
        Hit("a.py", 20, 30),
        Hit("b.py", 1, 5),
        Hit("a.py", 40, 44),
        Hit("b.py", 9, 12),
        Hit("c.py", 3, 8),
    ],
    Span("c.py", 3, 8),
)
#: The right file comes third, its right lines sixth.
DEEP = asked(
    [
        Hit("a.py", 1, 9),
        Hit("b.py", 1, 5),
        Hit("c.py", 1, 2),
        Hit("c.py", 20, 22),
        Hit("c.py", 30, 33),
        Hit("c.py", 9, 9),
    ],
    Span("c.py", 9, 12),
)


def test_the_example_of_the_docs_is_true():
    values = score(FOLDED, ("RR@10", "Hit@5", "RR(level=lines)@10")).values[0, :, 0]
    assert values.tolist() == [pytest.approx(1 / 3), 0.0, pytest.approx(1 / 6)]


@pytest.mark.parametrize(
    ("primary", "level"),
    [
        ("nDCG@10", "file"),
        ("nDCG(level=lines)@10", "lines"),
        ("RR(level=symbol)@10", "symbol"),
        ("SpanR(iou=0.3)@10", "lines"),
        ("LineR@10", "lines"),
        ("TokensToHit", "lines"),
        ("Worst(nDCG@10)", "file"),
        ("Worst(nDCG(level=lines)@10)", "lines"),
    ],
)
def test_level_of_ranks_is_that_of_the_primary_measure(primary, level):
    assert level_of(primary) == level
    assert rank_measure(primary, 5) == ("RR@5" if level == "file" else f"RR(level={level})@5")


@pytest.mark.parametrize(("primary", "rank", "level"), [("Hit@1", 3, "file"), ("nDCG(level=lines)@10", 6, "lines")])
def test_failures_and_histogram_have_the_rank_of_the_primary_measure(primary, rank, level):
    results = analyze(DEEP, AnalysisPlan((primary,), "mine"))
    assert [failure.rank for failure in results.low_scores] == [rank]
    counted = results.ranks[0]
    assert counted.counts.index(1) + 1 == rank
    page = to_markdown(document(results))
    assert f"(rank {rank})" in page
    assert f"ranks by {level};" in page
    assert f"## Rank of the first relevant result, by {level}" in page
    assert "mine: 0% at rank 1" in page


def test_table_of_ranks_names_the_measure_it_averages():
    results = analyze(DEEP, AnalysisPlan(("nDCG(level=lines)@10",), "mine", tables=("ranks",)))
    assert "| RR(level=lines)@10 |" in to_markdown(document(results))
    assert replace(results.ranks[0], sentence="").measure == "RR(level=lines)@10"
