"""Tables that a run asks for by name, held against numbers computed by hand."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.experiment.spec import Spec, override
from assay.experiment.spec.experiment_spec import TABLE_NAMES
from assay.report.analysis import analyze
from assay.report.extra_tables import TABLES
from assay.report.publish import write_reports
from assay.report.render.document import Heading, Table, to_markdown
from assay.report.report_sections import document
from assay.report.results_file import results_json
from assay.report.scored_run import score_run
from assay.types import AnalysisPlan, EngineRole, EngineRun, RunMetadata, Status
from tests.report.labs import lab

RANKS = {"a": [1, 2, 0, 1] * 10, "b": [2, 2, 2, 2] * 10, "c": [0, 1, 0, 10] * 10}


def claimed(*tables, **plan):
    return AnalysisPlan(("RR@10", "Hit@1", "Hit@10"), "b", tables=tables, **plan)


def analysed(made, *tables, **plan):
    return analyze(made, claimed(*tables, **plan))


def section(results, title):
    """The blocks from a heading to the next."""
    blocks = list(document(results).blocks)
    start = next(i for i, b in enumerate(blocks) if isinstance(b, Heading) and b.text.startswith(title))
    stop = next((i for i, b in enumerate(blocks) if i > start and isinstance(b, Heading)), len(blocks))
    return blocks[start + 1 : stop]


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_the_names_that_a_file_may_say_are_those_that_are_made():
    assert tuple(TABLES) == TABLE_NAMES


def test_numbers_of_tables_that_nobody_wants_are_not_computed():
    wanted = analysed(lab(RANKS), "matrix", "bootstrap")
    assert list(wanted.numbers) == ["matrix", "bootstrap"]
    assert results_json(wanted)["numbers"]["matrix"][0]["part"] == "all"
    assert analysed(lab(RANKS), "ranks", "forest").numbers == {}


def test_an_unknown_table_is_refused_before_anything_runs():
    with pytest.raises(ConfigError, match="matrx") as caught:
        override(Spec(tables=("matrx",)))
    assert "matrix" in str(caught.value.hint)


def test_a_specification_hands_its_tables_to_the_claim():
    assert Spec(tables=("ranks", "matrix")).analysis_plan().tables == ("ranks", "matrix")


def test_matrix_has_a_row_a_variant_and_a_column_a_measure():
    matrix = section(analysed(lab(RANKS), "matrix"), "Matrix (40 queries)")[0]
    assert [c.title for c in matrix.columns] == ["Variant", "RR@10", "Hit@1", "Hit@10"]
    assert texts(matrix) == [
        ["a", f"{(1 + 0.5 + 0 + 1) / 4:.3f}", "0.500", "0.750"],
        ["b", "0.500", "0.000", "1.000"],
        ["c", f"{(0 + 1 + 0 + 0.1) / 4:.3f}", "0.250", "0.500"],
    ]
    assert [[cell.tone for cell in row[1:]] for row in matrix.rows] == [
        ["good", "good", "plain"],
        ["plain", "plain", "good"],
        ["plain", "plain", "plain"],
    ]


def test_matrix_praises_no_reference():
    made = lab({**RANKS, "oracle": [1] * 40, "grep": [2] * 40})
    roles: dict[str, EngineRole] = {"oracle": "ceiling", "grep": "reference"}
    made = replace(made, engines=tuple(replace(e, role=roles.get(e.name, e.role)) for e in made.engines))
    matrix = section(analysed(made, "matrix"), "Matrix")[0]
    tones = {row[0].text: [cell.tone for cell in row[1:]] for row in matrix.rows}
    assert tones["oracle"] == tones["grep"] == ["plain"] * 3
    assert tones["a"] == ["good", "good", "plain"]
    assert tones["b"] == ["plain", "plain", "good"]


def test_matrix_names_what_was_skipped_and_why():
    made = replace(lab(RANKS), header=RunMetadata(skipped={"+rerank": "the variable X is not set"}))
    matrix = section(analysed(made, "matrix"), "Matrix")[0]
    assert texts(matrix)[-1] == ["+rerank (skipped)", "–", "–", "–"]
    assert "+rerank: the variable X is not set" in matrix.note


def test_matrix_shows_hard_queries_apart():
    made = lab(RANKS)
    gold = made.suite.golds[0]
    tagged = tuple(replace(q, tags={"difficulty": "hard"}) if i % 4 == 1 else q for i, q in enumerate(gold.queries))
    made = replace(made, suite=replace(made.suite, golds=(replace(gold, queries=tagged),)))
    hard = section(analysed(made, "matrix"), "Matrix, difficulty = hard (10 queries)")[0]
    assert texts(hard) == [
        ["a", "0.500", "0.000", "1.000"],
        ["b", "0.500", "0.000", "1.000"],
        ["c", "1.000", "1.000", "1.000"],
    ]
    assert section(analysed(made, "matrix"), "Matrix, difficulty = standard (30 queries)")


def test_no_table_is_shown_that_nobody_asked_for():
    cells = replace(lab(RANKS), header=RunMetadata(timed=False))
    assert analysed(cells).tables == ()
    assert analysed(cells, "ranks").tables == ("ranks",)


def test_bootstrap_stands_beside_our_interval_and_says_what_differs():
    results = analysed(lab(RANKS), "bootstrap")
    means, pairs, sentence = section(results, "Bootstrap of RR@10")
    assert [row[0] for row in texts(means)] == ["a", "b", "c"]
    assert [row[:3] for row in texts(pairs)] == [["a", "b", "+0.125"], ["c", "b", "-0.225"]]
    assert "Percentile bootstrap, B = 2,000" in [c.title for c in means.columns]
    assert "resamples queries as independent" in sentence.text


def test_bootstrap_ends_are_drawn_values_and_the_same_every_time():
    found = analysed(lab(RANKS), "bootstrap").numbers["bootstrap"]
    assert found == analysed(lab(RANKS), "bootstrap").numbers["bootstrap"]
    one = next(row for row in found if row.engine == "a" and row.against == "b")
    differences = np.tile([0.5, 0.0, -0.5, 0.5], 10)
    rng = np.random.default_rng(0)
    draws = np.sort([differences[np.floor(rng.random(40) * 40).astype(int)].mean() for _ in range(2000)])
    assert one.published.low == pytest.approx(draws[49])  # the 50th smallest of 2,000
    assert one.published.high == pytest.approx(draws[-50])
    assert one.ours.method == "cluster-t"


def test_bootstrap_of_equals_claims_certainty_and_ours_does_not():
    made = lab({"b": [1, 2] * 20, "x": [1, 2] * 20})
    row = next(r for r in analysed(made, "bootstrap").numbers["bootstrap"] if r.against)
    assert (row.published.low, row.published.high) == (0, 0)
    assert row.ours.low < 0 < row.ours.high


def test_forest_file_holds_means_differences_and_draws(tmp_path):
    made = lab(RANKS)
    results = analysed(made, "forest", "bootstrap")
    write_reports(results, score_run(made, claimed()), tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "forest.csv").read_text())))
    assert list(rows[0]) == ["engine", "against", "measure", "mean", "low", "high", "n", "interval"]
    kinds = {(row["interval"], bool(row["against"])) for row in rows}
    assert kinds == {
        ("wilson", False),
        ("cluster-t", True),
        ("percentile bootstrap", False),
        ("paired percentile bootstrap", True),
    }
    a = next(r for r in rows if r["engine"] == "a" and not r["against"] and r["measure"] == "Hit@10")
    assert float(a["mean"]) == 0.75
    assert float(a["low"]) < 0.75 < float(a["high"])
    assert a["n"] == "40"


def test_forest_file_is_written_only_when_asked_for(tmp_path):
    made = lab(RANKS)
    write_reports(analysed(made, "matrix"), score_run(made, claimed()), tmp_path)
    assert not (tmp_path / "forest.csv").exists()


def test_ranks_count_each_engine_and_say_what_the_guide_would():
    table, winner = section(analysed(lab(RANKS), "ranks"), "Ranks")
    rows = {row[0]: row[1:] for row in texts(table)}
    assert rows["a"][:5] == ["0.625", "strong", "20", "10", "0"]
    assert rows["a"][-1] == "10"
    assert rows["c"] == ["0.275", "usable", "10", *["0"] * 8, "10", "20"]
    assert winner.text.startswith("Largest RR@10: a (0.625).")
    assert "MDE" in winner.text
    assert "against b" in winner.text


def test_tables_survive_markdown_and_engines_that_failed():
    made = lab(RANKS)
    dead = EngineRun(
        "dead", tuple(replace(r, hits=(), status=Status.ERROR, error="no") for r in made.engines[0].rankings)
    )
    made = replace(made, engines=(*made.engines, dead))
    results = analysed(made, *TABLES)
    page = to_markdown(document(results))
    assert "dead (failed)" in page
    assert not any(row.engine == "dead" for row in results.numbers["bootstrap"])
    assert all(isinstance(block, Table | Heading) or block for block in document(results).blocks)


def test_nobody_wins_where_the_numbers_are_equal():
    made = lab({"b": [1, 2] * 20, "x": [2, 1] * 20, "last": [9, 9] * 20})
    _, winner = section(analyze(made, AnalysisPlan(("RR@10",), "b", tables=("ranks",))), "Ranks")
    assert winner.text.startswith("Largest RR@10: none, b and x are equal.")
