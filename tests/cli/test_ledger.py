"""The ledger as a user meets it: what is added, what is refused, what is shown."""

import shutil

import pytest

from assay.experiment import read_run
from assay.experiment.ledger import read_ledger
from tests.cli.changing import BLIND, SMALL, TUNE, as_json, call, write
from tests.conftest import copy_finished, finish

#: Two engines of which one finds nothing by words; they are asked dev queries.
CONFIG = (
    '[run]\ngold = "gold.yaml"\nreferences = false\nbaseline = "old"\nsplit = "dev"\n'
    f'[engines.old]\nkind = "builtin"\n{BLIND}[engines.new]\nkind = "builtin"\n'
    '[ledger]\nrule = { preset = "seed-001" }\n'
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("ledger"), SMALL | {"assay.toml": CONFIG}, "run", "--quiet")


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """A copy of a finished run."""
    return copy_finished(finished, tmp_path, monkeypatch)


ADD = ("ledger", "add", "results", "--engine", "new", "--baseline", "old")


def test_a_change_is_judged_written_down_and_shown(run, capsys):
    code, out, _ = call(capsys, *ADD, "--title", "words count", "--by", "ann")
    assert code == 0
    assert "1. words count: accepted" in out
    (entry,) = read_ledger(run / "ledger.jsonl").entries
    assert (entry.title, entry.by, entry.accepted, entry.rule.preset) == ("words count", "ann", True, "seed-001")
    assert entry.parts == ("dev",)
    assert entry.spent == ()
    assert entry.changes["search.dense.model"] == ("", "static")
    assert entry.evidence.queries == 8
    assert [change.queries for change in entry.evidence.repositories] == [8]
    assert entry.corpora == {"small": read_run(run / "results").header.corpora["small"].digest}
    code, data = as_json(capsys, "ledger")
    assert (code, data["schema"]) == (0, "assay/ledger/1")
    assert data["entries"][0]["title"] == "words count"
    code, out, err = call(capsys, "ledger")
    assert "used up" not in out + err  # only dev queries were asked
    for text in ("1 change tried, 1 accepted", "words count", "accepted", "Rule seed-001", "(n=8)", "noise"):
        assert text in out
    code, out, _ = call(capsys, "ledger", "--markdown")
    assert "| 1 |" in out
    code, out, _ = call(capsys, "ledger", "show", "1")
    assert "By repository" in out
    assert call(capsys, "ledger", "verify")[0] == 0


def test_the_ledger_is_no_part_of_the_corpus(run, capsys):
    (run / "gold.yaml").write_text((run / "gold.yaml").read_text().replace("path: code", "path: ."))
    (run / "code").rename(run / "lib")
    text = (run / "gold.yaml").read_text().replace("[thing", "[lib/thing")
    (run / "gold.yaml").write_text(text)
    assert call(capsys, "run", "--out", "a")[0] == 0
    assert call(capsys, "ledger", "add", "a", "--engine", "new", "--baseline", "old")[0] == 0
    assert call(capsys, "run", "--out", "b")[0] == 0
    digests = [read_run(run / name).header.corpora["small"].digest for name in ("a", "b")]
    assert digests[0] == digests[1]
    assert call(capsys, "ledger", "add", "b", "--against", "a", "--engine", "new")[0] == 0


def test_the_same_comparison_is_added_twice_only_on_purpose(run, capsys):
    code, data = as_json(capsys, *ADD)
    assert (code, data["parts"], data["used_up"]) == (0, ["dev"], [])
    code, _, err = call(capsys, *ADD)
    assert code == 2
    assert "is already entry 1" in err
    assert call(capsys, *ADD, "--allow-duplicate")[0] == 0
    code, out, _ = call(capsys, "ledger")
    assert "2 changes were tried on small" in out
    assert "so it is too high" in out


def test_two_runs_are_compared_where_they_can_be(run, capsys):
    shutil.copytree(run / "results", run / "later")
    add = ("ledger", "add", "later", "--against", "results", "--engine", "new")
    assert call(capsys, *add, "--baseline", "old")[0] == 0
    assert call(capsys, *add)[0] == 0
    first, second = read_ledger(run / "ledger.jsonl").entries
    assert first.accepted
    assert not second.accepted
    assert second.evidence.difference == 0.0


def test_runs_that_are_not_comparable_end_with_five(run, capsys):
    add = ("ledger", "add", "--engine", "new")
    assert call(capsys, "run", "--out", "short", "-k", "5")[0] == 0
    assert call(capsys, *add, "results", "--against", "short")[0] == 5
    (run / "code" / "thing0.py").write_text("pass\n")
    assert call(capsys, "run", "--out", "moved")[0] == 0
    assert call(capsys, *add, "moved", "--against", "results")[0] == 5
    assert call(capsys, *add, "moved", "--against", "results", "--allow-changed-corpus")[0] == 0
    write(run, ["dev"] * 2 + ["test"] * 8)
    assert call(capsys, "run", "--out", "other")[0] == 0
    assert call(capsys, *add, "other", "--against", "moved")[0] == 5


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("add", "results", "--engine", "nobody", "--baseline", "old"), "no engine 'nobody'"),
        (("add", "results", "--engine", "new", "--baseline", "nobody"), "nobody"),
        (("add", "results", "--engine", "old", "--baseline", "old"), "itself"),
        (("add", "nowhere", "--engine", "new"), "no such directory"),
        (("add", "results", "--against", "results", "--engine", "nobody"), "no engine 'nobody'"),
        (("show", "3"), "the ledger is empty"),
    ],
)
def test_the_ledger_refuses_with_a_reason(run, capsys, argv, said):
    code, _, err = call(capsys, "ledger", *argv)
    assert code == 2
    assert said in err


