"""`assay gold reanchor` as a user meets it."""

import json

import pytest

from assay.cli.main import main
from assay.gold import load_gold
from tests.gold.reanchor.history import commit, module

OLD = {"a.py": module("alpha", "beta", "gamma")}
NEW = {"a.py": "import os\n" + module("alpha", "gamma")}
GOLD = """\
assay: 1
name: small
corpus: {{git: repo, rev: {rev}}}
queries:
  # a comment that stays
  - id: first
    retrieval: {{primary: ["a.py:1-6"], secondary: [{second}]}}
    cognitive: {{human: where is alpha?}}
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Make a repository with two commits and a set at the first."""
    monkeypatch.chdir(tmp_path)
    old = commit(tmp_path / "repo", OLD)
    new = commit(tmp_path / "repo", NEW)
    (tmp_path / "gold.yaml").write_text(GOLD.format(rev=old, second="a.py:17-22"))
    (tmp_path / "lost.yaml").write_text(GOLD.format(rev=old, second="a.py:9-14"))
    return tmp_path, old, new


def call(capsys, *arguments):
    code = main(["gold", "reanchor", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_reanchor_reports_and_writes_nothing(small, capsys):
    folder, old, new = small
    before = (folder / "lost.yaml").read_text()
    code, out, _ = call(capsys, "lost.yaml", "--to", "main")
    assert code == 0
    assert f"{old[:12]} → {new[:12]}" in out
    assert "a.py:9-14" in out
    assert (folder / "lost.yaml").read_text() == before


def test_reanchor_writes_in_place_and_keeps_comments(small, capsys):
    folder, _, new = small
    code, _, _ = call(capsys, "gold.yaml", "--to", "main", "--in-place")
    text = (folder / "gold.yaml").read_text()
    (gold,) = load_gold(folder / "gold.yaml").golds
    assert code == 0
    assert "# a comment that stays" in text
    assert gold.corpus.rev == new
    assert [target.anchor for target in gold.queries[0].targets] == ["a.py:2-7", "a.py:10-15"]


def test_reanchor_refuses_to_write_what_is_lost(small, capsys):
    folder, _, _ = small
    before = (folder / "lost.yaml").read_text()
    code, _, err = call(capsys, "lost.yaml", "--to", "main", "--in-place")
    assert (code, "--drop-lost" in err) == (2, True)
    assert (folder / "lost.yaml").read_text() == before
    for flag, anchors in (("--drop-lost", ["a.py:2-7"]), ("--keep-lost", ["a.py:2-7", "a.py:9-14"])):
        code, _, _ = call(capsys, "lost.yaml", "--to", "main", "--out", "sub/out.yaml", flag)
        (gold,) = load_gold(folder / "sub" / "out.yaml").golds
        assert gold.corpus.value == "../repo"
        assert (code, [target.anchor for target in gold.queries[0].targets]) == (0, anchors)
    assert (folder / "lost.yaml").read_text() == before


def test_reanchor_json_is_complete(small, capsys):
    _, old, new = small
    code, out, _ = call(capsys, "lost.yaml", "--to", "main", "--json", "--quiet")
    data = json.loads(out)
    assert (code, data["schema"], data["from"], data["to"]) == (0, "assay/gold-reanchor/1", old, new)
    assert data["counts"] == {"unchanged": 0, "exact": 1, "sure": 0, "low": 0, "lost": 1}
    assert [(m["query"], m["role"], m["grade"], m["old"], m["new"], m["confidence"]) for m in data["moves"]] == [
        ("first", "target", 2, "a.py:1-6", "a.py:2-7", "exact"),
        ("first", "target", 1, "a.py:9-14", None, "lost"),
    ]


def test_reanchor_moves_a_format_that_names_no_corpus(small, capsys):
    folder, old, _ = small
    (folder / "code.csv").write_text("query,result1,result2,result3\nwhere is alpha,a.py:1-6:2,a.py:17-22:1,\n")
    code, _, err = call(capsys, "code.csv", "--to", "main")
    assert (code, "names no corpus" in err) == (2, True)
    arguments = ("code.csv", "--repo", "repo", "--from", old, "--to", "main", "--out", "moved.csv")
    assert call(capsys, *arguments)[0] == 0
    assert (folder / "moved.csv").read_text().split("\n")[1] == "where is alpha,a.py:2-7:2,a.py:10-15:1,"


def test_reanchor_adds_hashes(small, capsys):
    folder, _, _ = small
    assert call(capsys, "gold.yaml", "--digest", "--in-place")[0] == 0
    (gold,) = load_gold(folder / "gold.yaml").golds
    hashed = gold.queries[0].targets[0]
    assert hashed.digest is not None
    assert call(capsys, "gold.yaml", "--to", "main", "--in-place")[0] == 0
    (gold,) = load_gold(folder / "gold.yaml").golds
    assert gold.queries[0].targets[0].anchor == f"a.py:2-7#{hashed.digest}"


def test_reanchor_hashes_at_a_commit_of_a_repository(small, capsys):
    folder, old, _ = small
    assert call(capsys, "gold.yaml", "--digest", "--repo", "repo", "--from", old, "--out", "hashed.yaml")[0] == 0
    assert "#" in load_gold(folder / "hashed.yaml").golds[0].queries[0].targets[0].anchor


@pytest.mark.parametrize(
    "arguments",
    [
        ("gold.yaml",),
        ("gone.yaml", "--to", "main"),
        ("gold.yaml", "--to", "nosuch"),
        ("gold.yaml", "--to", "main", "--repo", "nowhere"),
        ("gold.yaml", "--to", "main", "--from=-x"),
    ],
)
def test_reanchor_says_what_is_wrong(small, capsys, arguments):
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert "→" in err
