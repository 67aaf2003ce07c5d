"""Pages for GitHub: inside its limits, with what was cut said, and nothing in them but text."""

import re
from dataclasses import replace

import pytest

from assay.errors import ConfigError
from assay.report.comparison import compare_sides
from assay.report.gate_checks import Gate, GateCheck, judge_gate, parse_threshold
from assay.report.github import error_page, gate_page, to_github, to_summary
from assay.report.query_scores import gather
from assay.report.render.document import Document, Paragraph, table
from tests.report.evidence.labs import PLAN, run_of

CUT = "*Cut here.*"


def gate_of(old, new, *floors, name="mine", strict=False):
    """Judge one run against another."""
    before, after = (
        gather((run_of(ranks, name=name),), PLAN.measures, called) for ranks, called in ((old, "old"), (new, "new"))
    )
    found = compare_sides(before, after, replace(PLAN, baseline=name))
    return judge_gate(
        after, PLAN, [parse_threshold(text) for text in floors], found, engine=None, strict=strict, old=before
    )


def shown(gate, limit=65_536):
    return to_github(gate_page(gate), limit, "commit 1", CUT)


def test_regression_is_told_in_a_sentence_with_the_queries_that_lost():
    text = shown(gate_of([1] * 40, [0] * 20 + [1] * 20, "Hit@5>=0.9"))
    assert text.startswith("### ❌ assay gate: fail\n\n```text\n✗ mine (new) is worse than mine (old) on gold0")
    assert "  40 queries: 0 better, 20 same, 20 worse\n" in text
    assert "| mine: Hit@5 by file &gt;= 0.9 | **fail** | 0.500" in text
    assert "| gold0/q0 | mine | 1.000 | 0.000 | -1.000 |" in text
    assert text.count("| gold0/q") == 10
    assert text.endswith("commit 1\n")


@pytest.mark.parametrize(
    ("old", "new", "strict", "begins"),
    [
        (
            [1] * 40,
            [1] * 40,
            False,
            "### ✅ assay gate: pass\n\n```text\n= mine (new) and mine (old) returned",
        ),
        (
            [1] * 40,
            [2] + [1] * 39,
            False,
            "### ⚠️ assay gate: inconclusive\n\n```text\n? mine (new) vs mine (old)",
        ),
        ([1] * 40, [2] + [1] * 39, True, "### ❌ assay gate: inconclusive\n\n```text\n? mine (new) vs"),
    ],
)
def test_verdict_stands_on_top(old, new, strict, begins):
    assert shown(gate_of(old, new, strict=strict)).startswith(begins)


def test_engine_that_failed_is_no_regression():
    old = gather((run_of([1] * 40),), PLAN.measures, "old")
    new = gather((run_of([1] * 40, failed=range(20)),), PLAN.measures, "new")
    found = compare_sides(old, new, PLAN)
    text = shown(judge_gate(new, PLAN, (), found, engine=None, strict=False, old=old))
    assert text.startswith("### ❌ assay gate: engine failed\n\n```text\n✗ mine")
    assert "| **fail** | 20 of 40 queries failed" in text


def test_names_are_text_and_call_nobody():
    evil = "@octocat #1 octo/shop#2 GH-3 <script>alert(1)</script> | [x](https://evil.example) `</details>`"
    text = shown(gate_of([1] * 40, [0] * 20 + [1] * 20, name=evil))
    text = re.sub(r"```text\n.*?\n```", "", text, flags=re.DOTALL)  # GitHub renders no markup in code
    assert "<script" not in text
    assert "@octocat" not in text
    assert not re.search(r"#\d|GH-\d", text)
    assert not re.search(r"(?<!\\)\]\(", text)
    assert re.sub(r"(?<!\\)`[^`]*`", "", text).count("</details>") == 1  # ours; what stands in backticks is code
    rows = [line for line in text.splitlines() if line.startswith("|") and "got worse" not in line]
    widths = {line.replace("\\|", "").count("|") for line in rows if "gold0/q" in line}
    assert widths == {6}


@pytest.mark.parametrize("limit", [65_536, 20_000, 3_000])
def test_page_is_cut_between_rows_inside_the_limit_and_says_so(limit):
    checks = tuple(GateCheck("threshold", f"engine {n}: Hit@5 ≥ 0.9", False, 1, "é" * 200) for n in range(400))
    text = shown(Gate(checks, None, strict=False), limit)
    assert len(text.encode()) <= limit
    assert CUT in text
    assert text.endswith("commit 1\n")
    assert all(line.endswith(" |") for line in text.splitlines() if line.startswith("|"))


def test_what_is_behind_is_cut_before_what_decides():
    gate = gate_of([1] * 40, [0] * 20 + [1] * 20)
    whole = shown(gate)
    short = shown(gate, len(whole.encode()) - 1000)
    assert CUT in short
    assert (
        short.index("Largest regressions by query")
        < short.index("<details>")
        < short.index(CUT)
        < short.index("</details>")
    )
    assert CUT not in whole


def test_error_is_shown_as_it_is_and_cannot_end_its_fence():
    text = to_github(error_page(ConfigError("no ``` such\n``` thing <b>", hint="look")), 65_536, "", CUT)
    assert text.startswith("### ❌ assay gate: bad input")
    assert "````text\nno ``` such" in text


def test_document_of_another_command_is_cut_too():
    long = Document("lint <b>", (table(["a"], [["x" * 90]] * 100), Paragraph("end")))
    text = to_summary(long, 2_000)
    assert text.startswith("### lint &lt;b&gt;")
    assert len(text.encode()) <= 2_000
    assert "Cut here" in text
    assert to_summary(long, 100_000).endswith("end")
