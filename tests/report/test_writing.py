"""What lies in a results folder: the same bytes for the same run, nothing of the machine, nothing left over."""

import builtins
import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from assay import load_gold, run
from assay.cli.main import main
from assay.errors import AssayError, InputError, SetupError
from assay.experiment import read_run, write_run
from assay.experiment.records.directory import CellTiming, write_timings
from assay.experiment.spec.analysis_plan import make_measures
from assay.report.analysis import analyze
from assay.report.publish import publish, require_parquet, write_reports
from assay.report.render.document import to_markdown
from assay.report.report_sections import NO_TIMES, document
from assay.report.results_file import results_json
from assay.report.scored_run import score_run
from assay.types import AnalysisPlan, Status
from tests.conftest import enter_shared
from tests.report.shared import make_in_shop

PLAN = AnalysisPlan((*make_measures(10, None, ()), "Displacement@10"), "base")


@pytest.fixture(scope="module")
def _made(tmp_path_factory):
    engines = {"base": lambda q, k: ["shop/tax.py"], "mine": lambda q, k: ["shop/cart.py:1-9", "README.md"]}
    return make_in_shop(tmp_path_factory, lambda: run(engines, load_gold("gold.yaml")))


@pytest.fixture
def made(_made, monkeypatch):
    base, found = _made
    for _ in enter_shared(base, monkeypatch):
        yield found


