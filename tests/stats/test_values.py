from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.errors import InputError, NotComparableError
from assay.stats import QueryValue, RunNames, ValueRange, Verdict, compare_values, read_values
from assay.stats.records import AllPairs
from assay.stats.runs import compare_columns, read_engines


def table(values: Sequence[float], clusters: Sequence[int] | None = None) -> list[QueryValue]:
    return [QueryValue(f"q{i}", v, f"c{clusters[i]}" if clusters else "") for i, v in enumerate(values)]


def write(folder: Path, text: str, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_two_files_compare_without_gold(tmp_path):
    a = write(tmp_path, "query,value\n" + "".join(f"q{i},{0.1 * (i % 5)}\n" for i in range(40)))
    b = write(
        tmp_path, "query,value\n" + "".join(f"q{i},{0.1 * (i % 5) + 0.3}\n" for i in reversed(range(40))), "b.csv"
    )
    found = compare_values(read_values(a), read_values(b), names=RunNames("a.csv", "b.csv"), B=500)
    assert found.rows[0].difference == pytest.approx(0.3)
    assert found.rows[0].verdict is Verdict.BETTER
    assert found.label == "on these queries"
    assert [row.label for row in found.rows] == ["on these queries"]
    assert [row.label for row in found.means] == ["on these queries"] * 2
    assert [row.engine for row in found.means] == ["a.csv", "b.csv"]


def test_the_cluster_column_is_the_unit(tmp_path):
    a = read_values(write(tmp_path, "query,value,cluster\n" + "".join(f"q{i},0.{i % 9},c{i % 7}\n" for i in range(40))))
    found = compare_values(a, [QueryValue(r.query, r.value / 2, r.cluster) for r in a], B=500)
    assert (found.rows[0].clusters, found.label) == (7, "over 7 repositories")


def test_one_cluster_is_a_repository():
    a, b = table([0.1] * 9, [1] * 9), table([0.2] * 9, [1] * 9)
    assert compare_values(a, b, B=500).label == "on this repository"


def test_a_table_outside_zero_to_one_takes_the_range_it_shows():
    a, b = table([float(i) for i in range(20)]), table([float(i) + 9 + i % 2 for i in range(20)])
    seen = compare_values(a, b, B=500).rows[0]
    assert seen.interval.high <= 29
    lower = compare_values(a, b, bounds=ValueRange(0, 30, higher_is_better=False), B=500).rows[0]
    assert (seen.verdict, lower.verdict) == (Verdict.BETTER, Verdict.WORSE)


def test_too_few_shared_queries_are_not_comparable():
    with pytest.raises(NotComparableError, match="only 7 of 10"):
        compare_values(table([0.5] * 10), table([0.5] * 7))
    assert compare_values(table([0.5] * 10), table([0.5] * 8), B=500).rows[0].queries == 8


def test_a_query_in_two_clusters_is_refused():
    with pytest.raises(InputError, match="'q1' has cluster 'c1'"):
        compare_values(table([0.1, 0.2], [1, 1]), table([0.1, 0.2], [1, 2]))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "got none"),
        ("id,score\nq,1\n", 1, "id,score"),
        ("query,value,colour\nq,1,red\n", 1, "colour"),
        ("query,value\nq,high\n", 2, "fields with a query and a number"),
        ("query,value\nq,0.5\n,0.5\n", 3, "fields with a query and a number"),
        ("query,value\nq,nan\n", 2, "fields with a query and a number"),
        ("query,value\nq,1e200\n", 2, "fields with a query and a number"),
        ("query,value\nq,0.5,x\n", 2, "fields with a query and a number"),
        ("query,value\nq,0.5\nq,0.6\n", 3, "duplicate query"),
    ],
)
def test_a_bad_file_is_refused_with_line_and_next_step(text, line, message, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read_values(path)
    assert (caught.value.file, caught.value.line, caught.value.exit_code) == (str(path), line, 2)
    assert caught.value.hint


def test_a_missing_or_binary_file_is_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes(b"query,value\n\xff,1\n")
    for name, message in (("none.csv", "cannot read the file"), ("latin.csv", "not UTF-8")):
        with pytest.raises(InputError, match=message):
            read_values(tmp_path / name)


def test_values_outside_the_unit_interval_may_fall_to_zero():
    """The range of the values seen would bound unseen losses by almost nothing."""
    before = table([5.0] * 30)
    found = compare_values(before, table([5.05, *[5.0] * 29]), B=500).rows[0]
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.equivalence.low < -0.2


@pytest.mark.parametrize("value", ["abc", "nan", "1e200"])
def test_a_value_of_a_run_that_is_no_number_is_an_error_with_its_line(tmp_path, value):
    head = "gold,query,form,repository,engine,nDCG@10\n"
    path = write(tmp_path, f"{head}g,q1,human,r,e,0.5\ng,q2,human,r,e,{value}\n", "per-query.csv")
    with pytest.raises(InputError, match="expected a number") as caught:
        read_values(path, engine="e")
    assert (caught.value.file, caught.value.line) == (str(path), 3)


@pytest.mark.parametrize(("engine", "message"), [(None, "no engine selected"), ("x", "unknown engine 'x'")])
def test_engine_of_a_run_must_be_selected(tmp_path, engine, message):
    head = "gold,query,form,repository,engine,nDCG@10\n"
    path = write(tmp_path, f"{head}g,q1,human,r,a,0.5\ng,q1,human,r,b,0.5\n", "per-query.csv")
    with pytest.raises(InputError, match=message) as caught:
        read_values(path, engine=engine)
    assert caught.value.hint == "set --engine to one of: a, b"


KARTA = "experiment_id,query_id,top1_file,top1_hit,recall_at_10,adv_rank_gap\n" + "".join(
    f"{name},Q{i},a.java,{str(i % 4 == 0).lower()},{float(i % 5 < most):.4f},{'' if i else '-3'}\n"
    for name, most in (("small", 1), ("large", 4))
    for i in range(30)
)


def test_results_of_karta_are_read_by_column_and_experiment(tmp_path):
    path = write(tmp_path, KARTA)
    engines = read_engines(path, measure="top1_hit")
    assert list(engines) == ["small", "large"]
    assert [row.value for row in engines["small"][:5]] == [1, 0, 0, 0, 1]
    assert [row.query for row in read_values(path, engine="large", measure="adv_rank_gap")] == ["Q0"]


def test_all_experiments_of_a_file_are_compared(tmp_path):
    found = compare_columns(read_engines(write(tmp_path, KARTA), measure="recall_at_10"), "recall_at_10", B=500)
    assert isinstance(found, AllPairs)
    assert (found.leader, found.leaders) == ("large", ("large",))
    assert found.rows[0].difference == pytest.approx(0.6)
    assert found.rows[0].verdict is Verdict.BETTER


def test_engines_without_common_queries_are_not_comparable():
    engines = {"a": table([0.5] * 10), "b": table([0.5] * 10), "c": table([0.5] * 5)}
    with pytest.raises(NotComparableError, match="only 5 of 10 queries have a value for every engine"):
        compare_columns(engines, "value")


@pytest.mark.parametrize(
    ("text", "measure", "message"),
    [
        (KARTA, None, "no measure selected"),
        (KARTA, "top1_file", "unknown measure 'top1_file'"),
        (KARTA + "small,Q0,a.java,true,1,\n", "top1_hit", "duplicate query 'Q0' of small"),
        ("query_id,file\nQ1,a\n", None, "expected a column of numbers, got query_id,file"),
        ("query,value\nq,1\n", "R@10", "the file has one measure"),
    ],
)
def test_a_bad_table_of_measures_is_refused(tmp_path, text, measure, message):
    with pytest.raises(InputError, match=message):
        read_engines(write(tmp_path, text), measure=measure)


def test_results_of_pyckle_are_reciprocal_ranks(tmp_path):
    results = [
        {"query": "one", "expected": "a.py", "ranked": ["x.py", "x.py", "y.py", "a.py"]},
        {"query": "two", "expected": "b.py", "ranked": [*("x.py",) * 10, "b.py"]},
    ]
    path = write(tmp_path, json.dumps({"mrr_at_10": 0.125, "results": results}, indent=2), "eval_results.json")
    assert [(row.query, row.value) for row in read_values(path)] == [("one", 0.25), ("two", 0.0)]
    with pytest.raises(InputError, match="eval_results.json of Pyckle"):
        read_values(write(tmp_path, "[]", "b.json"))
