"""Ablations as a user meets them: what they print, what they write, how they end."""

import re

import pytest

from assay.experiment import read_run
from assay.experiment.ledger import read_ledger
from tests.cli.changing import ABLATE, BLIND, as_json, call, write


def test_ablation_tells_of_every_part_and_keeps_the_run_where_asked(small, capsys):
    code, data = as_json(capsys, *ABLATE, "--out", "kept")
    assert code == 0
    assert data["schema"] == "assay/ablation/1"
    steps = [(row["step"]["strategy"], row["step"]["part"]) for row in data["rows"]]
    parts = [part for way, part in steps if way == "left out"]
    assert parts[:4] == ["names", "paths", "translation", "dense"]
    assert [part for way, part in steps if way == "added"] == parts
    assert data["family"] == len(steps)
    by = {(row["step"]["strategy"], row["step"]["part"]): row for row in data["rows"]}
    assert by["left out", "stem"]["standing"] == "changed no ranking"
    assert by["left out", "stem"]["comparison"]["difference"] == 0.0
    assert any("Identical rankings:" in text and "stem" in text for text in data["reading"])
    assert sum("8 clusters may be too few for a family" in note for note in data["notes"]) == 1
    kept = read_run(small / "kept")
    assert kept.engines[0].name == "builtin"
    assert {e.variation.base for e in kept.engines[1:] if e.variation} == {"builtin"}
    assert all(e.variation for e in kept.engines[1:])
    assert (small / "kept" / "RESULTS.md").is_file()


def test_ablation_prints_tables_for_people(small, capsys):
    code, out, _ = call(capsys, *ABLATE, "--strategy", "out", "--only", "names", "--only", "stem", "--split", "dev")
    assert code == 0
    for text in ("Ablation of builtin", "without each part", "Worst repository", "changed no ranking", "Holm"):
        assert text in out
    assert "added one by one" not in out


def test_ablation_of_a_sweep_and_of_the_last_one_that_gained(small, capsys):
    (small / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n'
        '[sweeps.halves]\nengine = "mine"\nstrategy = "leave-one-out"\n'
        f"parts = {{ words = {{ {', '.join(BLIND.splitlines())} }}, noise = {{ 'search.without' = ['noise'] }} }}\n"
    )
    code, data = as_json(capsys, "ablate", "halves", "--jobs", "1", "--kept", "--primary", "RR@10")
    assert code == 0
    added = [row["step"] for row in data["rows"] if row["step"]["strategy"] == "added"]
    assert [(s["variant"], s["against"], s["kept"]) for s in added] == [
        ("plus words", "bare", True),
        ("mine", "plus words", False),
    ]
    assert data["measure"] == "RR@10"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--split", "sealed"), "cannot be used for ablations"),
        (("--split", "dev,sealed"), "cannot be used for ablations"),
        (("--set", 'run.split=["sealed"]'), "--set run.split="),
        (("--split", "tset"), "did you mean test?"),
        (("--only", "nothing"), "matches no part"),
        (("nonsense",), "nonsense"),
        (("--gold", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_ablation_refuses_with_a_reason(small, capsys, argv, said):
    code, _, err = call(capsys, *ABLATE, *argv)
    assert code == 2
    assert said in err


FEW = ("--strategy", "out", "--only", "names", "--only", "dens*")


def asked(folder):
    return {ranking.query for engine in read_run(folder).engines for ranking in engine.rankings}


def test_ablation_uses_dev_queries_of_a_divided_set(small, capsys):
    code, data = as_json(capsys, *ABLATE, *FEW, "--out", "kept")
    assert code == 0
    assert asked(small / "kept") == {f"q{at}" for at in range(8)}
    assert [row["step"]["part"] for row in data["rows"]] == ["names", "dense"]
    assert [note["kind"] for note in data["data"]] == ["used"]


def test_test_queries_are_used_up_aloud_and_the_ledger_remembers(small, capsys):
    code, out, err = call(capsys, *ABLATE, *FEW, "--split", "dev,test", "--out", "kept", "--ledger")
    assert code == 0
    assert asked(small / "kept") == {f"q{at}" for at in range(10)}
    assert "Test queries are used up" in out
    assert "ledger.jsonl: entry 1 to 2: Test queries are used up" in err
    assert err.count("used up") == 2  # before the run, and when it is written down
    assert [entry.spent for entry in read_ledger(small / "ledger.jsonl").entries] == [("test",), ("test",)]
    _, out, _ = call(capsys, "ledger")
    assert "Entries 1–2: Test queries are used up" in out
    assert re.search(r"\bdev,\s.*\btest\b", out, re.DOTALL)  # may be folded


def test_parts_of_the_file_are_taken_and_a_flag_goes_before_them(small, capsys):
    (small / "assay.toml").write_text('[run]\ngold = "gold.yaml"\nsplit = "test"\n')
    code, _, err = call(capsys, "ablate", "--jobs", "1", *FEW, "--out", "kept")
    assert code == 0
    assert "Test queries are used up" in err
    assert asked(small / "kept") == {"q8", "q9"}
    code, _, err = call(capsys, "ablate", "--jobs", "1", *FEW, "--split", "dev")
    assert (code, err) == (0, "")


def test_a_set_that_is_not_divided_is_ablated_whole_and_said_aloud(small, capsys):
    write(small, ["none"] * 10)
    _, data = as_json(capsys, *ABLATE, *FEW)
    assert [note["kind"] for note in data["data"]] == ["undivided"]