def files(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_writing_twice_and_reading_between_gives_equal_bytes(made, tmp_path):
    for name in ("one", "two"):
        write_run(made, tmp_path / name)
        write_reports(analyze(made, PLAN), score_run(made, PLAN), tmp_path / name, parquet=True)
        made = read_run(tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_nothing_of_the_machine_is_in_the_files(made, tmp_path):
    write_run(made, tmp_path / "out")
    write_reports(analyze(made, PLAN), score_run(made, PLAN), tmp_path / "out")
    for name, data in files(tmp_path / "out").items():
        assert str(tmp_path).encode() not in data, name
        assert str(Path.cwd()).encode() not in data, name


def test_files_of_engines_that_are_gone_are_removed(made, tmp_path):
    write_reports(analyze(made, PLAN), score_run(made, PLAN), tmp_path)
    assert (tmp_path / "runs" / "lines" / "mine.trec").exists()
    left = replace(made, engines=made.engines[:1])
    write_reports(analyze(left, PLAN), score_run(left, PLAN), tmp_path)
    assert sorted(p.name for p in (tmp_path / "runs").rglob("*.trec")) == ["base.trec", "base.trec"]


def stamps(folder):
    # the lock is opened for writing by everybody who waits for it
    return {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file() and p.name != ".lock"}


def test_publishing_that_fails_leaves_the_old_results_as_they_are(made, tmp_path, monkeypatch):
    """The page is the last file that is made, and compressing its data the last step."""

    def fail(*args, **kwargs):
        raise OSError("no room")

    publish(made, PLAN, tmp_path)
    times, before = stamps(tmp_path), files(tmp_path)
    monkeypatch.setattr("zlib.compress", fail)
    with pytest.raises(OSError, match="no room"):
        publish(replace(made, engines=made.engines[::-1]), PLAN, tmp_path)
    assert files(tmp_path) == before
    assert stamps(tmp_path) == times


def test_rows_that_cannot_be_read_replace_no_results(made, tmp_path):
    publish(made, PLAN, tmp_path)
    (tmp_path / "rows.json").write_text("{")
    before = files(tmp_path)
    with pytest.raises(InputError, match="rows of earlier runs"):
        publish(replace(made, engines=made.engines[::-1]), PLAN, tmp_path)
    assert files(tmp_path) == before


def test_claim_that_this_run_cannot_bear_replaces_no_results(made, tmp_path):
    publish(made, PLAN, tmp_path)
    before = files(tmp_path)
    with pytest.raises(AssayError):
        publish(made, AnalysisPlan(("nDCG@20",), "base"), tmp_path)
    assert files(tmp_path) == before


def test_results_hold_rows_and_what_was_skipped(made):
    skipping = replace(made, header=replace(made.header, skipped={"paid": "env:KEY is not set"}))
    data = results_json(analyze(skipping, PLAN))
    assert data["schema"] == "assay/results/2"
    assert [row["engine"] for row in data["rows"]] == ["base", "mine", "paid"]
    assert data["skipped"] == {"paid": "env:KEY is not set"}


def test_parquet_has_what_the_csv_has_with_types(made, tmp_path):
    write_reports(analyze(made, PLAN), score_run(made, PLAN), tmp_path, parquet=True)
    table = pyarrow.parquet.read_table(tmp_path / "per-query.parquet")
    assert {str(table.schema.field(name).type) for name in ("engine", "query", "hash")} == {"string"}
    assert {str(table.schema.field(name).type) for name in PLAN.measures} == {"double"}
    with open(tmp_path / "per-query.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert table.column_names == list(rows[0])
    typed = [{k: (float(v) if v else None) if k in PLAN.measures else v for k, v in row.items()} for row in rows]
    assert table.to_pylist() == typed
    assert any(value is None for row in typed for value in row.values())


def test_missing_extra_is_told_before_anything_runs(shop, monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    for module in [name for name in sys.modules if name.startswith("pyarrow")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(SetupError, match="needs pyarrow") as caught:
        require_parquet()
    assert "[parquet]" in (caught.value.hint or "")
    assert main(["run", "--gold", "gold.yaml", "--parquet", "--quiet"]) == 4
    assert "[parquet]" in capsys.readouterr().err
    assert not (shop / "results").exists()


def test_run_and_score_write_parquet_where_asked(shop, capsys):
    engine = ["--engine", "random", "--baseline", "random", "--no-references"]
    assert main(["run", "--gold", "gold.yaml", *engine, "--parquet", "--quiet"]) == 0
    path = shop / "results" / "per-query.parquet"
    path.unlink()
    assert main(["score", "results", "--write", "--parquet", "--quiet"]) == 0
    assert path.exists()
    assert main(["score", "results", "--parquet"]) == 2
    assert "--write" in capsys.readouterr().err


def test_run_without_times_shows_none(made):
    timed = analyze(made, PLAN)
    assert any(row.warm_ms is not None for row in timed.spending)
    untimed = replace(made, header=replace(made.header, timed=False, date="2026-01-01"))
    results = analyze(untimed, PLAN)
    assert all(row.warm_ms is row.index_seconds is row.first_ms is row.warm_ratio is None for row in results.spending)
    text = to_markdown(document(results))
    assert NO_TIMES in text
    for word in ("median (ms)", "index (s)", "p95", "pinned"):
        assert word not in text
    assert "2026-01-01, gold" in text


def test_what_engines_say_of_themselves_is_shown_without_times_too(made):
    engines = (replace(made.engines[0], version="v7.7"), made.engines[1])
    untimed = replace(made, engines=engines, header=replace(made.header, timed=False))
    assert "v7.7" in to_markdown(document(analyze(untimed, PLAN)))


def test_engine_that_did_not_open_is_told_apart_without_times(made):
    def failed(ranking, error):
        return replace(ranking, hits=(), tokens=(), status=Status.ERROR, error=error, seconds=0.0)

    closed = replace(made.engines[0], rankings=tuple(failed(r, "no such tool") for r in made.engines[0].rankings))
    first, *rest = made.engines[1].rankings
    some = replace(made.engines[1], rankings=(failed(first, "bad question"), *rest))
    engines = tuple(replace(engine, index_seconds={}) for engine in (closed, some))
    untimed = replace(made, engines=engines, header=replace(made.header, timed=False))
    kinds = {m.engine: m.kind for m in analyze(untimed, PLAN).failed_queries}
    assert kinds == {"base": "could not be opened", "mine": "error"}


def test_timings_are_marked_not_comparable(tmp_path):
    write_timings(tmp_path, [CellTiming("mine", "g", 1.5, 0.25, "host-1"), CellTiming("other", "g")])
    data = json.loads((tmp_path / "timings.json").read_text())
    assert data["cells"][0] == {
        "engine": "mine",
        "gold": "g",
        "index_seconds": 1.5,
        "query_seconds": 0.25,
        "worker": "host-1",
        "comparable": False,
        "reason": "cells ran side by side",
    }
    write_timings(tmp_path, [])
    assert json.loads((tmp_path / "timings.json").read_text())["cells"] == []


def test_only_some_engines_are_asked_and_the_others_keep_their_rows(shop, capsys):
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n[engines.plain]\nkind = "keywords"\n'
    )
    assert main(["run", "--quiet"]) == 0
    first = {e.name: e for e in read_run(shop / "results").engines}
    capsys.readouterr()
    assert main(["run", "--quiet", "--only", "mine", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["engine"]: row["state"] for row in data["rows"]} == dict.fromkeys(first, "measured")
    after = {e.name: e for e in read_run(shop / "results").engines}
    assert list(after) == list(first)
    assert after["plain"].rankings == first["plain"].rankings
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n')
    assert main(["run", "--quiet", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["engine"]: row["reason"] for row in data["rows"] if row["state"] == "stale"} == {
        "plain": "no longer declared"
    }
    assert main(["run", "--quiet", "--drop-stale", "--json"]) == 0
    assert "plain" not in capsys.readouterr().out
    for command in ("score", "compare", "gate"):
        assert main([command, "results", "--quiet"]) in (0, 1), command
    assert main(["plan", "results", "--detect", "0.1", "--baseline", "random"]) == 2  # three queries are no pilot
    assert "at least 6 are needed" in capsys.readouterr().err
