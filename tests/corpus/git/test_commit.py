from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec, read_text
from assay.errors import CorpusError, SetupError
from assay.types import Corpus, CorpusSpec
from tests.corpus.conftest import git, paths, reasons, repository, write


def _open(tmp_path: Path, value: str, rev: str | None = None, **options: str) -> Corpus:
    return open_corpus(CorpusSpec("git", value, rev, **options), base=tmp_path, cache=tmp_path / "cache")  # type: ignore[arg-type]


def _two_commits(tmp_path: Path) -> tuple[str, str]:
    first = repository(tmp_path / "r", {"a.py": "one\n", "src/b.py": "b\n"})
    git(tmp_path / "r", "tag", "v1")
    write(tmp_path / "r", {"a.py": "two\n"})
    git(tmp_path / "r", "commit", "--quiet", "-am", "two")
    return first, git(tmp_path / "r", "rev-parse", "HEAD")


@pytest.mark.parametrize("remote", [False, True])
def test_git_opens_any_name_of_a_commit(remote: bool, tmp_path: Path) -> None:
    first, second = _two_commits(tmp_path)
    value = f"file://{tmp_path}/r" if remote else "r"
    for rev, commit in [
        ("v1", first),
        (first, first),
        (first[:9], first),
        ("HEAD~1", first),
        ("main", second),
        (None, second),
    ]:
        corpus = _open(tmp_path, value, rev)
        assert corpus.revision == commit, rev
        assert read_text(corpus, "a.py") == ("one\n" if commit == first else "two\n")
    assert paths(_open(tmp_path, value, "v1", root="src")) == ["b.py"]
    assert parse_spec(f"git:{value}@v1").rev == "v1"


def test_git_does_not_touch_the_work_tree(tmp_path: Path) -> None:
    first, _ = _two_commits(tmp_path)
    write(tmp_path / "r", {"a.py": "dirty\n", "new.py": "1"})
    before = {path: path.stat().st_mtime_ns for path in sorted((tmp_path / "r").rglob("*"))}
    corpus = _open(tmp_path, "r", first)
    assert paths(corpus) == ["a.py", "src/b.py"]
    assert {path: path.stat().st_mtime_ns for path in sorted((tmp_path / "r").rglob("*"))} == before


def test_git_runs_no_hook_no_filter_and_no_submodule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "ran"
    script = write(tmp_path / "s", {"run": f"#!/bin/sh\ntouch {marker}\ncat\n"}) / "run"
    script.chmod(0o755)
    global_config = tmp_path / "gitconfig"
    global_config.write_text(
        f'[filter "evil"]\n\tsmudge = {script}\n\trequired = true\n[core]\n\thooksPath = {script.parent}\n'
    )
    (script.parent / "post-checkout").symlink_to("run")
    (script.parent / "reference-transaction").symlink_to("run")
    repository(tmp_path / "sub", {"s.py": "1"})
    root = tmp_path / "r"
    repository(
        root,
        {
            ".gitattributes": "*.py filter=evil\nb.md export-ignore\n*.txt text eol=crlf\n",
            "a.py": "1",
            "b.md": "1",
            "c.txt": "x\n",
        },
    )
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"file://{tmp_path}/sub", "mod")
    git(root, "commit", "--quiet", "-m", "sub")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(global_config))
    for value in ("r", f"file://{root}"):
        corpus = _open(tmp_path, value)
        assert paths(corpus) == [".gitattributes", ".gitmodules", "a.py", "b.md", "c.txt"]
        assert read_text(corpus, "c.txt") == "x\n"
        assert any("mod" in note and "submodules" in note for note in corpus.notes)
    assert _open(tmp_path, f"file://{root}", "HEAD~1").files  # this one updates refs, so a hook would be asked
    assert not marker.exists()


@pytest.mark.parametrize(
    "value", ["ext::sh -c touch% {m}", "-c", "--upload-pack=touch {m}", "foo::bar", "ftp://h/x", "fd::7"]
)
def test_git_refuses_urls_that_run_something(value: str, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    with pytest.raises(CorpusError) as caught:
        _open(tmp_path, value.format(m=marker), "main")
    assert caught.value.hint
    assert not marker.exists()


@pytest.mark.parametrize("rev", ["--upload-pack=x", "-x", "a b", "a..b", "main:a.py", "HEAD@{1}", ""])
def test_git_refuses_revisions_that_are_none(rev: str, tmp_path: Path) -> None:
    repository(tmp_path / "r", {"a.py": "1"})
    if rev:
        for value in ("r", f"file://{tmp_path}/r"):
            with pytest.raises(CorpusError, match="invalid revision"):
                _open(tmp_path, value, rev)
    else:
        assert _open(tmp_path, "r", rev).files


def test_git_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path / "r", {"a.py": "1"})
    (tmp_path / "plain").mkdir()
    for value, rev, words in [
        ("r", "nope", "revision 'nope' not found"),
        ("r", "0" * 40, "not found"),
        (f"file://{tmp_path}/r", "nope", "revision 'nope' not found"),
        (f"file://{tmp_path}/r", "f" * 40, "not found"),
        (f"file://{tmp_path}/none", "main", "not a readable git repository"),
        ("none", "main", "does not exist"),
    ]:
        with pytest.raises(CorpusError, match=words) as caught:
            _open(tmp_path, value, rev)
        assert caught.value.hint
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(CorpusError, match="cannot read this repository"):
        _open(tmp_path, "plain", "main")
    with pytest.raises(SetupError, match="cannot fetch"):
        _open(tmp_path, "http://127.0.0.1:9/x.git", "main")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SetupError, match="git is not installed") as failure:
        _open(tmp_path, "r", "main")
    assert failure.value.hint


