"""Queries that share targets stay one unit in baseline files and per-query tables."""

from dataclasses import replace

from assay.report.baseline_file import read_baseline, write_baseline
from assay.report.comparison import compare_sides
from assay.report.publish import per_query_csv
from assay.report.query_scores import gather
from assay.scoring import score
from assay.stats import compare_values, read_values
from assay.types import Run, Suite
from tests.report.evidence.labs import PLAN, run_of

OLD = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5] * 4
NEW = [2, *OLD[1:]]
NOTE = "40 queries form 20 units: queries that share targets count as one"


def in_pairs(made: Run) -> Run:
    """Return queries in pairs with the same targets."""
    (gold,) = made.suite.golds
    queries = [replace(query, targets=gold.queries[at - at % 2].targets) for at, query in enumerate(gold.queries)]
    return replace(made, suite=Suite((replace(gold, queries=tuple(queries)),)))


def side(made, name):
    return gather((made,), PLAN.measures, name)


def test_baseline_file_keeps_which_queries_share_targets(tmp_path):
    path = tmp_path / "baseline.json"
    before = side(in_pairs(run_of(OLD)), "old")
    write_baseline(path, before, PLAN)
    assert [unit.shared for unit in read_baseline(path).scores.units] == [unit.shared for unit in before.scores.units]
    assert len({unit.shared for unit in before.scores.units}) == 20
    row = compare_sides(read_baseline(path), side(in_pairs(run_of(NEW)), "new"), PLAN).rows[0]
    assert (row.queries, row.clusters) == (40, 20)
    assert NOTE in row.notes


def test_baseline_file_that_does_not_say_takes_it_from_the_new_run(tmp_path):
    path = tmp_path / "baseline.json"
    write_baseline(path, side(run_of(OLD), "old"), PLAN)
    assert '"shared"' not in path.read_text()
    row = compare_sides(read_baseline(path), side(in_pairs(run_of(NEW)), "new"), PLAN).rows[0]
    assert row.clusters == 20


def test_per_query_tables_keep_it_and_old_ones_have_none(tmp_path):
    tables = []
    for name, ranks in (("old", OLD), ("new", NEW)):
        text = per_query_csv(score(in_pairs(run_of(ranks)), ["RR@10"]))
        (tmp_path / f"{name}.csv").write_text(text)
        tables.append(read_values(tmp_path / f"{name}.csv", engine="mine"))
    assert compare_values(*tables).rows[0].clusters == 20
    plain = [tuple(replace(value, shared="") for value in table) for table in tables]
    assert compare_values(*plain).rows[0].clusters == 40
    rows = [line.split(",") for line in (tmp_path / "old.csv").read_text().splitlines()]
    at = rows[0].index("shared")
    (tmp_path / "before.csv").write_text("\n".join(",".join([*row[:at], *row[at + 1 :]]) for row in rows))
    assert read_values(tmp_path / "before.csv", engine="mine") == plain[0]
