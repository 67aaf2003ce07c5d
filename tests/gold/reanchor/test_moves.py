"""Moves of whole gold sets."""

from dataclasses import replace

import pytest

from assay.errors import CorpusError, GoldError
from assay.gold.anchors import content_digest
from assay.gold.reanchor.commits import CommitTree, GitRepository
from assay.gold.reanchor.moves import GoldMoves, add_digests, apply_moves, locate_commits, reanchor
from assay.types import Adversary, CorpusSpec, GoldSet, LabelProvenance, Query
from tests.gold.reanchor.history import commit, git, gold_of, located, module, target

OLD = {"a.py": module("alpha", "beta", "gamma"), "b.py": "x = 1\n"}
NEW = {"a.py": "import os\n" + module("alpha", "gamma"), "b.py": "x = 1\n"}


def query(name: str, *anchors: str, wrong: tuple[str, ...] = (), grades: tuple[int, ...] = ()) -> Query:
    """Make a query; targets have grade 2 unless said otherwise."""
    targets = tuple(
        replace(target(anchor), grade=grade)
        for anchor, grade in zip(anchors, grades or (2,) * len(anchors), strict=True)
    )
    adversaries = tuple(Adversary(target(anchor), "sibling", "weak", "x") for anchor in wrong)
    labels = tuple(LabelProvenance(anchor, by=("ann",), commit="old") for anchor in (*anchors, *wrong))
    return Query(name, {"human": "x"}, targets, adversaries, labels=labels)


def moves_of(tmp_path, *queries: Query) -> GoldMoves:
    return reanchor(GoldSet("g", CorpusSpec("git", ".", "old"), queries, source="g.yaml"), located(tmp_path, OLD, NEW))


def test_rows_are_in_gold_order_and_counted(tmp_path):
    moves = moves_of(tmp_path, query("one", "a.py:1-6", "a.py:9-14", wrong=("b.py",)), query("two", "a.py:17-22"))
    rows = [(row.query, row.role, row.move.old.anchor, row.move.confidence) for row in moves.rows]
    assert rows == [
        ("one", "target", "a.py:1-6", "exact"),
        ("one", "target", "a.py:9-14", "lost"),
        ("one", "adversary", "b.py", "unchanged"),
        ("two", "target", "a.py:17-22", "exact"),
    ]
    assert moves.counts == {"unchanged": 1, "exact": 2, "sure": 0, "low": 0, "lost": 1}


def test_nothing_is_written_while_something_is_lost(tmp_path):
    moves = moves_of(tmp_path, query("one", "a.py:9-14"), query("two", "a.py:1-6"))
    with pytest.raises(GoldError, match="1 anchor of 'g' could not be moved") as caught:
        apply_moves(moves)
    assert "--drop-lost" in (caught.value.hint or "")


def test_lost_targets_are_dropped_with_a_note(tmp_path):
    one = query("one", "a.py:9-14", "a.py:1-6", grades=(2, 1))
    two = query("two", "a.py:1-6", "a.py:9-14", wrong=("a.py::beta", "b.py"))
    applied = apply_moves(moves_of(tmp_path, one, two), lost="drop")
    (kept,) = applied.gold.queries
    assert (kept.id, [t.anchor for t in kept.targets]) == ("two", ["a.py:2-7"])
    assert [a.target.anchor for a in kept.adversaries] == ["b.py"]
    assert [label.target for label in kept.labels] == ["a.py:2-7", "b.py"]
    assert any("'one' has no primary target left and is removed" in note for note in applied.notes)
    assert len(applied.notes) == 4


def test_what_is_lost_is_kept_on_demand(tmp_path):
    applied = apply_moves(moves_of(tmp_path, query("one", "a.py:9-14", "a.py:1-6")), lost="keep")
    assert [t.anchor for t in applied.gold.queries[0].targets] == ["a.py:9-14", "a.py:2-7"]


def test_revision_and_commits_of_labels_are_the_new_ones(tmp_path):
    moves = moves_of(tmp_path, query("one", "a.py:1-6"))
    applied = apply_moves(moves)
    assert applied.gold.corpus.rev == moves.new
    assert {label.commit for label in applied.gold.queries[0].labels} == {moves.new}


def test_a_set_of_which_nothing_is_left_is_an_error(tmp_path):
    with pytest.raises(GoldError, match="no query of .g. has a primary target"):
        apply_moves(moves_of(tmp_path, query("one", "a.py:9-14")), lost="drop")


def test_targets_that_fell_together_are_one(tmp_path):
    folder = tmp_path / "repo"
    old = {"a.md": "# A\n\n## One\n\nSome words here.\n\n## Two\n\nSome other words.\n"}
    one = query("one", "a.md:1-9", "a.md")
    same = {"b.md": old["a.md"]}
    moves = reanchor(GoldSet("g", CorpusSpec("git", "."), (one,)), located(folder, old, same))
    assert [t.anchor for t in apply_moves(moves).gold.queries[0].targets] == ["b.md:1-9", "b.md"]
    twice = replace(one, targets=(target("a.md:1-9"), replace(target("a.md:1-9"), grade=1)))
    moves = reanchor(GoldSet("g", CorpusSpec("git", "."), (twice,)), located(folder, old, same))
    applied = apply_moves(moves)
    assert [(t.anchor, t.grade) for t in applied.gold.queries[0].targets] == [("b.md:1-9", 2)]
    assert "already has" in applied.notes[0]


