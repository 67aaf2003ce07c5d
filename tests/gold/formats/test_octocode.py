"""octocode's CSV: what is read, and that no row is lost in silence."""

from dataclasses import replace

import pytest

from assay.gold.formats.octocode import write_octocode
from assay.gold.load import save
from assay.types import Span, Suite, Target
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
    "no range": ("q,src/a.rs:2,,\n", 2, "invalid result"),
    "no grade": ("q,src/a.rs:1-2,,\n", 2, "invalid result"),
    "grade 3": ("q,a.rs:1-2:2,,\nq,a.rs:1-2:3,,\n", 3, "invalid grade 3"),
    "backward": ("q,a.rs:2-1:2,,\n", 2, "ends before it starts"),
    "no result": ("q,,,\n", 2, "has no result"),
    "no query": (",a.rs:1-2:2,,\n", 2, "is empty"),
    "no primary": ("q,a.rs:1-2:1,,\n", 2, "no primary"),
    "duplicate": ("q,a.rs:1-2:2,a.rs:1-2:1,\n", 2, "duplicate"),
    "too many cells": ("q,a.rs:1-2:2,,,\n", 2, "got 5"),
    "open quote": ('ok,a.rs:1-2:2,,\n"q,a.rs:1-2:2,,\n', 3, "invalid CSV"),
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
    assert "does not name a corpus" in error.message
    assert "--corpus" in (error.hint or "")


TWO = (
    "query,result1,result2\r\n"
    '"merge","a.rs:1-2:2"\r\n'
    "\r\n"
    '"parse ""it""",b.rs:1-1:1, b.rs:2-3:2\r\n'
    "\r\n"
    "three,c.rs:1-2:2,\r\n"
)


def test_octocode_keeps_columns_quotes_and_lines_of_what_did_not_change(tmp_path):
    gold = load_one(tmp_path, "code.csv", TWO)
    saved = save(gold, gold)
    assert (saved.lost, (tmp_path / "code.csv").read_bytes().decode()) == ((), TWO)


def test_octocode_writes_only_the_changed_row_anew(tmp_path):
    gold = load_one(tmp_path, "code.csv", TWO)
    first, second, third = gold.queries
    moved = replace(second, targets=(Target(Span("b.rs", 4, 5)),))
    assert save(gold, replace(gold, queries=(first, moved, third))).lost == ()
    wanted = TWO.replace("b.rs:1-1:1, b.rs:2-3:2", "b.rs:4-5:2,")
    assert (tmp_path / "code.csv").read_bytes().decode() == wanted
    moved = replace(first, targets=(Target(Span("a.rs", 4, 5)),))
    save(gold, replace(gold, queries=(moved, second, third)))
    wanted = wanted.replace('"merge","a.rs:1-2:2"', '"merge",a.rs:4-5:2,').replace(
        "b.rs:4-5:2,", "b.rs:2-3:2,b.rs:1-1:1"
    )
    assert (tmp_path / "code.csv").read_bytes().decode() == wanted


def test_octocode_adds_a_column_only_where_a_query_needs_it(tmp_path):
    gold = load_one(tmp_path, "code.csv", TWO)
    more = tuple(Target(Span("a.rs", n, n)) for n in (1, 2, 3))
    save(gold, replace(gold, queries=(replace(gold.queries[0], targets=more), *gold.queries[1:])))
    assert (tmp_path / "code.csv").read_bytes().decode() == TWO.replace("result2\r", "result2,result3\r").replace(
        '"a.rs:1-2:2"', "a.rs:1-1:2,a.rs:2-2:2,a.rs:3-3:2"
    )


def test_octocode_cuts_the_row_of_a_query_that_is_gone(tmp_path):
    gold = load_one(tmp_path, "code.csv", TWO)
    save(gold, replace(gold, queries=(gold.queries[0], gold.queries[2])))
    now = (tmp_path / "code.csv").read_bytes().decode()
    assert now == TWO.replace('"parse ""it""",b.rs:1-1:1, b.rs:2-3:2\r\n\r\n', "")


def test_octocode_tells_the_corpus_of_a_set_that_comes_from_elsewhere(tmp_path):
    gold = replace(load_one(tmp_path, "code.csv", TWO), source=str(tmp_path / "none.csv"))
    assert "1 corpus (.)" in write_octocode(Suite((gold,))).lost[0]