def test_git_commit_needs_no_network_twice(tmp_path: Path) -> None:
    first, _ = _two_commits(tmp_path)
    url = f"file://{tmp_path}/r"
    fresh = _open(tmp_path, url, first)
    (tmp_path / "r").rename(tmp_path / "moved")
    assert _open(tmp_path, url, first) == fresh
    shutil.rmtree(tmp_path / "cache" / "trees")
    assert _open(tmp_path, url, first) == fresh, "the mirror still has it"
    with pytest.raises(CorpusError, match="not a readable git repository"):
        _open(tmp_path, url, "main")


def test_git_branch_is_asked_for_again_and_an_old_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = _two_commits(tmp_path)
    url = f"file://{tmp_path}/r"
    assert _open(tmp_path, url, "main").revision == second
    git(tmp_path / "r", "commit", "--quiet", "--allow-empty", "-m", "three")
    third = git(tmp_path / "r", "rev-parse", "HEAD")
    assert _open(tmp_path, url, "main").revision == third

    def offline(*arguments: object) -> None:
        raise SetupError("no network today")

    monkeypatch.setattr("assay.corpus.git.fetch_commit", offline)
    old = _open(tmp_path, url, "main")
    assert old.revision == third
    assert any("no network today" in note and third in note for note in old.notes)
    with pytest.raises(SetupError):
        _open(tmp_path, url, "v1")


def test_git_keeps_links_of_a_commit_but_does_not_leave_it(tmp_path: Path) -> None:
    root = write(tmp_path / "r", {"a.py": "1"})
    (root / "out").symlink_to("/etc")
    (root / "up.py").symlink_to("../secret.py")
    (root / "in.py").symlink_to("a.py")
    write(tmp_path, {"secret.py": "1"})
    repository(root, {})
    corpus = _open(tmp_path, "r")
    assert paths(corpus) == ["a.py"]
    assert reasons(corpus) == {"out": "outside", "up.py": "outside"}


def test_git_refuses_a_tree_that_climbs_out(tmp_path: Path) -> None:
    """A tree object made by hand, as an attacker would."""
    repository(tmp_path / "r", {"a.py": "1"})
    blob = git(tmp_path / "r", "hash-object", "-w", "a.py")
    for name in (b"..", b"..\\x"):
        entry = b"100644 " + name + b"\0" + bytes.fromhex(blob)
        made = subprocess.run(
            ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
            cwd=tmp_path / "r", input=entry, capture_output=True, check=True,
        )  # fmt: skip
        commit = git(tmp_path / "r", "commit-tree", made.stdout.decode().strip(), "-m", "evil")
        with pytest.raises(CorpusError, match="outside the archive"):
            _open(tmp_path, "r", commit)
    assert not list((tmp_path / "cache" / ".tmp").iterdir())


def test_git_ignores_replaced_objects(tmp_path: Path) -> None:
    first, second = _two_commits(tmp_path)
    git(tmp_path / "r", "replace", first, second)
    assert read_text(_open(tmp_path, "r", first), "a.py") == "one\n"


def test_git_remote_is_never_confused_with_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("r#1", "r#2", "r?1", "r?2"):
        repository(tmp_path / name, {"a.py": name})
    _open(tmp_path, f"file://{tmp_path}/r#1", "main")
    _open(tmp_path, f"file://{tmp_path}/r?1", "main")

    def offline(*arguments: object) -> None:
        raise SetupError("no network today")

    monkeypatch.setattr("assay.corpus.git.fetch_commit", offline)
    for name in ("r#1", "r?1"):
        assert read_text(_open(tmp_path, f"file://{tmp_path}/{name}", "main"), "a.py") == name
    for name in ("r#2", "r?2"):
        with pytest.raises(SetupError):
            _open(tmp_path, f"file://{tmp_path}/{name}", "main")


def test_git_shows_and_stores_no_secret_of_a_url(tmp_path: Path) -> None:
    repository(tmp_path / "r?token=S3CRET", {"a.py": "1"})
    _open(tmp_path, f"file://{tmp_path}/r?token=S3CRET", "main")
    (ref,) = (tmp_path / "cache" / "refs").glob("*/*")
    assert "S3CRET" not in ref.read_text()
    for value in ("http://user:S3CRET@127.0.0.1:9/x.git?token=S3CRET", "ftp://user:S3CRET@h/x"):
        with pytest.raises((CorpusError, SetupError)) as caught:
            _open(tmp_path, value, "main")
        assert "S3CRET" not in str(caught.value)