def test_sealed_results_are_added_only_where_the_look_is_logged(run, capsys):
    write(run, ["dev"] * 4 + ["sealed"] * 6)
    assert call(capsys, "run", "--split", "dev,sealed", "--out", "opened")[0] == 0
    looks = run / "gold.looks.jsonl"
    before = len(looks.read_text().splitlines())
    assert call(capsys, "ledger", "add", "opened", "--engine", "new", "--baseline", "old")[0] == 0
    lines = looks.read_text().splitlines()
    assert len(lines) == before + 1
    assert '"ledger add"' in lines[-1]
    (run / "gold.yaml").unlink()
    code, _, err = call(capsys, "ledger", "add", "opened", "--engine", "new", "--baseline", "old", "--allow-duplicate")
    assert code == 2
    assert "6 sealed queries" in err
    assert len(read_ledger(run / "ledger.jsonl").entries) == 1


def test_a_ledger_that_was_tampered_with_ends_every_command_with_two(run, capsys):
    assert call(capsys, *ADD)[0] == 0
    file = run / "ledger.jsonl"
    file.write_text(file.read_text().replace('"accepted": true', '"accepted": false', 1))
    for argv in (
        ("ledger",),
        ("ledger", "show", "1"),
        (*ADD, "--allow-duplicate"),
        (*TUNE, "new", "--ledger"),
    ):
        code, _, err = call(capsys, *argv)
        assert code == 2, argv
        assert "ledger.jsonl:1: the line was changed after it was written" in err
    code, data = as_json(capsys, "ledger", "verify")
    assert code == 2
    assert data["problems"] == [{"line": 1, "text": "the line was changed after it was written"}]


def test_an_ablation_puts_every_step_into_the_ledger_and_none_into_the_total(run, capsys):
    code, data = as_json(
        capsys, "ablate", "new", "--jobs", "1", "--strategy", "out", "--ledger", "--rule", "significant"
    )
    assert code == 0
    entries = read_ledger(run / "ledger.jsonl").entries
    assert data["ledger"]["entries"] == [entry.number for entry in entries]
    assert len(entries) == len(data["rows"])
    assert {(entry.how, entry.rule.preset, entry.evidence.family) for entry in entries} == {
        ("ablate", "significant", len(entries))
    }
    assert entries[0].title == "new without names"
    assert [entry.tried for entry in entries] == list(range(len(entries)))


@pytest.mark.parametrize("part", ["test", "sealed"])
def test_a_run_on_queries_for_claims_is_added_with_a_warning_and_marked(run, capsys, part):
    write(run, ["dev"] * 4 + [part] * 6)
    assert call(capsys, "run", "--split", f"dev,{part}", "--out", "opened")[0] == 0
    add = ("ledger", "add", "opened", "--engine", "new", "--baseline", "old")
    code, out, err = call(capsys, *add)
    assert code == 0
    for text in (out, err):
        assert f"{part.capitalize()} queries are used up" in text
    _, data = as_json(capsys, "ledger")
    assert data["entries"][0]["used_up"] == [part]
    _, out, _ = call(capsys, "ledger")
    assert f"Entry 1: {part.capitalize()} queries are used up" in out
    _, out, _ = call(capsys, "ledger", "show", "1")
    assert "used up" in out


def test_a_run_from_before_the_split_is_marked_by_the_parts_of_now(run, capsys):
    write(run, ["none"] * 10)
    (run / "assay.toml").write_text((run / "assay.toml").read_text().replace('split = "dev"\n', ""))
    assert call(capsys, "run", "--out", "before")[0] == 0
    write(run, ["dev"] * 8 + ["test"] * 2)
    code, _, err = call(capsys, "ledger", "add", "before", "--engine", "new", "--baseline", "old")
    assert code == 0
    assert "Test queries are used up" in err
    assert read_ledger(run / "ledger.jsonl").entries[0].parts == ("dev", "test")


def test_a_wrong_rule_is_told_all_there_are_and_so_is_the_page(run, capsys):
    from pathlib import Path

    from assay.experiment.ledger import PRESETS

    _, _, err = call(capsys, *ADD, "--rule", "nonsense")
    page = (Path(__file__).parents[2] / "docs" / "guides" / "tuning.md").read_text()
    for name in PRESETS:
        assert name in err
        assert f'"{name}"' in page
