from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.conftest import Opener, git, paths, repository, write


def test_walk_is_not_led_astray_by_the_variables_of_a_hook(
    tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path / "other", {"z.py": "1"})
    repository(tmp_path / "r", {".gitignore": "*.log\n", "a.log": "1"}, force=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / ".git" / "index"))
    assert paths(opened(tmp_path / "r")) == [".gitignore", "a.log"]


def test_walk_runs_no_program_a_repository_names(tmp_path: Path, opened: Opener) -> None:
    root, marker = tmp_path / "r", tmp_path / "ran"
    repository(root, {"a.py": "1"})
    script = write(tmp_path / "s", {"hook": f"#!/bin/sh\ntouch {marker}\n"}) / "hook"
    script.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(script))
    assert paths(opened(root)) == ["a.py"]
    assert not marker.exists()


def test_walk_without_git_still_works_and_says_so(
    tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path / "r", {".gitignore": "*.log\n", "a.py": "1"})
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    corpus = opened(tmp_path / "r")
    assert paths(corpus) == [".gitignore", "a.py"]
    assert any("git is not installed" in note for note in corpus.notes)
