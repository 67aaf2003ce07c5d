"""Tuning as a user meets it: what it may see, what it prints, what it refuses."""

import re

import pytest

from assay.experiment import read_run
from assay.experiment.ledger import read_ledger
from tests.cli.changing import BLIND, TUNE, as_json, call, write


def test_tuning_sees_dev_queries_only(small, capsys):
    code, data = as_json(capsys, *TUNE, "--out", "kept")
    assert code == 0
    asked = {ranking.query for engine in read_run(small / "kept").engines for ranking in engine.rankings}
    assert asked == {f"q{at}" for at in range(8)}
    assert data["queries"] == 8
    assert data["tried"][0]["name"] == "builtin"
    assert [one["changes"] for one in data["tried"][1:]] == [
        {"search.index.fields.name": 0.0},
        {"search.index.fields.name": 8.0},
    ]
    assert sum(one["chosen"] for one in data["tried"]) == 40
    assert "2 queries of other splits were not" in data["notes"][0]["text"]
    assert [note["kind"] for note in data["notes"]] == ["used"]
    assert not (small / "gold.looks.jsonl").exists()


def test_tuning_finds_a_knob_that_matters_and_prints_what_to_paste(small, capsys):
    write(small, ["none"] * 10)
    (small / "assay.toml").write_text(
        f'[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n{BLIND}'
        '[tune]\nengine = "mine"\npartitions = 5\nparams = { "search.index.fields.body" = [0.0, 1.0] }\n'
    )
    code, out, _ = call(capsys, "tune", "--jobs", "1", "--ledger", "--by", "ann")
    assert code == 0
    assert "no splits" in out
    assert "Use body=1.0" in out
    assert "[engines.mine]\nsearch.index.fields.body = 1.0" in out
    (entry,) = read_ledger(small / "ledger.jsonl").entries
    assert (entry.how, entry.by, entry.accepted) == ("tune", "ann", True)
    assert entry.evidence.verdict == "better"
    assert entry.changes == {"search.index.fields.body": (0.0, 1.0)}
    assert entry.tuning is not None
    assert entry.tuning.partitions == 5
    code, data = as_json(capsys, "tune", "--jobs", "1", "--partitions", "3")
    assert (data["partitions"], data["recommended"]) == (3, {"search.index.fields.body": 1.0})


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--split", "test"), "cannot be used for tuning"),
        (("--split", "sealed"), "cannot be used for tuning"),
        (("--split", "dev,test"), "cannot be used for tuning"),
        (("--split", "dve"), "cannot be used for tuning"),
        (("--tag", "split=dev:9-10"), "would change the split of queries"),
        (("--param", "search.stem.files"), "--param"),
        (("--param", "search.stem.flies=1,2"), "flies"),
        (("--param", "search.index.fields.name=1,3"), "given twice"),
        (("--ledger", "book.txt"), "ends in ledger.jsonl"),
        (("--ledger", "--rule", "significan"), "did you mean 'significant'"),
    ],
)
def test_tuning_refuses_with_a_reason(small, capsys, argv, said):
    code, _, err = call(capsys, *TUNE, *argv)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("parts", [["test"] * 10, ["sealed"] * 10, ["test"] * 5 + ["sealed"] * 5])
def test_the_gold_file_of_another_part_is_refused(small, capsys, parts):
    write(small, parts)
    code, _, err = call(capsys, *TUNE)
    assert code == 2
    assert "no query in split 'dev'" in err


def test_a_misspelt_part_stops_tuning(small, capsys):
    write(small, ["dev"] * 8 + ["Test"] * 2)
    code, _, err = call(capsys, *TUNE)
    assert code == 2
    assert "did you mean 'test'" in err


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("[tune]\npartitons = 3\n", 4, "did you mean 'partitions'"),
        ('[tune]\npartitions = "many"\n', 4, "partitions"),
        ('[tune]\nengine = "builtin"\nparams = { "search.stem.files" = [] }\n', 5, "has no value"),
        ('[tune]\nparams = { "search.dense.files" = [0.5] }\n', 4, "equals the engine's settings"),
        ('[ledger]\nrules = "significant"\n', 4, "did you mean 'rule'"),
        ('[ledger]\nfile = "ledger.jsonl"\nrule = { verdict = ["bettr"] }\n', 5, "did you mean 'better'"),
        ('[ledger]\nfile = "changes.txt"\n', 4, "ends in ledger.jsonl"),
    ],
)
def test_a_mistake_in_a_table_is_told_with_its_line(small, capsys, table, line, said):
    (small / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n' + table)
    argv = ("tune", "--jobs", "1") if "[tune]" in table else ("ledger",)
    code, _, err = call(capsys, *argv)
    assert code == 2
    assert f"assay.toml:{line}:" in err, err
    assert said in err


@pytest.mark.parametrize("split", ['"test"', '["dev", "test"]', '["sealed"]'])
def test_parts_that_the_file_asks_for_are_refused_with_their_line(small, capsys, split):
    (small / "assay.toml").write_text(f'[run]\ngold = "gold.yaml"\nsplit = {split}\n')
    code, _, err = call(capsys, *TUNE)
    assert code == 2
    assert "assay.toml:3: split = " in err
    assert "cannot be used for tuning" in err


def test_a_flag_replaces_the_parts_that_the_file_asks_for(small, capsys):
    (small / "assay.toml").write_text('[run]\ngold = "gold.yaml"\nsplit = ["sealed"]\n')
    code, out, _ = call(capsys, *TUNE, "--split", "dev")
    assert code == 0
    assert re.search(r"verdict on the gain +inconclusive +p 1\.0, on this repository\n", out)


def test_verdict_of_few_queries_has_no_p_value(small, capsys):
    write(small, ["dev"] * 4 + ["test"] * 6)
    _, out, _ = call(capsys, *TUNE)
    assert re.search(r"verdict on the gain +inconclusive +no p-value, on this repository\n", out)


def test_parts_that_set_asks_for_are_refused_by_the_flag(small, capsys):
    code, _, err = call(capsys, *TUNE, "--set", 'run.split=["test"]')
    assert code == 2
    assert "--set run.split=[\"test\"]: split = 'test' cannot be used for tuning" in err
    assert call(capsys, *TUNE, "--set", 'run.split=["dev"]')[0] == 0


def test_a_set_that_is_not_divided_is_told_aloud(small, capsys):
    write(small, ["none"] * 10)
    _, data = as_json(capsys, *TUNE)
    assert [note["kind"] for note in data["notes"]] == ["undivided"]
    assert data["queries"] == 10


def test_a_shipped_experiment_is_taken_instead_of_a_file(small, capsys):
    (small / "assay.toml").write_text("[nonsense]\n")
    code, _, err = call(capsys, *TUNE, "--preset", "nobody")
    assert code == 2
    assert "nobody" in err
    code, _, err = call(capsys, *TUNE, "--preset", "octocode-matrix", "--config", "assay.toml")
    assert code == 2
    assert "cannot be combined" in err
