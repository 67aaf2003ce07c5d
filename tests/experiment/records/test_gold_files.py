"""A run names its gold files from where one stands, and finds them from its own folder."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assay.experiment import read_run, write_run
from assay.types import CorpusSpec, GoldSet, Run, Suite


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A run that was made in repo/, with its folder beside that."""
    (tmp_path / "repo/sub").mkdir(parents=True)
    (tmp_path / "repo/sub/gold.yaml").touch()
    monkeypatch.chdir(tmp_path / "repo")
    run = Run(Suite((GoldSet("g", CorpusSpec("path", "."), (), source="sub/gold.yaml"),)), 5, ())
    write_run(run, Path("../runs/a"))
    return run


def source(folder):
    return read_run(folder).suite.golds[0].source


def test_run_is_read_as_it_was_made_where_it_was_made(made):
    assert read_run(Path("../runs/a")) == made


def test_gold_file_is_found_from_wherever_one_stands(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source(Path("runs/a")) == "repo/sub/gold.yaml"
    (tmp_path / "other/sub").mkdir(parents=True)
    (tmp_path / "other/sub/gold.yaml").touch()
    monkeypatch.chdir(tmp_path / "other")
    assert source(Path("../runs/a")) == str(tmp_path / "repo/sub/gold.yaml")


def test_way_moves_with_both_and_names_no_machine(made, tmp_path, monkeypatch):
    ways = json.loads((tmp_path / "runs/a/run.json").read_text())["gold_files"]
    assert ways == {"g": "../../repo/sub/gold.yaml"}
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    shutil.move("repo", "elsewhere/repo")
    shutil.move("runs", "elsewhere/runs")
    assert source(Path("elsewhere/runs/a")) == "elsewhere/repo/sub/gold.yaml"


def test_same_run_has_the_same_bytes_wherever_one_stood(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = replace(made.suite.golds[0], source="repo/sub/gold.yaml")
    write_run(replace(made, suite=Suite((gold,))), tmp_path / "runs/b")
    one, other = (json.loads((tmp_path / "runs" / name / "run.json").read_text()) for name in "ab")
    assert one["gold_files"] == other["gold_files"]


def test_way_leads_out_of_a_folder_that_is_a_link(made, tmp_path):
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "repo/link").symlink_to(tmp_path / "far/away")
    write_run(made, Path("link/a"))
    (tmp_path / "other").mkdir()
    assert source(tmp_path / "far/away/a") == "sub/gold.yaml"
    assert json.loads(Path("link/a/run.json").read_text())["gold_files"] == {"g": "../../../repo/sub/gold.yaml"}


@pytest.mark.parametrize("named", [None, "nowhere.yaml", "/whole/path.yaml"])
def test_file_that_is_not_here_or_has_a_whole_path_needs_no_way(made, tmp_path, named):
    gold = replace(made.suite.golds[0], source=named)
    write_run(replace(made, suite=Suite((gold,))), tmp_path / "runs/b")
    assert "gold_files" not in json.loads((tmp_path / "runs/b/run.json").read_text())
    assert source(tmp_path / "runs/b") == named


def test_way_that_leads_nowhere_now_leaves_the_file_as_it_was_named(made, tmp_path):
    shutil.move(tmp_path / "runs/a", tmp_path / "a")
    assert source(tmp_path / "a") == "sub/gold.yaml"
