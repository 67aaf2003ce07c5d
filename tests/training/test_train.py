"""`assay train` as a user meets it, on three tiny repositories."""

import builtins
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.search.static import open_static
from assay.store.store import writer_lock
from tests.contracts.snapshot import shape
from tests.training.toy import RECIPE, THINGS, make_repository, make_toy
from tests.waiting import WATCHDOG


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    (folder / "recipe.toml").write_text(RECIPE)
    make_toy(folder / "repositories")
    return folder


@pytest.fixture(scope="module")
def model(toy) -> dict[str, bytes]:
    """What an undisturbed run makes."""
    return trained(toy, toy / "whole")


def arguments(toy: Path, out: Path, *more: str) -> list[str]:
    return ["train", str(toy / "repositories"), "--recipe", str(toy / "recipe.toml"), "--out", str(out), *more]


def trained(toy: Path, out: Path, *more: str) -> dict[str, bytes]:
    assert main([*arguments(toy, out, "--quiet", *more)]) == 0
    return {path.name: path.read_bytes() for path in sorted((out / "model").iterdir())}


def failed(capsys, *words: str) -> str:
    code = main(list(words))
    assert code == 2
    return capsys.readouterr().err


def test_same_repositories_same_model(toy, model, tmp_path):
    assert trained(toy, tmp_path / "again", "--workers", "1") == model
    assert trained(toy, tmp_path / "seeded", "--seed", "1")["weights.assay"] != model["weights.assay"]


def test_model_says_what_it_was_learned_from(model):
    manifest, about = json.loads(model["manifest.json"]), json.loads(model["model.json"])
    assert [one["repository"] for one in manifest["repositories"]] == [f"toy/{name}" for name in sorted(THINGS)]
    assert all(one["licence"] == "MIT" and len(one["commit"]) == 40 for one in manifest["repositories"])
    assert all(one["url"].startswith("https://github.com/toy/") for one in manifest["repositories"])
    assert about["settings"]["vectors"]["dimension"] == 8
    assert about["pairs"]["doc"] > 0
    assert [report["step"] for report in about["reports"]] == [4, 8, 12]
    assert b"MIT" in model["LICENCE.md"]


