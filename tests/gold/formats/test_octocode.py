"""octocode's CSV: what is read, and that no row is lost in silence."""

import pytest

from assay.types import Span
from tests.gold.formats.files import HERE, OCTOCODE, caught, load_one


def test_octocode_reads_rows_and_grades(tmp_path):
    text = OCTOCODE + '"merge, then cut",src/a.rs:41-61:2,src/a.rs:64-114:1,\n\nparse,b.rs:1-1:1,b.rs:2-3:2\n'
    gold = load_one(tmp_path, "code.csv", text)
    assert (gold.name, gold.corpus) == ("code", HERE)
    assert [(q.id, q.line, q.forms["human"]) for q in gold.queries] == [
        ("row-001", 2, "merge, then cut"),
        ("row-002", 4, "parse"),
    ]
    assert [(t.span, t.grade) for t in gold.queries[1].targets] == [(Span("b.rs", 2, 3), 2), (Span("b.rs", 1, 1), 1)]


OCTOCODE_BAD = {
    "no range": ("q,src/a.rs:2,,\n", 2, "is not a result"),
    "no grade": ("q,src/a.rs:1-2,,\n", 2, "is not a result"),
    "grade 3": ("q,a.rs:1-2:2,,\nq,a.rs:1-2:3,,\n", 3, "has the grade 3"),
    "backward": ("q,a.rs:2-1:2,,\n", 2, "ends before it begins"),
    "no result": ("q,,,\n", 2, "has no result"),
    "no query": (",a.rs:1-2:2,,\n", 2, "is empty"),
    "no primary": ("q,a.rs:1-2:1,,\n", 2, "no primary"),
    "twice": ("q,a.rs:1-2:2,a.rs:1-2:1,\n", 2, "twice"),
    "too many cells": ("q,a.rs:1-2:2,,,\n", 2, "5 cells"),
    "open quote": ('ok,a.rs:1-2:2,,\n"q,a.rs:1-2:2,,\n', 3, "not CSV"),
    "absolute": ("q,/a.rs:1-2:2,,\n", 2, "absolute"),
    "nothing": ("", 1, "empty"),
}


@pytest.mark.parametrize(("rows", "line", "message"), OCTOCODE_BAD.values(), ids=OCTOCODE_BAD)
def test_octocode_says_which_row_is_wrong(tmp_path, rows, line, message):
    error = caught(tmp_path, "code.csv", OCTOCODE + rows)
    assert error.line == line
    assert message in error.message


def test_octocode_refuses_an_unknown_column(tmp_path):
    assert caught(tmp_path, "code.csv", "query,result1,note\nq,a:1-2:2,x\n").line == 1


def test_csv_needs_a_corpus(tmp_path):
    error = caught(tmp_path, "code.csv", OCTOCODE + "q,a.rs:1-2:2\n", corpus=None)
    assert "names no corpus" in error.message
    assert "--corpus" in (error.hint or "")
