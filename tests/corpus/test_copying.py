"""A copy holds the files that count, as they are, and nothing else."""

import subprocess

import pytest

from assay.corpus import open_corpus, parse_spec, read_bytes
from assay.corpus.opening import copy_corpus, directory_size
from assay.errors import CorpusError


@pytest.fixture
def corpus(tmp_path):
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes(b"x = 1\r\n")
    (root / "notes.md").write_text("# Notes\n")
    (root / ".gitignore").write_text("secret.txt\n")
    (root / "secret.txt").write_text("not for engines\n")
    (root / "b.py").symlink_to("src/a.py")
    return open_corpus(parse_spec(str(root)))


def test_copy_holds_the_files_that_count_and_nothing_else(corpus, tmp_path):
    copy = copy_corpus(corpus, tmp_path / "work")
    there = sorted(path.relative_to(copy.root).as_posix() for path in copy.root.rglob("*") if path.is_file())
    assert there == sorted(file.path for file in corpus.files)
    assert all(read_bytes(copy, file.path) == read_bytes(corpus, file.path) for file in corpus.files)
    assert not any(path.is_symlink() for path in copy.root.rglob("*"))
    assert copy.root.name == "project"
    assert copy.digest == corpus.digest


def test_copy_of_a_file_that_changed_is_refused(corpus, tmp_path):
    (corpus.root / "src" / "a.py").write_text("x = 2\n")
    with pytest.raises(CorpusError, match=r"a\.py changed"):
        copy_corpus(corpus, tmp_path / "work")


def test_copy_with_a_commit_is_clean(corpus, tmp_path):
    copy = copy_corpus(corpus, tmp_path / "work", commit=True)

    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=copy.root, capture_output=True, text=True, check=True).stdout

    assert git("status", "--porcelain") == ""
    assert sorted(git("ls-files").split()) == sorted(file.path for file in corpus.files)


def test_size_of_a_folder_counts_files_and_not_links(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_bytes(b"12345")
    (tmp_path / "g").write_bytes(b"678")
    assert directory_size(tmp_path) == 8
    assert directory_size(tmp_path / "missing") == 0
