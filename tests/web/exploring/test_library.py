"""Which runs are found, and under which names."""

import os
import shutil

import pytest

from assay.errors import ConfigError
from assay.web.exploring.library import Library


def test_links_lead_nowhere_and_depth_is_bounded(runs, tmp_path):
    (tmp_path / "inside").mkdir()
    os.symlink(runs / "before", tmp_path / "inside" / "link")
    os.symlink(tmp_path, tmp_path / "inside" / "loop")
    deep = tmp_path / "a/b/c/d"
    shutil.copytree(runs / "before", deep)
    shutil.copytree(runs / "before", tmp_path / ".hidden")
    assert Library([tmp_path]).scan() == ()
    assert [one.name for one in Library([tmp_path / "a"]).scan()] == ["b/c/d"]
    assert [one.name for one in Library([deep]).scan()] == ["d"]


def test_folder_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match="no such folder"):
        Library([tmp_path / "nowhere"])
    (tmp_path / "gold.yaml").write_text("assay: 1\n")
    with pytest.raises(ConfigError, match="is a file"):
        Library([tmp_path / "gold.yaml"])


def test_runs_of_several_folders_are_told_apart(runs):
    names = {one.name for one in Library([runs, runs / "deep"]).scan()}
    assert names == {f"{runs.name}/before", f"{runs.name}/deep/after"}, "the same folder is listed once"
