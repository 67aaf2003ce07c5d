"""Source as the run saw it, or none: nothing is fetched, nothing is read that no run knows."""

import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.corpus.opening import find_local
from assay.errors import CorpusError
from assay.experiment.source_texts import CorpusTexts
from assay.syntax.text import line_bytes
from assay.types import CorpusInfo, CorpusSpec, GoldSet, Run, RunMetadata, Suite

TEXT = "def one():\n    return 1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    place = tmp_path / "code"
    place.mkdir()
    (place / "a.py").write_text(TEXT)
    (place / ".env").write_text("KEY=secret\n")
    return place


def run_on(spec, paths=("a.py",), revision=None, text=TEXT, digest=None):
    """A run over a folder as it is now, unless a digest is named."""
    here = digest is None and spec.kind == "path" and Path(spec.value).is_absolute()
    known = open_corpus(spec).digest if here else digest or ""
    facts = {"g": CorpusInfo("code", revision, known, 1)}
    lines = {"g": {path: line_bytes(text) for path in paths}}
    return Run(Suite((GoldSet("g", spec, ()),)), 10, (), lines, header=RunMetadata(corpora=facts))


def test_text_of_a_corpus_that_is_what_it_was_is_given(folder):
    texts = CorpusTexts(run_on(CorpusSpec("path", str(folder))))
    assert texts("g", "a.py") == TEXT
    assert list(texts.notes) == []


def test_relative_corpus_begins_beside_its_gold_file(folder):
    digest = open_corpus(CorpusSpec("path", str(folder))).digest
    run = run_on(CorpusSpec("path", "code"), digest=digest)
    gold = replace(run.suite.golds[0], source=str(folder.parent / "gold.yaml"))
    assert CorpusTexts(replace(run, suite=Suite((gold,))))("g", "a.py") == TEXT


def test_file_that_no_record_knows_is_not_read(folder):
    """An engine may name any file; what is no part of the corpus may be secret."""
    texts = CorpusTexts(run_on(CorpusSpec("path", str(folder))))
    assert texts("g", ".env") is None
    assert texts("other", "a.py") is None
    assert list(texts.notes) == []


@pytest.mark.parametrize("now", ["def one():\n    return 2\n", "def one():\n    return 10\n", "def one():\n", "x"])
def test_folder_that_changed_gives_nothing_and_says_so(folder, now):
    """Also an edit that keeps the length of every line: what is shown would not be what the run saw."""
    run = run_on(CorpusSpec("path", str(folder)))
    (folder / "a.py").write_text(now)
    texts = CorpusTexts(run)
    assert texts("g", "a.py") is None
    assert list(texts.notes) == ["No source of g: the corpus changed since the run."]


def test_folder_of_which_no_digest_is_recorded_gives_nothing(folder):
    run = run_on(CorpusSpec("path", str(folder)), digest="")
    texts = CorpusTexts(replace(run, header=replace(run.header, corpora={})))
    assert texts("g", "a.py") is None
    assert list(texts.notes) == ["No source of g: the run records no corpus digest."]


def test_folder_is_compared_once_and_only_where_source_is_wanted(folder):
    (folder / "b.py").write_text(TEXT)
    run = run_on(CorpusSpec("path", str(folder)), paths=("a.py", "b.py"))
    texts = CorpusTexts(run)
    (folder / "more.py").write_text("")  # another corpus by now
    assert texts("g", ".env") is None
    assert list(texts.notes) == []
    (folder / "more.py").unlink()
    assert texts("g", "a.py") == TEXT
    (folder / "more.py").write_text("")
    assert [texts("g", "a.py"), texts("g", "b.py")] == [TEXT, TEXT]


def test_files_that_are_gone_are_counted(folder):
    texts = CorpusTexts(run_on(CorpusSpec("path", str(folder)), paths=("a.py", "b.py", "c.py")))
    assert [texts("g", path) for path in ("b.py", "c.py", "../a.py")] == [None] * 3
    assert list(texts.notes) == ["No source of 2 files such as b.py of g: missing, or changed since the run."]


def test_path_that_leaves_the_corpus_is_not_read(folder):
    (folder.parent / "outside.py").write_text(TEXT)
    (folder / "link.py").symlink_to(folder.parent / "outside.py")
    texts = CorpusTexts(run_on(CorpusSpec("path", str(folder)), paths=("../outside.py", "link.py")))
    assert [texts("g", path) for path in ("../outside.py", "link.py")] == [None, None]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (CorpusSpec("path", "nowhere"), "the corpus does not exist"),
        (CorpusSpec("git", "https://example.invalid/x.git", rev="a" * 40), "the corpus is not in the cache"),
        (CorpusSpec("git", "https://example.invalid/x.git"), "the corpus is not in the cache"),
        (CorpusSpec("pypi", "nothing==1.0"), "the corpus is not in the cache"),
        (CorpusSpec("npm", "nothing@1.0.0"), "the corpus is not in the cache"),
    ],
)
def test_corpus_that_is_not_here_is_said_and_not_fetched(folder, monkeypatch, spec, why):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("PATH", "")  # and no git
    texts = CorpusTexts(run_on(spec))
    assert texts("g", "a.py") is None
    assert list(texts.notes) == [f"No source of g: {why}."]


def git(folder, *arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_repository_here_is_read_at_the_commit_of_the_run(folder):
    git(folder, "init", "-q")
    git(folder, "add", "a.py")
    git(folder, "commit", "-qm", "one")
    spec = CorpusSpec("git", str(folder))
    revision = open_corpus(spec).revision
    (folder / "a.py").write_text("now it is another\n")
    git(folder, "commit", "-qam", "two")
    assert CorpusTexts(run_on(spec, revision=revision))("g", "a.py") == TEXT
    with pytest.raises(CorpusError, match="not in the cache"):
        find_local(spec)  # the newest commit was never opened


def test_sets_on_one_corpus_share_what_is_read(folder):
    run = run_on(CorpusSpec("path", str(folder)))
    golds = tuple(replace(run.suite.golds[0], name=name) for name in ("g", "h"))
    lines, facts = (dict.fromkeys(("g", "h"), known["g"]) for known in (run.lines, run.header.corpora))
    header = replace(run.header, corpora=facts)
    texts = CorpusTexts(replace(run, suite=Suite(golds), lines=lines, header=header))
    assert texts.lines("g", "a.py") is texts.lines("h", "a.py")
