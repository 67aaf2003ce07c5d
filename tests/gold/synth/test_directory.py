"""The folder: ours is replaced, others are left alone, and neither sets nor copy turn up in the corpus."""

import subprocess

import pytest

from assay.corpus import open_corpus
from assay.errors import InputError
from assay.gold import load_gold
from assay.gold.synth import check_directory, synthesize, write_sets
from assay.types import CorpusSpec


def test_a_folder_of_others_is_refused(corpus, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    for name in ("theirs", "file"):
        with pytest.raises(InputError):
            check_directory(tmp_path / name)
    with pytest.raises(InputError):
        write_sets(synthesize(corpus, name="x"), tmp_path / "theirs")
    assert (tmp_path / "theirs" / "notes.txt").read_text() == "mine"


def test_a_folder_of_ours_is_replaced_whole(corpus, tmp_path):
    out = tmp_path / "out"
    write_sets(synthesize(corpus, name="x"), out)
    write_sets(synthesize(corpus, name="x", kinds=("symbol",)), out)
    assert sorted(p.name for p in out.iterdir()) == [".assay-synth", ".assayignore", ".gitignore", "symbol.yaml"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "shop"]


@pytest.mark.parametrize("git", [False, True])
def test_sets_inside_the_repository_are_no_part_of_it_and_the_copy_is_whole(repository, corpus, git):
    if git:
        (repository / ".git").mkdir()
        (repository / ".gitignore").write_text("web/\n")
    before = open_corpus(CorpusSpec("path", str(repository)))
    out = repository / "gold-synth"
    write_sets(synthesize(corpus, name="x"), out)
    assert open_corpus(CorpusSpec("path", str(repository))).digest == before.digest
    doc = next(gold for gold in load_gold(out).golds if gold.provenance["synthetic"] == "doc")
    assert [f.path for f in open_corpus(doc.corpus, base=out).files] == [f.path for f in corpus.files]
    symbol = next(gold for gold in load_gold(out).golds if gold.provenance["synthetic"] == "symbol")
    assert symbol.corpus.value == ".."


def test_git_finds_nothing_of_the_sets(repository, corpus):
    git(repository, "init", "-q")
    before = git(repository, "status", "--porcelain", "--untracked-files=all")
    write_sets(synthesize(corpus, name="x"), repository / "gold-synth")
    assert (repository / "gold-synth" / "corpus").is_dir()
    assert git(repository, "status", "--porcelain", "--untracked-files=all") == before


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout
