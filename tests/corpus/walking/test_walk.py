from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.corpus import open_corpus, read_bytes, read_text
from assay.corpus.contents import WalkConfig
from assay.corpus.walk import ALWAYS, AMBIGUOUS, BUILD
from assay.errors import CorpusError
from assay.types import CorpusSpec
from tests.corpus.conftest import Opener, git, paths, reasons, repository, write


def test_walk_keeps_ambiguous_folders_unless_git_knows_better(tmp_path: Path, opened: Opener) -> None:
    names = sorted(AMBIGUOUS)
    files = {"a.py": "1"} | {f"{name}/b.py": "1" for name in names}
    assert paths(opened(write(tmp_path / "plain", files))) == sorted(files)
    repository(tmp_path / "tracked", files)
    new = {f"{name}/{path}": "1" for name in names for path in ("new.py", "sub/new.py")}
    write(tmp_path / "tracked", new)
    assert paths(opened(tmp_path / "tracked")) == sorted([*files, *new])
    repository(tmp_path / "untracked", {"a.py": "1"})
    corpus = opened(write(tmp_path / "untracked", files))
    assert paths(corpus) == ["a.py"]
    assert reasons(corpus) == {f"{name}/": "built-in" for name in names}


def test_walk_keeps_ambiguous_folders_of_a_repository_that_tracks_nothing_yet(tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {"vendor/tool": "#!/bin/sh\n"})
    git(root, "init", "--quiet")
    assert paths(opened(root)) == ["vendor/tool"]


def test_walk_skips_build_directories_unless_git_tracks_them(tmp_path: Path, opened: Opener) -> None:
    built = {f"x/{name}/b.py": "1" for name in BUILD}
    corpus = opened(write(tmp_path / "plain", {"a.py": "1"} | built))
    assert paths(corpus) == ["a.py"]
    assert reasons(corpus) == {f"x/{name}/": "built-in" for name in BUILD}
    repository(tmp_path / "tracked", {"a.py": "1"} | built)
    assert paths(opened(tmp_path / "tracked")) == sorted(["a.py", *built])
    write(tmp_path / "plain", {".assayignore": "!bin/\n"})
    assert "x/bin/b.py" in paths(opened(tmp_path / "plain"))
    assert paths(opened(tmp_path / "plain" / "x" / "dist")) == ["b.py"]


def test_walk_leaves_folders_of_tools_out_unless_tracked(tmp_path: Path, opened: Opener) -> None:
    names = sorted(ALWAYS - {".git"})
    corpus = opened(write(tmp_path / "plain", {"a.py": "1"} | {f"x/{name}/b.py": "1" for name in names}))
    assert paths(corpus) == ["a.py"]
    assert reasons(corpus) == {f"x/{name}/": "built-in" for name in names}
    tracked = {"a.py": "1"} | {f"{name}/b.py": "1" for name in names}
    repository(tmp_path / "tracked", tracked, force=True)
    write(tmp_path / "tracked", {f"{name}/untracked.py": "1" for name in names})
    assert paths(opened(tmp_path / "tracked")) == sorted(tracked)


def test_walk_leaves_out_environments_and_caches_by_their_marks(tmp_path: Path, opened: Opener) -> None:
    tag = "Signature: 8a477f597d28d172789f06886806bc55\n"
    files = {
        "a.py": "1",
        "my/pyvenv.cfg": "x",
        "my/b.py": "1",
        "c/CACHEDIR.TAG": tag,
        "c/d.py": "1",
        "e/CACHEDIR.TAG": "no",
    }
    corpus = opened(write(tmp_path / "r", files))
    assert paths(corpus) == ["a.py", "e/CACHEDIR.TAG"]
    assert reasons(corpus) == {"c/": "built-in", "my/": "built-in"}
    assert paths(opened(tmp_path / "r" / "my")) == ["b.py", "pyvenv.cfg"]


