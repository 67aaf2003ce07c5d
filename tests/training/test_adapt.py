"""`assay train --adapt` as a user meets it: better where there is something to learn, silent where there is not."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.cli.main import main
from assay.search.query import word_terms
from assay.search.static import StaticEmbedder, open_static
from assay.training.adapt import (
    AdaptConfig,
    HoldOutFiles,
    add_terms,
    blend,
    code_matrix,
    find_questions,
    grade,
    hold_out_files,
    load_base_model,
    new_terms,
)
from assay.training.config import HeldOutConfig
from assay.training.dataset import as_matrix, encode, pool
from assay.training.vectors import EmbeddingTable, limit_threads
from tests.contracts.snapshot import shape
from tests.training.toy import JARGON, RECIPE, git, jargon_file, make_jargon, make_shard, make_toy
from tests.waiting import WATCHDOG

ADAPT = """\
[learning]
steps = 60
batch = 64
rate = 0.02
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Path:
    """A model that knows nothing of jargon, and repositories that speak it."""
    folder = tmp_path_factory.mktemp("adapt")
    (folder / "recipe.toml").write_text(RECIPE.replace("dimension = 8", "dimension = 32"))
    (folder / "adapt.toml").write_text(ADAPT)
    make_toy(folder / "repositories")
    trained = ["train", str(folder / "repositories"), "--recipe", str(folder / "recipe.toml"), "--quiet"]
    assert main([*trained, "--out", str(folder / "parent")]) == 0
    make_jargon(folder / "jargon", JARGON)
    make_jargon(folder / "noise", None)
    return folder


def arguments(toy: Path, repository: Path, out: Path, *more: str) -> list[str]:
    parent, recipe = str(toy / "parent" / "model"), str(toy / "adapt.toml")
    return ["train", "--adapt", str(repository), "--from", parent, "--recipe", recipe, "--out", str(out), *more]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def adapted(toy) -> dict[str, bytes]:
    """What an undisturbed run makes."""
    assert main(arguments(toy, toy / "jargon", toy / "whole", "--quiet")) == 0
    return files(toy / "whole" / "model")


def test_adapted_model_is_better_where_the_code_base_has_words_of_its_own(toy, adapted, capsys):
    del adapted
    assert main(arguments(toy, toy / "jargon", toy / "whole")) == 0
    out, err = capsys.readouterr()
    shown = " ".join(out.split())
    assert "The adapted model is better here" in shown
    assert f"--set dense.model=static:{toy / 'whole' / 'model'}" in " ".join(out.split())
    assert "24 files are held out for the test" in err
    assert "step" not in err  # it was learned before


def test_adapted_model_says_where_it_comes_from(toy, adapted):
    about = json.loads(adapted["model.json"])
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=toy / "jargon", capture_output=True, text=True, check=True)
    assert about["repository"]["commit"] == head.stdout.strip()
    assert about["parent"] == json.loads((toy / "parent" / "model" / "model.json").read_text())["identity"]
    assert about["test"]["verdict"] == "better"
    assert about["test"]["files"] == 24
    assert about["test"]["interval"][0] > 0
    assert b"whatever their license" in adapted["LICENCE.md"]


def test_adapted_model_keeps_what_the_parent_knew(toy, adapted):
    old, new = (open_static(toy / name / "model") for name in ("parent", "whole"))
    words = adapted["vocabulary.txt"].decode().split()
    assert set((toy / "parent" / "model" / "vocabulary.txt").read_text().split()) < set(words)
    assert "gwint" in words
    assert np.array_equal(old.source, new.source)
    assert np.array_equal(old.target, new.target)
    rows = new.rows(old.term)
    assert (rows >= 0).all()


TEST = {
    "difference": "float",
    "files": "int",
    "interval": ["float"],
    "level": "float",
    "losses": "int",
    "mde": "float",
    "measure": "str",
    "new": "float",
    "old": "float",
    "p": "float",
    "questions": "int",
    "ties": "int",
    "verdict": "str",
    "wins": "int",
}
DOCUMENT = {
    "earlier": "null",
    "directory": "null",
    "new_terms": "int",
    "pairs": {"commit": "int", "doc": "int", "heading": "int", "name": "int", "path": "int"},
    "parent": "str",
    "repository": {"commit": "str", "name": "str", "url": "str"},
    "schema": "str",
    "seconds": "float",
    "test": TEST,
}


