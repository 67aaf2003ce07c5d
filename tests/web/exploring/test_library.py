"""Which runs are found, and under which names."""

import os
import shutil

import pytest

from assay.cli.main import main
from tests.web.exploring.serving import exploring, listed


def names(*folders):
    with exploring(*folders) as client:
        return set(listed(client))


def test_links_lead_nowhere_and_depth_is_bounded(runs, tmp_path):
    (tmp_path / "inside").mkdir()
    os.symlink(runs / "before", tmp_path / "inside" / "link")
    os.symlink(tmp_path, tmp_path / "inside" / "loop")
    deep = tmp_path / "a/b/c/d"
    shutil.copytree(runs / "before", deep)
    shutil.copytree(runs / "before", tmp_path / ".hidden")
    assert names(tmp_path) == set()
    assert names(tmp_path / "a") == {"b/c/d"}
    assert names(deep) == {"d"}


@pytest.mark.parametrize(("name", "message"), [("nowhere", "no such directory"), ("gold.yaml", "got a file")])
def test_folder_must_be_there(tmp_path, capsys, name, message):
    (tmp_path / "gold.yaml").write_text("assay: 1\n")
    assert main(["serve", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_runs_of_several_folders_are_told_apart(runs):
    assert names(runs, runs / "deep") == {f"{runs.name}/before", f"{runs.name}/deep/after"}  # each is listed once
