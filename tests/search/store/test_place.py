from __future__ import annotations

from pathlib import Path

from assay.search.building import index_directory
from assay.store.store import Store
from tests.corpus.conftest import git, repository


def test_place_is_the_environments_else_the_caches(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ASSAY_INDEX_DIR", raising=False)
    assert Store().kind_dir("index") == tmp_path / "cache" / "index"
    monkeypatch.setenv("ASSAY_INDEX_DIR", "~/indexes")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store().kind_dir("index") == tmp_path / "indexes"
    assert index_directory(tmp_path, "s").parent == tmp_path / "indexes"


def test_place_is_one_for_each_real_root_and_shape(tmp_path) -> None:
    for name in ("one", "deep/one", "My Repo!"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("one")
    one = index_directory(tmp_path / "one", "s")
    assert index_directory(tmp_path / "link", "s") == one
    assert index_directory(tmp_path / "deep" / ".." / "one", "s") == one
    others = {one, index_directory(tmp_path / "one", "t"), index_directory(tmp_path / "deep/one", "s")}
    assert len(others) == 3
    assert one.name.startswith("one-")
    assert index_directory(tmp_path / "My Repo!", "s").name.startswith("my-repo-")
    assert index_directory(Path("/"), "s").name.startswith("root-")
    assert len(index_directory(tmp_path / ("x" * 200), "s").name) < 80


def test_place_of_two_work_trees_is_two_places(tmp_path, monkeypatch) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    repository(tmp_path / "main", {"a.py": "1"})
    git(tmp_path / "main", "worktree", "add", "--quiet", str(tmp_path / "side"))
    assert index_directory(tmp_path / "main", "s") != index_directory(tmp_path / "side", "s")
