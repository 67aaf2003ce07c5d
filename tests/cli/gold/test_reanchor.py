"""`assay gold reanchor` as a user meets it."""

import json
import shutil

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


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A repository and its two commits."""
    folder = tmp_path_factory.mktemp("repo")
    return folder, commit(folder, OLD), commit(folder, NEW)


@pytest.fixture
def small(committed, tmp_path, monkeypatch):
    """A copy of the repository and a set at its first commit."""
    monkeypatch.chdir(tmp_path)
    folder, old, new = committed
    shutil.copytree(folder, tmp_path / "repo")
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
    assert (code, "does not name a corpus" in err, "--repo" in err, "--corpus" in err) == (2, True, True, False)
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
    assert "\nhint: " in err


def test_reanchor_lists_what_moved_with_changes_and_counts_what_kept_its_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    old = commit(tmp_path / "repo", OLD)
    edited = module("alpha", "beta", "gamma").replace("step_1 = beta_helper(1)", "step_1 = 1")
    commit(tmp_path / "repo", {"a.py": "import os\n" + edited})
    (tmp_path / "gold.yaml").write_text(GOLD.format(rev=old, second="a.py:9-14"))
    code, out, _ = call(capsys, "gold.yaml", "--to", "main")
    words = " ".join(out.split())
    assert code == 0
    assert "first target a.py:9-14 sure a.py:10-15" in words
    assert "a.py:1-6" not in out
    assert "1 with unchanged text, 1 of them moved (--all lists them)" in words
    code, out, _ = call(capsys, "gold.yaml", "--to", "main", "--all")
    assert "first target a.py:1-6 exact a.py:2-7" in " ".join(out.split())
    assert "--all" not in out


LABELLED = """\
assay: 1
name: small
corpus: {{path: .}}
queries:
  - id: first
    retrieval: {{primary: ["a.py:1-6"], secondary: ["a.py:17-22"]}}
    cognitive: {{human: where is alpha?}}
    labels: [{labels}]
"""


def labelled(folder, **commits):
    """Write a set of a work tree whose labels name these commits."""
    anchors = {"one": "a.py:1-6", "two": "a.py:17-22"}
    labels = [f'{{target: "{anchors[name]}", by: [ann], commit: {commit}}}' for name, commit in commits.items()]
    (folder / "gold.yaml").write_text(LABELLED.format(labels=", ".join(labels)))


def test_reanchor_of_a_work_tree_begins_at_the_commit_that_its_labels_name(small, monkeypatch, capsys):
    folder, old, new = small
    monkeypatch.chdir(folder / "repo")
    labelled(folder / "repo", one=old, two=old)
    code, out, err = call(capsys, "gold.yaml", "--to", "HEAD", "--in-place")
    assert (code, f"comparing {old} with HEAD" in err, "None" in err) == (0, True, False)
    assert "no label" not in out
    (gold,) = load_gold("gold.yaml").golds
    assert [(label.target, label.commit) for label in gold.queries[0].labels] == [
        ("a.py:2-7", new),
        ("a.py:10-15", new),
    ]


def test_reanchor_tells_of_anchors_whose_commit_it_takes_from_other_labels(small, monkeypatch, capsys):
    folder, old, _ = small
    monkeypatch.chdir(folder / "repo")
    labelled(folder / "repo", one=old)
    code, out, _ = call(capsys, "gold.yaml", "--to", "HEAD", "--json", "--quiet")
    (note,) = json.loads(out)["notes"]
    assert (code, note.startswith("1 anchors name no commit;"), old[:12] in note) == (
        0,
        True,
        True,
    )
    code, out, _ = call(capsys, "gold.yaml", "--from", old, "--to", "HEAD", "--json", "--quiet")
    assert json.loads(out)["notes"] == []


def test_reanchor_asks_for_the_commit_where_labels_disagree_or_name_none(small, monkeypatch, capsys):
    folder, old, new = small
    monkeypatch.chdir(folder / "repo")
    labelled(folder / "repo", one=old, two=new)
    code, _, err = call(capsys, "gold.yaml", "--to", "HEAD")
    assert (code, "--from" in err, "None" in err) == (2, True, False)
    assert f"{old[:12]} (1)" in err
    assert f"{new[:12]} (1)" in err
    (folder / "repo" / "gold.yaml").write_text(LABELLED.format(labels="").replace("    labels: []\n", ""))
    code, _, err = call(capsys, "gold.yaml", "--to", "HEAD")
    assert (code, "--from" in err, "None" in err) == (2, True, False)


def test_reanchor_says_why_git_does_not_read_a_repository(small, monkeypatch, capsys):
    folder, _, _ = small
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    code, _, err = call(capsys, "gold.yaml", "--to", "main")
    assert (code, "dubious ownership" in err, "safe.directory" in err, "fetch it" in err) == (2, True, True, False)
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
    (folder / "plain").mkdir()
    code, _, err = call(capsys, "gold.yaml", "--to", "main", "--repo", "plain")
    assert (code, "not a git repository" in err, "--repo" in err) == (2, True, True)


def test_reanchor_says_that_it_made_a_folder(small, capsys):
    for made in (True, False):
        _, _, err = call(capsys, "gold.yaml", "--to", "main", "--out", "sub/out.yaml")
        assert ("created the directory sub" in err) is made