def test_an_adversary_that_fell_together_with_a_target_is_dropped(tmp_path):
    old = {"a.py": module("alpha"), "b.py": module("alpha", "beta")}
    new = {"b.py": module("alpha", "beta") + "\n\nEND = 1\n"}
    one = query("one", "b.py:1-6", wrong=("a.py:1-6",))
    moves = reanchor(GoldSet("g", CorpusSpec("git", "."), (one,)), located(tmp_path, old, new))
    assert moves.rows[1].move.new == target("b.py:1-6")
    applied = apply_moves(moves)
    assert applied.gold.queries[0].adversaries == ()
    assert applied.notes == ("query 'one': the adversary b.py:1-6 overlaps another label and is dropped",)


def test_hashes_are_added_to_what_has_lines(tmp_path):
    moves = moves_of(tmp_path, query("one", "a.py:1-6", "a.py::gamma", "b.py"))
    anchors = [t.anchor for t in apply_moves(moves, digest=True).gold.queries[0].targets]
    digest = content_digest(NEW["a.py"].split("\n")[1:7])
    assert anchors == [f"a.py:2-7#{digest}", "a.py::gamma", "b.py"]


def test_add_digests_hashes_a_set_as_it_stands():
    texts = {"a.py": OLD["a.py"].split("\n")[:-1]}
    applied = add_digests(
        GoldSet("g", CorpusSpec("path", "."), (query("one", "a.py:1-2", "a.py", wrong=("a.py:90-99",)),)), texts.get
    )
    (one,) = applied.gold.queries
    hashed = f"a.py:1-2#{content_digest(texts['a.py'][:2])}"
    assert [t.anchor for t in one.targets] == [hashed, "a.py"]
    assert [label.target for label in one.labels] == [hashed, "a.py", "a.py:90-99"]
    assert applied.notes == ("query 'one': a.py:90-99 is not in the corpus and gets no hash",)


def test_a_root_is_where_paths_begin(tmp_path):
    old = {"src/a.py": module("alpha"), "other.py": module("beta")}
    new = {"src/b.py": module("alpha"), "src/c.py": module("beta")}
    both = located(tmp_path, old, new)
    inside = replace(both, repository=GitRepository(tmp_path, "src"))
    rows = reanchor(gold_of("a.py:1-6", "other.py:1-6"), inside).rows
    assert [(row.move.new and row.move.new.anchor) for row in rows] == ["b.py:1-6", None]


def test_a_bare_repository_will_do(tmp_path):
    both = located(tmp_path / "work", OLD, NEW)
    git(tmp_path, "clone", "-q", "--bare", "work", "bare")
    rows = reanchor(gold_of("a.py:1-6"), replace(both, repository=GitRepository(tmp_path / "bare"))).rows
    assert rows[0].move.confidence == "exact"


def test_locate_takes_repository_and_revision_of_the_corpus(tmp_path):
    repo = tmp_path / "repo"
    both = located(repo, OLD, NEW)
    gold = GoldSet(
        "g", CorpusSpec("git", "repo", both.old), gold_of("a.py:1-6").queries, source=str(tmp_path / "g.yaml")
    )
    assert locate_commits(gold, None, None, "main") == replace(both, repository=GitRepository(repo))
    assert locate_commits(gold, str(repo), "main~1", both.new).old == both.old
    folder = replace(gold, corpus=CorpusSpec("path", "repo/sub"))
    commit(repo, {"sub/a.py": "x = 1\n"})
    assert locate_commits(folder, None, both.old, "main").repository.root == "sub"


def test_locate_brings_a_remote_repository_here(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    both = located(tmp_path / "repo", OLD, NEW)
    spec = CorpusSpec("git", f"file://{tmp_path}/repo", both.old)
    gold = GoldSet("g", spec, gold_of("a.py:1-6").queries)
    found = locate_commits(gold, None, None, "main")
    assert (found.old, found.new) == (both.old, both.new)
    assert reanchor(gold, found).rows[0].move.confidence == "exact"


def test_locate_says_what_is_missing(tmp_path):
    gold = GoldSet("g", CorpusSpec("pypi", "flask==3"), gold_of("a.py:1-6").queries, source="g.yaml")
    with pytest.raises(GoldError, match="which has no history"):
        locate_commits(gold, None, "a", "b")
    with pytest.raises(GoldError, match="does not state the commit"):
        locate_commits(gold, str(tmp_path), None, "b")
    commit(tmp_path / "repo", OLD)
    for rev in ("nosuch", "--help"):
        with pytest.raises(CorpusError):
            locate_commits(gold, str(tmp_path / "repo"), rev, "main")
    with pytest.raises(CorpusError, match="no such directory"):
        locate_commits(gold, str(tmp_path / "gone"), "a", "b")


def test_links_and_long_files_are_no_source(tmp_path):
    repo = tmp_path / "repo"
    commit(repo, {"a.py": "x = 1\n", "long.py": "y = 1\n" * 100})
    (repo / "link.py").symlink_to("a.py")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "link")
    repository = GitRepository(repo)
    tree = CommitTree(repository, repository.commit("HEAD"), 100)
    assert sorted(tree.blobs) == ["a.py"]