def test_walk_keeps_tracked_files_whatever_the_rules(tmp_path: Path, opened: Opener) -> None:
    repository(tmp_path / "r", {".gitignore": "*.log\nbuild/\n", "a.log": "1", "build/b.py": "1"}, force=True)
    write(tmp_path / "r", {"new.log": "1", "build/new.py": "1"})
    assert paths(opened(tmp_path / "r")) == [".gitignore", "a.log", "build/b.py"]


def test_walk_of_a_clean_checkout_equals_its_commit(tmp_path: Path, opened: Opener) -> None:
    files = {
        ".gitignore": "*.x\nout/\n",
        "a.py": "1",
        "out/b.py": "2",
        "node_modules/c.js": "3",
        "d.x": "4",
        "e/.gitignore": "f",
    }
    repository(tmp_path / "r", files, force=True)
    folder = opened(tmp_path / "r")
    commit = open_corpus(CorpusSpec("git", str(tmp_path / "r")), cache=tmp_path / "cache")
    assert paths(folder) == paths(commit) == sorted(files)
    assert folder.digest == commit.digest


def test_walk_gives_nested_repositories_their_own_rules_and_skips_second_work_trees(
    tmp_path: Path, opened: Opener
) -> None:
    root = tmp_path / "r"
    repository(root, {".gitignore": "*.log\n", "a.py": "1"})
    git(root, "worktree", "add", "--quiet", "--detach", str(root / "wt"))
    repository(root / "inner", {".gitignore": "*.tmp\n", "b.log": "1", "b.tmp": "1", "bin/c": "1"})
    corpus = opened(root)
    assert paths(corpus) == [".gitignore", "a.py", "inner/.gitignore", "inner/b.log", "inner/bin/c"]
    assert reasons(corpus)["wt/"] == "worktree"


def test_walk_follows_links_once(tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {"real/a.py": "1", "real/sub/b.py": "2"})
    (root / "again").symlink_to("real")
    (root / "alias.py").symlink_to("real/a.py")
    (root / "real" / "loop").symlink_to("..")
    (root / "self").symlink_to("self")
    (root / "gone").symlink_to("nowhere")
    corpus = opened(root)
    assert paths(corpus) == ["real/a.py", "real/sub/b.py"]
    assert reasons(corpus) == {"gone": "broken link", "self": "broken link"}


def test_walk_shows_a_linked_file_under_its_link_when_its_real_place_is_left_out(
    tmp_path: Path, opened: Opener
) -> None:
    root = write(tmp_path / "r", {".gitignore": "hidden/\n", "hidden/a.py": "1", "hidden/d/b.py": "2"})
    (root / "z").symlink_to("hidden")
    (root / "y.py").symlink_to("hidden/a.py")
    assert paths(opened(root)) == [".gitignore", "y.py", "z/d/b.py"]


def test_walk_skips_links_that_leave_the_root(tmp_path: Path, opened: Opener) -> None:
    secret = write(tmp_path / "secret", {"key.py": "1"})
    root = write(tmp_path / "r", {"a.py": "1", "node_modules/m.js": "1", ".git/hooks/h": "1"})
    (root / "out").symlink_to(secret)
    (root / "key.py").symlink_to(secret / "key.py")
    (root / "up").symlink_to("../secret")
    (root / "dep").symlink_to("node_modules")
    (root / "hooks").symlink_to(".git/hooks")
    (root / "step").symlink_to("step2")
    (root / "step2").symlink_to("../secret/key.py")
    corpus = opened(root)
    assert paths(corpus) == ["a.py"]
    told = reasons(corpus)
    assert {name for name, reason in told.items() if reason == "outside"} == {"key.py", "out", "step", "step2", "up"}
    assert told["dep"] == told["hooks"] == "built-in"


