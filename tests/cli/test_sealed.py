"""Sealed queries stay sealed, by whatever way they are asked for."""

import pytest

from assay.cli.main import main

GOLD = """\
assay: 1
name: small
corpus: {path: code}
queries:
"""
QUERY = """\
  - id: q%d
    retrieval: {primary: [f%d.py]}
    cognitive: {human: where is thing%d made?}
    tags: {split: %s}
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    for number in range(6):
        (tmp_path / "code" / f"f{number}.py").write_text(f"def make_thing{number}():\n    return {number}\n")
    write(tmp_path, ["dev"] * 4 + ["sealed"] * 2)
    return tmp_path


def write(folder, parts):
    text = GOLD + "".join(QUERY % (n, n, n, part) for n, part in enumerate(parts))
    (folder / "gold.yaml").write_text(text)


def call(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def run(capsys, *more):
    return call(capsys, "run", "--gold", "gold.yaml", "--engine", "keywords", "--engine", "builtin", *more)


def test_a_tag_rule_cannot_open_what_is_sealed(small, capsys):
    code, said = run(capsys, "--tag", "split=dev:5-6", "--split", "dev")
    assert code == 2
    assert "would move queries to another part" in said
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


def test_a_look_from_another_folder_is_not_logged_there(small, capsys, monkeypatch):
    assert run(capsys, "--split", "dev,sealed")[0] == 0
    elsewhere = small / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, said = call(capsys, "score", "../results")
    assert code == 0
    assert "the look is not logged" in said
    assert list(elsewhere.iterdir()) == []