def test_a_search_can_read_the_model(toy, model):
    found = open_static(str(toy / "whole" / "model"))
    assert found.dimension == 8
    assert len(found.term) == len(model["vocabulary.txt"].split())
    assert len(found.source) > 0


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param("toy+harbour", 1, marks=pytest.mark.nightly),
        pytest.param("pairs-", 1, marks=pytest.mark.nightly),
        pytest.param("hard-", 1, marks=pytest.mark.nightly),
        pytest.param("vectors-", 1, marks=pytest.mark.nightly),
        ("vectors-", 3),
        pytest.param("translations-", 1, marks=pytest.mark.nightly),
        pytest.param("weights", 1, marks=pytest.mark.nightly),
    ],
)
def test_killed_and_begun_again_it_makes_the_same_model(toy, model, tmp_path, name, number):
    command = [sys.executable, "-m", "tests.training.killing", name, str(number), *arguments(toy, tmp_path / "out")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not (tmp_path / "out" / "model").exists()
    assert trained(toy, tmp_path / "out") == model
    assert not list((tmp_path / "out").rglob(".*"))


def test_what_is_done_is_not_done_again(toy, model, capsys):
    del model
    assert main(arguments(toy, toy / "whole")) == 0
    told = capsys.readouterr().err
    assert "step" not in told
    assert "vocabulary" not in told


PAIRS = {"commit": "int", "doc": "int", "heading": "int", "name": "int", "path": "int"}
GRADE = {
    "bare_first": "float",
    "bare_reciprocal": "float",
    "first": "float",
    "questions": "int",
    "reciprocal": "float",
}
REPORT = {"grade": GRADE, "loss": "float", "step": "int", "steps": "int", "temperature": "float"}
DOCUMENT = {
    "bytes": "int",
    "directory": "str",
    "identity": "str",
    "pairs": PAIRS,
    "reports": [REPORT],
    "repositories": "int",
    "schema": "str",
    "seconds": "float",
    "terms": "int",
    "translations": {"entries": "int", "terms": "int"},
    "windows": {"checked": {}, "not_checked": ["empty"]},
}


def test_progress_is_told_on_stderr_and_the_result_on_stdout(toy, tmp_path, capsys):
    assert main(arguments(toy, tmp_path / "out", "--json")) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert data["schema"] == "assay/train/2"
    assert data["reports"][-1]["step"] == 12
    assert shape(data) == DOCUMENT
    for told in ("mined 3/3", "vocabulary", "pairs", "hard negatives", "step 12/12", "translations", "model"):
        assert told in err


def test_excluded_repositories_are_not_learned_from(toy, tmp_path):
    (tmp_path / "never.txt").write_text("https://github.com/toy/garden\n")
    found = trained(toy, tmp_path / "out", "--exclude", str(tmp_path / "never.txt"))
    manifest = json.loads(found["manifest.json"])
    assert [one["repository"] for one in manifest["repositories"]] == ["toy/harbour", "toy/kitchen"]
    assert manifest["left_out"] == {"on the exclusion list": 1}
    head = rev_parse(toy / "repositories" / "toy+garden")
    assert manifest["windows"] == {"checked": {"toy/garden": head}, "not_checked": []}
    assert b"hedg" not in found["vocabulary.txt"]


def rev_parse(folder: Path) -> str:
    shown = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    return shown.stdout.strip()


def test_excluded_code_that_is_not_here_is_named_aloud(toy, tmp_path, capsys):
    (tmp_path / "never.txt").write_text("far/Away\nother/place\n")
    assert main(arguments(toy, tmp_path / "out", "--exclude", str(tmp_path / "never.txt"))) == 0
    out, err = capsys.readouterr()
    assert "not checked for copies: 2 excluded repositories" in " ".join(out.split())
    (told,) = [line for line in err.splitlines() if "not checked" in line]
    assert "far/Away, other/place" in told
    manifest = json.loads((tmp_path / "out" / "model" / "manifest.json").read_text())
    assert manifest["windows"] == {"checked": {}, "not_checked": ["far/Away", "other/place"]}


def test_code_copied_from_an_excluded_repository_is_not_learned_from(toy, tmp_path):
    repositories = tmp_path / "repositories"
    shutil.copytree(toy / "repositories", repositories)
    make_repository(repositories / "somebody+copy", THINGS["garden"])
    (tmp_path / "recipe.toml").write_text(RECIPE)
    (tmp_path / "never.txt").write_text("toy/garden\n")
    found = trained(tmp_path, tmp_path / "out", "--exclude", str(tmp_path / "never.txt"))
    assert b"hedg" not in found["vocabulary.txt"]


def test_code_of_excluded_corpora_is_not_learned_from(toy, tmp_path):
    make_repository(tmp_path / "corpora" / "somebody+garden", THINGS["garden"])
    found = trained(toy, tmp_path / "out", "--exclude-corpora", str(tmp_path / "corpora"))
    assert b"hedg" not in found["vocabulary.txt"]
    manifest = json.loads(found["manifest.json"])
    assert not any("garden" in one["repository"] for one in manifest["repositories"])
    assert list(manifest["windows"]["checked"]) == ["somebody/garden", "toy/garden"]


def test_only_permissive_repositories_are_learned_from(toy, tmp_path, capsys):
    make_repository(tmp_path / "repositories" / "toy+closed", THINGS["garden"], licence="All rights reserved.\n")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    told = failed(capsys, *arguments(tmp_path, tmp_path / "out"))
    assert "no pairs found" in told
    assert "permissive" in told
    assert not (tmp_path / "out" / "model").exists()


def test_a_repository_that_could_not_be_mined_stops_the_training(toy, tmp_path, capsys, monkeypatch):
    def broken(*_: object) -> None:
        raise MemoryError("too large")

    monkeypatch.setattr("assay.training.mining.mine_repository", broken)
    assert main(arguments(toy, tmp_path / "out")) == 4
    told = capsys.readouterr().err
    assert "toy/garden" in told
    assert "run the command again" in told
    assert not (tmp_path / "out" / "model").exists()


def test_two_trainings_do_not_share_a_folder(toy, tmp_path, capsys):
    with writer_lock(tmp_path / "out" / "work"):
        assert main(arguments(toy, tmp_path / "out")) == 4
    assert "in use" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_refused_before_mining(toy, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(arguments(toy, tmp_path / "file" / "out")) == 4
    assert "mined" not in capsys.readouterr().err


def test_bad_input_is_refused_with_a_way_out(toy, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert "no such directory" in failed(capsys, "train", str(tmp_path / "none"), "--out", str(tmp_path / "out"))
    assert "no git repository" in failed(capsys, "train", str(tmp_path / "empty"), "--out", str(tmp_path / "out"))
    (tmp_path / "bad.toml").write_text("[vectors]\nstep = 1\n")
    told = failed(capsys, "train", str(toy), "--out", str(tmp_path / "out"), "--recipe", str(tmp_path / "bad.toml"))
    assert "bad.toml:2" in told
    assert "'steps'" in told
    assert "--seed" in failed(capsys, *arguments(toy, tmp_path / "out", "--seed", "-1"))
    assert "--workers" in failed(capsys, *arguments(toy, tmp_path / "out", "--workers", "0"))
    assert not (tmp_path / "out" / "model").exists()


def test_missing_extra_says_how_to_get_it(toy, tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "threadpoolctl"]:
        monkeypatch.delitem(sys.modules, name)
    plain = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.partition(".")[0] == "threadpoolctl":
            raise ImportError(f"No module named {name!r}")
        return plain(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(builtins, "__import__", without)
    assert main(arguments(toy, tmp_path / "out")) == 4
    assert "pip install '.[train]'" in capsys.readouterr().err
