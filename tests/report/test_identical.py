"""Engines that rank alike: there is nothing to judge, and every table says that instead of a verdict."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.experiment.ledger import (
    AcceptanceRule,
    Ledger,
    MeasuredChange,
    add_entries,
    make_entry,
    read_ledger,
)
from assay.report.analysis import analyze
from assay.report.comparison import compare_all_pairs
from assay.report.comparison_text import comparison_document
from assay.report.ledger_entries import entry_document, ledger_document
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.stats.records import Verdict
from assay.types import AnalysisPlan
from tests.report.comparing import compare_engines, compare_runs
from tests.report.labs import lab

PLAN = AnalysisPlan(("RR@10",), "mine")
#: The twin ranks as mine does; the other has the same values on other queries.
MADE = replace(
    lab({"mine": [1, 2] * 5, "twin": [1, 2] * 5, "other": [2, 1] * 5}),
    hashes={f"gold0/q{at}": f"h{at}" for at in range(10)},
)
SAID = "changed no ranking, on this repository"


def verdicts(found):
    return {row.engine: row.summary for row in found.rows}


def test_run_says_that_nothing_changed_and_keeps_the_interval():
    results = analyze(MADE, PLAN)
    row = next(row for row in results.comparison.rows if row.engine == "twin")
    assert row.summary.startswith(SAID)
    unseen = 1 - 0.025 ** (1 / 10)  # Clopper and Pearson's bound: none of ten clusters differs
    assert (row.interval.low, row.interval.high) == pytest.approx((-unseen, unseen), rel=0.01)
    assert row.verdict is Verdict.INCONCLUSIVE
    assert next(r for r in results.rows if r.engine == "twin").verdict == row.summary
    assert "changed no ranking" not in verdicts(results.comparison)["other"]
    page = to_markdown(document(results))
    assert "| twin | 0.750 | +0.000 \\[-0.31, +0.31\\] |" in page
    assert "| Identical |" in page


def test_comparisons_say_it_inside_one_run_in_all_pairs_and_between_runs():
    assert verdicts(compare_engines(MADE, PLAN))["twin"].startswith(SAID)
    pairs = {(row.engine, row.baseline): row.summary for row in compare_all_pairs(MADE, PLAN).rows}
    said = [plan for pair, plan in pairs.items() if set(pair) == {"mine", "twin"}]
    assert said[0].startswith(SAID)
    assert sum(SAID in plan for plan in pairs.values()) == 1
    between = verdicts(compare_runs(MADE, _other_again(), PLAN, ("before", "after")))
    assert between["mine (after)"].startswith(SAID)
    assert between["twin (after)"].startswith(SAID)
    assert SAID not in between["other (after)"]
    assert "Identical" in to_markdown(comparison_document(compare_engines(MADE, PLAN)))


def _other_again():
    """The same run, but for one engine."""
    again = lab({"other": [1, 2] * 5}).engines[0]
    return replace(MADE, engines=tuple(again if e.name == "other" else e for e in MADE.engines))


def test_ledger_says_it_and_remembers(tmp_path):
    engines = {engine.name: engine for engine in MADE.engines}
    rows = {row.engine: row for row in compare_engines(MADE, PLAN).rows}
    made = {
        name: make_entry(
            MeasuredChange(MADE, engines[name], engines["mine"], rows[name], ()),
            PLAN,
            AcceptanceRule(),
            title=name,
        )
        for name in ("twin", "other")
    }
    path = tmp_path / "ledger.jsonl"
    add_entries(path, list(made.values()))
    read = dict(zip(made, read_ledger(path).entries, strict=True))
    assert read["twin"].evidence.identical
    assert not read["other"].evidence.identical
    book = to_markdown(ledger_document(Ledger(Path("ledger.jsonl"), tuple(read.values()))))
    assert book.count("| changed no ranking |") == 1
    assert "changed no ranking, on this repository" in to_markdown(entry_document(read["twin"]))
    assert "changed no ranking" not in to_markdown(entry_document(read["other"]))
