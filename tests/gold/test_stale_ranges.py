"""Line ranges without a content hash whose lines changed since the gold file was committed."""

import pytest

from assay.cli.main import main
from assay.corpus import open_corpus
from assay.gold import load_gold
from assay.gold.git_history import find_stale_ranges
from tests.gold.reanchor.history import commit, module

GOLD = """\
assay: 1
name: small
corpus: {path: .}
queries:
  - id: beta
    retrieval: {primary: ["a.py:9-14"]}
    cognitive: {human: where is beta?}
"""
LATER = """\
  - id: gamma
    retrieval: {primary: ["a.py:18-23"]}
    cognitive: {human: where is gamma?}
"""
OLD = module("alpha", "beta", "gamma")
NEW = f"import os\n{OLD}"


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commit(tmp_path, {"a.py": OLD, "gold.yaml": GOLD})
    return tmp_path


def stale(source="gold.yaml"):
    (gold,) = load_gold(source).golds
    return [target.anchor for target in find_stale_ranges(gold, open_corpus(gold.corpus))]


def test_only_changed_lines_are_stale(repo):
    assert stale() == []
    (repo / "a.py").write_text(OLD + "\n\nlast = 1\n")
    assert stale() == []
    (repo / "a.py").write_text(NEW)
    assert stale() == ["a.py:9-14"]
    (repo / "gold.yaml").write_text(GOLD.replace("9-14", "10-15"))  # not committed: written for this work tree
    assert stale() == []


def test_each_range_is_compared_with_the_commit_of_its_own_line(repo):
    commit(repo, {"a.py": NEW, "gold.yaml": GOLD})
    commit(repo, {"a.py": NEW, "gold.yaml": GOLD + LATER})
    assert stale() == ["a.py:9-14"]
    assert main(["gold", "reanchor", "gold.yaml", "--to", "HEAD", "--in-place", "--quiet"]) == 0
    assert [q.targets[0].anchor for q in load_gold("gold.yaml").golds[0].queries] == ["a.py:10-15", "a.py:18-23"]


def test_a_set_of_another_repository_or_without_commits_is_not_compared(repo):
    (repo / "a.py").write_text(NEW)
    (repo / "gold.yaml").rename("new.yaml")
    assert stale("new.yaml") == []
    (repo / "sets").mkdir()
    commit(repo / "sets", {"gold.yaml": GOLD.replace("path: .", "path: ..")})
    (gold,) = load_gold("sets/gold.yaml").golds
    assert find_stale_ranges(gold, open_corpus(gold.corpus, base=repo / "sets")) == ()


def test_lint_fix_hashes_current_ranges_and_leaves_stale_ones(repo, capsys):
    commit(repo, {"a.py": NEW, "gold.yaml": GOLD})
    commit(repo, {"a.py": NEW, "gold.yaml": GOLD + LATER})
    assert main(["gold", "lint", "gold.yaml", "--fix"]) == 0
    assert "assay gold reanchor gold.yaml --to HEAD --digest --in-place" in " ".join(capsys.readouterr().out.split())
    anchors = [q.targets[0].anchor for q in load_gold("gold.yaml").golds[0].queries]
    assert (anchors[0], anchors[1].startswith("a.py:18-23#")) == ("a.py:9-14", True)
    assert main(["gold", "reanchor", "gold.yaml", "--to", "HEAD", "--digest", "--in-place"]) == 0
    (repo / "a.py").write_text(f"import sys\n{NEW}")
    assert stale() == []
    assert main(["run", "--gold", "gold.yaml", "--engine", "oracle"]) == 0
    assert "changed since" not in capsys.readouterr().out


def test_a_run_warns_of_stale_ranges_with_the_command_that_moves_them(repo, capsys):
    commit(repo, {"a.py": NEW, "gold.yaml": GOLD})
    assert main(["run", "--gold", "gold.yaml", "--engine", "keywords", "--engine", "builtin", "--out", "res"]) == 0
    assert "! 1 line range of small changed since" in capsys.readouterr().out
    assert main(["score", "res", "--full"]) == 0
    full = " ".join(capsys.readouterr().out.split())
    assert "run `assay gold reanchor gold.yaml --to HEAD --digest --in-place`" in full
