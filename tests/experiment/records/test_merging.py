"""Runs merged: what can be compared takes part, what cannot says why, and the newest wins."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.experiment import read_run, write_run
from assay.experiment.corpora import load_suite
from assay.experiment.execution import join_engine_runs
from assay.experiment.records import config_hash
from assay.experiment.records.directory import IN_TURN, KEPT, SIDE_BY_SIDE, TIMINGS
from assay.experiment.records.merge import (
    CODE,
    RESET,
    TOOL,
    UNDECLARED,
    RetainedEngine,
    comparability_of,
    merge_runs,
)
from assay.experiment.spec import load_spec
from assay.experiment.spec.engine_entries import retained_engines
from assay.report.rows_file import read_rows
from assay.types import (
    AnalysisPlan,
    CorpusInfo,
    CorpusSpec,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Run,
    RunMetadata,
    Span,
    Suite,
    Target,
)
from tests.properties import examples


def made(*names: str, date: str = "2026-01-01", hit: str = "a.py", **changes: object) -> Run:
    """A run of some engines, each with a file of its own among its results."""
    engines = tuple(
        EngineRun(
            name,
            (Ranking("g", "q", "human", (Hit(hit), Hit(f"of-{name}.py")), (1, 2)),),
            config={"kind": name},
        )
        for name in names
    )
    gold = GoldSet("g", CorpusSpec("path", "."), (Query("q", {"human": "?"}, (Target(Span("t.py")),)),))
    header = RunMetadata(
        "1.0", date, "f" * 16, {"g": CorpusInfo("r", None, "d1", 3)}, {"cpu": "a"}, 60.0, AnalysisPlan(("RR",), "")
    )
    files = {"t.py": (9,), hit: (1,)} | {f"of-{name}.py": (2,) for name in names}
    run = Run(Suite((gold,)), 10, engines, {"g": dict(sorted(files.items()))}, {"g/q": "h"}, header)
    return replace(run, **changes)  # type: ignore[arg-type]


def moved(run: Run, **changes: object) -> Run:
    """The same with another header."""
    return replace(run, header=replace(run.header, **changes))  # type: ignore[arg-type]


names = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)


@examples(60)
@given(names, st.booleans())
def test_run_merged_with_itself_is_itself(chosen, timed):
    run = moved(made(*chosen), timed=timed, skipped={"z": "needs x"})
    merged = merge_runs(run, run)
    assert merged.run == run
    assert not merged.stale


def test_first_run_is_as_it_is():
    assert merge_runs(None, made("a")).run == made("a")


@examples(60)
@given(st.data(), names)
def test_order_of_merging_disjoint_runs_does_not_matter_but_for_the_order_of_rows(data, chosen):
    cut = data.draw(st.integers(0, len(chosen)))
    one, two = (made(*part) for part in (chosen[:cut], chosen[cut:]))
    if not one.engines or not two.engines:
        return
    first, second = merge_runs(one, two).run, merge_runs(two, one).run
    # The engine that came first is dated, because the run it is in now may be of another day.
    plain = [{e.name: replace(e, date="") for e in run.engines} for run in (first, second)]
    assert plain[0] == plain[1]
    assert set(plain[0]) == set(chosen)
    assert (first.lines, first.hashes, first.header) == (second.lines, second.hashes, second.header)


@examples(40)
@given(names, names)
def test_newest_answers_win_and_all_names_are_there_once(before, after):
    merged = merge_runs(made(*before, hit="old.py"), made(*after, date="2026-02-02")).run
    assert sorted(e.name for e in merged.engines) == sorted({*before, *after})
    for engine in merged.engines:
        assert engine.rankings[0].hits[0].path == ("a.py" if engine.name in after else "old.py")
    paths = {hit.path for e in merged.engines for r in e.rankings for hit in r.hits}
    assert set(merged.lines["g"]) == {"t.py", *paths}


def otherwise():
    old = made("a", "b")
    yield moved(old, gold_hash="0" * 16), "gold set changed"
    yield moved(old, corpora={"g": CorpusInfo("r", None, "d2", 3)}), r"corpus changed since \(g\)"
    yield replace(old, k=5), "run with k = 5, not 10"
    rankings = (replace(old.engines[0].rankings[0], form="keyword"),)
    yield replace(old, engines=(replace(old.engines[0], rankings=rankings),)), "other phrasings"


@pytest.mark.parametrize(("old", "reason"), list(otherwise()))
def test_runs_on_another_footing_are_never_mixed(old, reason):
    new = made("c")
    merged = merge_runs(old, new)
    assert merged.run == new
    assert set(merged.stale) == {e.name for e in old.engines}
    with pytest.raises(AssertionError, match=reason):
        assert merged.stale["a"] == ""


def test_engine_that_is_not_declared_or_set_otherwise_is_stale():
    old, new = made("a", "b", "c"), made("d")
    declared = {"d": RetainedEngine(), "c": RetainedEngine("another"), "a": RetainedEngine(config_hash({"kind": "a"}))}
    merged = merge_runs(old, new, declared)
    assert [e.name for e in merged.run.engines] == ["d", "a"]
    assert merged.stale == {"b": UNDECLARED, "c": RESET}
    assert merged.kept == ("a",)


def test_kept_engine_says_when_and_with_what_it_was_asked():
    old = moved(made("a"), date="2026-01-01T10:11:12+00:00", assay="0.9", environment={"cpu": "old"})
    merged = merge_runs(old, made("b", date="2026-03-03")).run
    kept = merged.engines[0]
    assert (kept.name, kept.date, kept.assay, kept.environment) == ("a", "2026-01-01", "0.9", {"cpu": "old"})
    again = merge_runs(merged, made("b", date="2026-04-04")).run
    assert again.engines[0] == kept


def test_times_of_different_runs_are_not_compared():
    assert made("a").header.timed
    assert not merge_runs(made("a"), made("b")).run.header.timed
    assert merge_runs(made("a"), made("a")).run.header.timed


def test_skipped_engines_keep_their_reason_until_they_run():
    old = moved(made("a"), skipped={"x": "needs env:X", "b": "needs tool:b"})
    new = moved(made("b"), skipped={"y": "needs env:Y"})
    assert merge_runs(old, new).run.header.skipped == {"x": "needs env:X", "y": "needs env:Y"}
    assert merge_runs(old, new, {"b": RetainedEngine()}).run.header.skipped == {"y": "needs env:Y"}


def test_engine_that_is_skipped_now_is_not_taken_from_earlier():
    merged = merge_runs(made("a", "b"), moved(made("b"), skipped={"a": "needs env:A"}))
    assert merged.stale == {"a": "not run this time: needs env:A"}
    assert [e.name for e in merged.run.engines] == ["b"]


def test_merged_run_reads_back_as_it_was_written(tmp_path):
    old = moved(made("a"), assay="0.9", environment={"cpu": "old"})
    merged = merge_runs(old, made("b", date="2026-03-03")).run
    write_run(merged, tmp_path)
    assert read_run(tmp_path) == merged


def test_settings_of_engines_that_are_not_asked_are_those_that_the_run_recorded(shop):
    """What `--only` compares is what a run of all engines writes down."""
    from assay.experiment.execution import run_spec

    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n')
    spec = load_spec(Path("assay.toml"))
    suite = load_suite(spec)
    run = run_spec(spec, suite)
    only = replace(spec, only=("mine",))
    known = retained_engines(only, suite)
    assert list(known) == ["mine", "random", "keywords", "oracle"]
    assert known == {
        e.name: RetainedEngine() if e.name == "mine" else RetainedEngine(config_hash(e.config), e.fingerprint)
        for e in run.engines
    }
    assert retained_engines(spec, suite) == {}
    assert comparability_of(run).difference(comparability_of(run)) == ""


def signed(run: Run, **changes: object) -> Run:
    """The same run, made by other tools or code."""
    return replace(run, engines=tuple(replace(engine, **changes) for engine in run.engines))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "code", "reason"),
    [
        ("tool-1", "code-1", ""),
        ("tool-2", "code-1", TOOL),
        ("tool-1", "code-2", CODE),
        ("", "code-1", ""),  # nobody can look at the tool here
        ("tool-1", "", ""),
    ],
)
def test_engine_whose_tool_or_whose_assay_changed_is_stale(now, code, reason):
    old = signed(made("a"), fingerprint="tool-1", code="code-1")
    new = signed(made("b"), code=code)
    merged = merge_runs(old, new, {"a": RetainedEngine(config_hash({"kind": "a"}), now), "b": RetainedEngine()})
    assert merged.stale == ({"a": reason} if reason else {})
    assert merged.kept == (() if reason else ("a",))


def test_answers_of_two_tools_fit_no_tool():
    """A tool that is replaced while it is asked: its row is stale the next time, whichever of the two is there."""
    (engine,) = made("a").engines
    parts = [replace(engine, fingerprint=tool, code="c") for tool in ("tool-1", "tool-2")]
    both = join_engine_runs("a", parts)
    assert (both.fingerprint, both.code) == ("mixed", "c")
    old = replace(made("a"), engines=(both,))
    assert merge_runs(old, made("b"), {"a": RetainedEngine("", "tool-2")}).stale == {"a": TOOL}
    assert join_engine_runs("a", parts[:1]).fingerprint == "tool-1"


def test_only_after_a_change_of_the_tool_marks_the_row(shop, tmp_path, monkeypatch):
    """From the command line: the file of an engine changes between two runs."""
    tool = tmp_path / "lib" / "kept_tool.py"  # beside the corpus, not in it
    tool.parent.mkdir()
    monkeypatch.syspath_prepend(tool.parent)
    tool.write_text("def ask(query, k):\n    return ['shop/cart.py']\n")
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "random"\n'
        '[engines.tool]\nkind = "python"\ntarget = "kept_tool:ask"\n'
    )
    assert main(["run", "--quiet"]) == 0
    assert main(["run", "--quiet", "--only", "mine"]) == 0
    assert {row.engine: row.state for row in read_rows(shop / "results") or ()}["tool"] == "measured"
    tool.write_text("def ask(query, k):\n    return ['shop/tax.py']\n")
    assert main(["run", "--quiet", "--only", "mine"]) == 0
    row = next(row for row in read_rows(shop / "results") or () if row.engine == "tool")
    assert (row.state, row.reason) == ("stale", TOOL)
    assert row.fingerprint
    assert row.code


# That cells ran side by side is said in test_resume.py too.
@pytest.mark.parametrize(("jobs", "reason"), [(1, IN_TURN), pytest.param(2, SIDE_BY_SIDE, marks=pytest.mark.nightly)])
def test_timings_say_how_cells_were_really_run(shop, jobs, reason):
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\ntimes = false\n[engines.mine]\nkind = "keywords"\n')
    assert main(["run", "--quiet", "--no-cache", "--jobs", str(jobs)]) == 0
    cells = json.loads((shop / "results" / TIMINGS).read_text())["cells"]
    assert {cell["reason"] for cell in cells} == {reason}
    assert main(["run", "--quiet", "--jobs", "1"]) == 0
    again = json.loads((shop / "results" / TIMINGS).read_text())["cells"]
    assert {cell["reason"] for cell in again} == {KEPT}
