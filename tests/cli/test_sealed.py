"""Sealed queries stay sealed, by whatever way they are asked for."""

import pytest

from assay.cli.main import main
from tests.cli.changing import write


@pytest.fixture
def small(small):
    """The small set with two of six queries sealed."""
    write(small, ["dev"] * 4 + ["sealed"] * 2)
    return small


def call(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def run(capsys, *more):
    engines = ("--engine", "keywords", "--engine", "builtin", "--baseline", "keywords", "--no-references")
    return call(capsys, "run", "--gold", "gold.yaml", *engines, *more)


def test_a_tag_rule_cannot_open_what_is_sealed(small, capsys):
    code, said = run(capsys, "--tag", "split=dev:5-6", "--split", "dev")
    assert code == 2
    assert "would change the split of queries" in said
    assert not (small / "results").exists()


@pytest.mark.parametrize("part", ["Sealed", "SEALED", "seald"])
def test_a_misspelt_part_opens_nothing(small, capsys, part):
    write(small, ["dev"] * 4 + [part] * 2)
    code, said = run(capsys)
    assert code == 2
    assert "did you mean 'sealed'" in said


def test_a_run_from_before_the_split_is_not_explained_either(small, capsys):
    write(small, ["dev"] * 6)
    assert run(capsys)[0] == 0
    write(small, ["dev"] * 4 + ["sealed"] * 2)
    code, said = call(capsys, "explain", "--run", "results", "--missed")
    assert code == 2
    assert "2 sealed queries" in said


def test_a_plan_from_sealed_results_is_a_look(small, capsys):
    assert run(capsys, "--split", "dev,sealed")[0] == 0
    looks = small / "gold.looks.jsonl"
    before = len(looks.read_text().splitlines())
    call(capsys, "plan", "results", "--detect", "0.1")
    lines = looks.read_text().splitlines()
    assert len(lines) == before + 1
    assert '"plan"' in lines[-1]


def test_a_look_from_another_folder_is_logged_beside_the_set_that_was_asked(small, capsys, monkeypatch):
    assert run(capsys, "--split", "dev,sealed")[0] == 0
    looks, elsewhere = small / "gold.looks.jsonl", small / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, said = call(capsys, "score", "../results")
    assert (code, "cannot log the access" in said) == (0, False)
    assert '"score"' in looks.read_text()
    (small / "results").rename(small / "elsewhere/results")  # the way to the gold file leads nowhere any more
    code, said = call(capsys, "score", "results")
    assert (code, "cannot log the access" in said) == (0, True)
    assert [file.name for file in elsewhere.iterdir()] == ["results"]