def test_nothing_is_written_where_there_is_nothing_to_learn(toy, tmp_path, capsys):
    assert main(arguments(toy, toy / "noise", tmp_path / "out", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["test"]["verdict"] == "not shown to be better"
    assert shape(found) == {**DOCUMENT, "test": {**TEST, "mde": "null"}}  # too few queries differ
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["work"]
    assert main(arguments(toy, toy / "noise", tmp_path / "out", "--quiet")) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "the old model is kept" in told.lower()
    assert "earlier run" not in told


def test_model_of_an_earlier_run_is_not_taken_for_that_of_this_one(toy, adapted, tmp_path, capsys):
    shutil.copytree(toy / "whole" / "model", tmp_path / "out" / "model")
    assert main(arguments(toy, toy / "noise", tmp_path / "out", "--quiet")) == 0
    told = capsys.readouterr().out
    assert "has the model of an earlier run" in " ".join(told.split())
    assert files(tmp_path / "out" / "model") == adapted
    assert main(arguments(toy, toy / "noise", tmp_path / "out", "--quiet", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["directory"], found["earlier"]) == (None, str(tmp_path / "out" / "model"))


def test_same_seed_same_model(toy, adapted, tmp_path):
    assert main(arguments(toy, toy / "jargon", tmp_path / "again", "--quiet")) == 0
    assert files(tmp_path / "again" / "model") == adapted
    assert main(arguments(toy, toy / "jargon", tmp_path / "other", "--quiet", "--seed", "1")) == 0
    assert files(tmp_path / "other" / "model")["weights.assay"] != adapted["weights.assay"]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param("whole-", 1, marks=pytest.mark.nightly),
        pytest.param("part-", 1, marks=pytest.mark.nightly),
        pytest.param("adapted-", 1, marks=pytest.mark.nightly),
        pytest.param("weights", 1, marks=pytest.mark.nightly),
    ],
)
def test_killed_and_begun_again_it_makes_the_same_model(toy, adapted, tmp_path, name, number):
    command = arguments(toy, toy / "jargon", tmp_path / "out", "--quiet")
    killing = [sys.executable, "-m", "tests.training.killing", name, str(number), *command]
    ended = subprocess.run(killing, capture_output=True, text=True, timeout=WATCHDOG, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not (tmp_path / "out" / "model").exists()
    assert main(command) == 0
    assert files(tmp_path / "out" / "model") == adapted


def test_held_out_files_are_never_learned_from(toy, adapted, tmp_path):
    """Say something else in them, and touch them together with a file that is learned from: nothing changes."""
    changed = shutil.copytree(toy / "jargon", tmp_path / "jargon")
    held = hold_out_files([path.name for path in changed.glob("*.py")], HoldOutFiles(), seed=0)
    for name in sorted(held):
        text = jargon_file(int(name.removeprefix("part").removesuffix(".py")), JARGON)
        (changed / name).write_text(text.replace(" with a ", " beside any possible "))
    git(changed, "commit", "-q", "-a", "-m", "Speak more clearly about everything")
    learned = next(path for path in sorted(changed.glob("*.py")) if path.name not in held)
    (changed / min(held)).write_text("# Nothing is left of it.\n" + (changed / min(held)).read_text())
    plain = learned.read_text()
    for text in ("# Something unheard of stands here.\n" + plain, plain):
        learned.write_text(text)
        (changed / min(held)).write_text((changed / min(held)).read_text() + "\n")
        git(changed, "commit", "-q", "-a", "-m", "Watch the unheard grommet closely")
    assert main(arguments(toy, changed, tmp_path / "out", "--quiet")) == 0
    found = files(tmp_path / "out" / "model")
    assert found["weights.assay"] == adapted["weights.assay"]
    assert found["vocabulary.txt"] == adapted["vocabulary.txt"]
    assert found["model.json"] != adapted["model.json"]


def test_held_out_files_are_drawn_by_path_and_leave_enough_to_learn_from():
    paths = [f"source/file{number}.py" for number in range(400)]
    held = hold_out_files(paths, HoldOutFiles(), seed=3)
    assert held == hold_out_files(reversed(paths), HoldOutFiles(), seed=3)
    assert held != hold_out_files(paths, HoldOutFiles(), seed=4)
    assert len(held) == 100
    assert len(hold_out_files(paths[:20], HoldOutFiles(), seed=3)) == 10


def test_score_is_the_one_of_a_search(toy):
    parent = load_base_model(toy / "parent" / "model")
    shard = make_shard("toy/one", [({"remov": 1.0, "seed": 1.0}, {"source": 3.0, "gwint": 1.0, "label": 2.0})] * 3)
    shard = replace(shard, words=tuple(word_terms(word)[0] for word in shard.words))
    start = add_terms(parent, new_terms(parent, shard, AdaptConfig().terms))
    table, size = start.table, len(start.vocabulary)
    assert size == len(parent.terms) + 1
    pairs = encode([shard], start.vocabulary, HeldOutConfig(share=0.0))
    with limit_threads(1) as products:
        code = pool(code_matrix(pairs, np.array([0]), size), table.said, table.vectors, products).unit
        query = pool(as_matrix(pairs.query, size), table.asked, table.vectors, products).unit
    search = StaticEmbedder(parent.model)
    assert np.allclose(code, search.embed(["source source source label label gwint, source"], "code"), atol=1e-6)
    assert np.allclose(query[:1], search.embed(["remove the seeds"], "query"), atol=1e-6)


def test_old_model_is_measured_as_it_is(toy):
    """New words begin as nothing, so a start that was not moved finds what the model finds."""
    parent = load_base_model(toy / "parent" / "model")
    pairs = [({"gwint": 1.0, "remov": 1.0}, {"plim": 1.0, "plant": float(n), "label": 2.0}) for n in range(1, 7)]
    shard = make_shard("toy/one", pairs)
    start = add_terms(parent, ("gwint", "plim"))
    assert len(start.vocabulary) == len(parent.terms) + 2
    whole = encode([shard], start.vocabulary, HeldOutConfig(share=0.0))
    nothing = encode([make_shard("toy/two", [({"seed": 1.0}, {"seed": 1.0})])], start.vocabulary, HeldOutConfig(0.0))
    asked = find_questions(whole, {0, 1}, nothing)
    with limit_threads(1) as products:
        one, other = grade(asked, start.table, products), grade(asked, blend(start.table, start.table, 0.5), products)
    assert np.array_equal(one, other)


def test_what_was_learned_word_for_word_is_no_question(toy):
    parent = load_base_model(toy / "parent" / "model")
    start = add_terms(parent, ())
    pairs = [({"remov": 1.0}, {"plant": 1.0}), ({"find": 1.0}, {"label": 1.0})]
    whole = encode([make_shard("toy/one", pairs)], start.vocabulary, HeldOutConfig(0.0))
    learned = encode([make_shard("toy/two", pairs[:1], seed=1)], start.vocabulary, HeldOutConfig(0.0))
    assert find_questions(whole, {0}, learned).asked.tolist() == [1]


def test_grade_counts_wrong_answers_that_come_first(toy):
    start = add_terms(load_base_model(toy / "parent" / "model"), ())
    row = {term: place for place, term in enumerate(start.vocabulary.terms)}
    vectors = np.zeros((len(row), 2), np.float32)
    for term, vector in {"remov": (1, 0), "plant": (1, 1), "label": (1, 0.1), "collect": (0, 1)}.items():
        vectors[row[term]] = vector
    table = EmbeddingTable(vectors, np.zeros(len(row), np.float32), np.zeros(len(row), np.float32))
    pairs = [({"remov": 1.0}, {"plant": 1.0}), ({"find": 1.0}, {"label": 1.0}), ({"count": 1.0}, {"collect": 1.0})]
    whole = encode([make_shard("toy/one", pairs)], start.vocabulary, HeldOutConfig(0.0))
    nothing = encode([make_shard("toy/two", [({"seed": 1.0}, {"seed": 1.0})])], start.vocabulary, HeldOutConfig(0.0))
    with limit_threads(1) as products:
        found = grade(find_questions(whole, {0}, nothing), table, products)
    assert found[0] == pytest.approx(1 / np.log2(3))


def test_bad_input_is_refused_with_a_way_out(toy, tmp_path, capsys):
    def failed(*words: str) -> str:
        assert main(list(words)) == 2
        return capsys.readouterr().err

    out = str(tmp_path / "out")
    (tmp_path / "empty").mkdir()
    assert "not a git repository" in failed(*arguments(toy, tmp_path / "empty", Path(out)))
    assert "not a git repository" in failed(*arguments(toy, tmp_path / "none", Path(out)))
    make_jargon(tmp_path / "small", JARGON, files=5)
    assert "files with documentation comments, got 5" in failed(*arguments(toy, tmp_path / "small", Path(out)))
    assert "--adapt" in failed("train", str(toy), "--adapt", str(toy / "jargon"), "--out", out)
    assert "--from requires --adapt" in failed("train", str(toy), "--from", str(toy), "--out", out)
    assert "expected a directory of Git repositories" in failed("train", "--out", out)
    assert "no model found" in failed("train", "--adapt", str(toy / "jargon"), "--from", str(tmp_path), "--out", out)
    assert "--workers cannot be used" in failed(*arguments(toy, toy / "jargon", Path(out), "--workers", "2"))
    assert "--exclude-corpora" in failed(*arguments(toy, toy / "jargon", Path(out), "--exclude-corpora", "x"))
    (tmp_path / "bad.toml").write_text("[learning]\nstep = 1\n")
    told = failed("train", "--adapt", str(toy / "jargon"), "--recipe", str(tmp_path / "bad.toml"), "--out", out)
    assert "bad.toml:2" in told
    other = shutil.copytree(toy / "parent" / "model", tmp_path / "model")
    (other / "vocabulary.txt").write_text("one\n")
    told = failed("train", "--adapt", str(toy / "jargon"), "--from", str(other), "--out", out)
    assert "does not belong" in told
    assert not (tmp_path / "out" / "model").exists()
