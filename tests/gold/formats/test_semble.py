"""semble's benchmark: a folder of repositories, or one file of annotations."""

import json
import os
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.errors import AssayError, GoldError
from assay.gold import load_gold
from assay.types import CorpusSpec, Span
from tests.gold.formats.files import HERE, write

REPOS = [
    {
        "name": "flask",
        "language": "python",
        "url": "https://x/flask.git",
        "revision": "abc",
        "benchmark_root": "src/flask",
    },
    {"name": "gin", "language": "go", "url": "https://x/gin.git", "revision": "def"},
]
FLASK = """[
  {
    "query": "routing",
    "relevant": ["src/flask/app.py", {"path": "src/flask/b.py", "start_line": 3, "end_line": 9}],
    "secondary": ["src/flask/c.py"],
    "category": "architecture"
  },
  {"query": "Flask", "relevant": ["src/flask/app.py"], "seed": {"path": "x", "line": 1}, "related": []}
]
"""


def semble(folder: Path, flask: str = FLASK) -> Path:
    write(folder, "repos.json", json.dumps(REPOS))
    write(folder, "annotations/gin.json", '[{"query": "mux", "relevant": ["gin.go"], "secondary": []}]')
    return write(folder, "annotations/flask.json", flask)


def test_semble_folder_reads_every_repository(tmp_path):
    semble(tmp_path)
    flask, gin = load_gold(tmp_path).golds
    assert flask.corpus == CorpusSpec("git", "https://x/flask.git", rev="abc", include=("src/flask/**",))
    assert gin.corpus == CorpusSpec("git", "https://x/gin.git", rev="def")
    first, second = flask.queries
    assert [(t.span, t.grade) for t in first.targets] == [
        (Span("src/flask/app.py"), 2),
        (Span("src/flask/b.py", 3, 9), 2),
        (Span("src/flask/c.py"), 1),
    ]
    assert first.tags == {"category": "architecture", "language": "python"}
    assert (first.line, second.line) == (2, 8)
    assert flask.provenance == {"not read": "seed, related"}


def test_semble_file_finds_its_repository_above_it(tmp_path):
    path = semble(tmp_path)
    assert load_gold(path).golds[0].corpus.rev == "abc"
    assert load_gold(path, corpus=HERE).golds[0].corpus == HERE


SEMBLE_BAD = {
    "not json": ('[\n{"query": "a",\n5}]', 3, "invalid JSON"),
    "not a list": ('{"query": "a"}', 1, "JSON list"),
    "empty": ("[]", 1, "empty"),
    "no entries": ("[ 1 ]", 1, "expected an object"),
    "unknown key": ('[\n\n{"query": "a", "relevnt": ["x"]}]', 3, "unknown key 'relevnt'"),
    "missing key": ('[{"query": "a"}]', 1, "missing key 'relevant'"),
    "key twice": ('[{"query": "a", "query": "b"}]', 1, "duplicate"),
    "query not text": ('[{"query": 1, "relevant": ["x"]}]', 1, "expected a string"),
    "half a pair": ('[{"query": "\\ud800", "relevant": ["x"]}]', 1, "surrogate"),
    "no relevant": ('[{"query": "a", "relevant": []}]', 1, "no primary"),
    "relevant a text": ('[{"query": "a", "relevant": "x"}]', 1, "expected a list"),
    "relevant a number": ('[{"query": "a", "relevant": [1]}]', 1, "expected a path or an object"),
    "range not a number": (
        '[{"query": "a", "relevant": [{"path": "x", "start_line": "1", "end_line": 2}]}]',
        1,
        "integer",
    ),
    "range half": ('[{"query": "a", "relevant": [{"path": "x", "start_line": 1}]}]', 1, "end_line"),
    "absolute": ('[{"query": "a", "relevant": ["/x"]}]', 1, "absolute"),
    "more": ('[{"query": "a", "relevant": ["x"]}]\n\n[]', 3, "unexpected text after"),
    "comma": ('[{"query": "a", "relevant": ["x"]}\n{}]', 2, "expected ','"),
    "deep": ("[" * 100_000, 1, "invalid JSON"),
    "long number": ('[{"query": ' + "1" * 5000 + "}]", 1, "invalid JSON"),
}


@pytest.mark.parametrize(("text", "line", "message"), SEMBLE_BAD.values(), ids=SEMBLE_BAD)
def test_semble_says_which_entry_is_wrong(tmp_path, text, line, message):
    path = semble(tmp_path, text)
    with pytest.raises(GoldError) as error:
        load_gold(path, format="semble")
    assert (error.value.file, error.value.line) == (str(path), line)
    assert message in error.value.message
    assert error.value.hint


NO_ADDRESSES = [
    "ext::sh -c 'touch made'",
    "fd::17",
    "foo+bar::https://x/y",
    "--upload-pack=touch made",
    "-oProxyCommand=touch made",
    " --upload-pack=touch made",
    "--upload-pack=touch made:x",
]


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_semble_refuses_what_git_would_run(tmp_path, url):
    semble(tmp_path)
    path = write(tmp_path, "repos.json", json.dumps([*REPOS[1:], {**REPOS[0], "url": url}], indent=0))
    with pytest.raises(GoldError, match="invalid repository URL") as error:
        load_gold(tmp_path)
    assert (error.value.file, error.value.line) == (str(path), 8)


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_no_corpus_hands_git_what_it_would_run(tmp_path, monkeypatch, url):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nexit 1\n')
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    with pytest.raises(AssayError):
        open_corpus(CorpusSpec("git", url, rev="main"), base=tmp_path)
    assert not (tmp_path / "asked").exists()


def test_semble_refuses_annotations_of_an_unknown_repository(tmp_path):
    semble(tmp_path)
    write(tmp_path, "annotations/other.json", FLASK)
    with pytest.raises(GoldError, match="repository 'other' not found"):
        load_gold(tmp_path)