def test_walk_reports_binaries_and_oversized_files(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "1",
        "empty.py": "",
        "nul.py": b"x = 1\n\0",
        "doc.pdf": b"%PDF-1.4 text",
        "utf16.txt": "\ufeffhi".encode("utf-16-le"),
        "late.py": b"#" * 9000 + b"\0",
        "exact.py": b"#" * 10_000,
        "big.py": b"#" * 10_001,
    }
    root = write(tmp_path / "r", files)
    os.mkfifo(root / "pipe")
    corpus = open_corpus(CorpusSpec("path", str(root)), cache=tmp_path / "c", walking=WalkConfig(max_bytes=10_000))
    assert paths(corpus) == ["a.py", "empty.py", "exact.py", "late.py"]
    assert reasons(corpus) == {
        "big.py": "oversized",
        "doc.pdf": "binary",
        "nul.py": "binary",
        "pipe": "special",
        "utf16.txt": "binary",
    }
    assert all(skipped.detail for skipped in corpus.skipped)


def test_walk_keeps_files_that_are_not_utf8_and_says_so(tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {"a.py": "caf\u00e9".encode("latin-1"), "b.py": b"\xef\xbb\xbfx = 1\r\n", "c.py": "é"})
    corpus = opened(root)
    assert [note for note in corpus.notes if "Latin-1" in note] == ["not UTF-8, read as Latin-1: a.py"]
    assert read_text(corpus, "a.py") == "café"
    assert read_text(corpus, "b.py") == "x = 1\r\n"
    assert read_bytes(corpus, "b.py").startswith(b"\xef\xbb\xbf")


def test_walk_reports_names_that_are_not_utf8(tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {"a.py": "1"})
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.py")).write_text("1")
    corpus = opened(root)
    assert paths(corpus) == ["a.py"]
    assert reasons(corpus) == {"\\udcff.py": "name"}


def test_walk_reports_what_cannot_be_read(tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "r", {"a.py": "1", "b.py": "1"})

    def refuse(real: str, walking: WalkConfig) -> None:
        raise PermissionError(13, "Permission denied", real)

    monkeypatch.setattr("assay.corpus.contents.examine", refuse)
    with pytest.raises(CorpusError, match="empty; skipped: 2 unreadable"):
        opened(root)


def test_walk_leaves_out_a_link_that_vanishes_meanwhile(
    tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "r", {"a.py": "1"})
    (root / "lock").symlink_to("nowhere")

    def gone(real: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", real)

    monkeypatch.setattr("assay.corpus.walk.os.readlink", gone)
    corpus = opened(root)
    assert paths(corpus) == ["a.py"]
    assert reasons(corpus) == {"lock": "unreadable"}


def test_walk_leaves_out_a_file_and_a_folder_that_vanish_meanwhile(
    tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.corpus import walk

    root = write(tmp_path / "r", {"a.py": "1", "b.py": "1", "sub/c.py": "1"})
    real = walk._Walker._find_exclusion

    def vanish(self: walk._Walker, frame: walk._Frame, path: str, name: str, folder: bool) -> object:
        if name == "a.py":
            (root / "a.py").unlink()
        if name == "sub":
            (root / "sub/c.py").unlink()
            (root / "sub").rmdir()
        return real(self, frame, path, name, folder)

    monkeypatch.setattr(walk._Walker, "_find_exclusion", vanish)
    corpus = opened(root)
    assert paths(corpus) == ["b.py"]
    assert reasons(corpus) == {"a.py": "unreadable", "sub/": "unreadable"}


def test_walk_leaves_out_a_name_that_the_system_says_nothing_of(
    tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.corpus import walk

    root = write(tmp_path / "r", {"a.py": "1", "b.py": "1"})
    real = walk._Walker._find_exclusion

    def fail(self: walk._Walker, frame: walk._Frame, path: str, name: str, folder: bool) -> object:
        if name == "a.py":
            raise OSError(116, "Stale file handle", path)
        return real(self, frame, path, name, folder)

    monkeypatch.setattr(walk._Walker, "_find_exclusion", fail)
    corpus = opened(root)
    assert paths(corpus) == ["b.py"]
    assert reasons(corpus) == {"a.py": "unreadable"}
