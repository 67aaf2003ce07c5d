"""Laws of re-anchoring, on edits drawn at random."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.gold.reanchor.commits import GitRepository
from assay.gold.reanchor.moves import RepoCommits, reanchor
from assay.types import Span
from tests.gold.reanchor.history import commit, gold_of, lines_of, module, moved, target
from tests.properties import examples

#: Each example makes commits, so there are few.
FEW = examples(12)
NAMES = ("alpha", "beta", "gamma", "delta")
OLD = {"a.py": module(*NAMES), "b.py": module("other")}
LENGTH = OLD["a.py"].count("\n")


def anchors() -> st.SearchStrategy[str]:
    """Draw a range of a.py."""
    starts = st.integers(1, LENGTH)
    return st.tuples(starts, st.integers(0, 12)).map(lambda one: f"a.py:{one[0]}-{min(LENGTH, sum(one))}")


def functions() -> st.SearchStrategy[str]:
    """Draw the range of a whole function of a.py."""
    return st.integers(0, len(NAMES) - 1).map(lambda n: f"a.py:{8 * n + 1}-{8 * n + 6}")


def edges(span: Span) -> tuple[int, int]:
    """Give the first and last line of a span."""
    assert span.start is not None
    assert span.end is not None
    return span.start, span.end


def edited(lines: list[str], edits: list[tuple[int, str]]) -> str:
    """Insert, delete or change lines."""
    text = list(lines)
    for place, what in edits:
        at = place % max(1, len(text))
        if what == "insert":
            text.insert(at, f"inserted_{place} = 1")
        elif text:
            text[at : at + 1] = [] if what == "delete" else [f"    changed_{place} = 2"]
    return "\n".join(text) + "\n"


EDITS = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["insert", "delete", "change"])), max_size=6)


@FEW
@given(st.lists(anchors(), min_size=1, max_size=6, unique=True))
def test_from_a_commit_to_itself_nothing_moves(some):
    with tempfile.TemporaryDirectory() as folder:
        rows = moved(Path(folder), OLD, OLD, *some).rows
    assert [(row.move.new, row.move.confidence) for row in rows] == [(row.move.old, "unchanged") for row in rows]


@FEW
@given(anchors(), st.integers(1, 30), st.booleans())
def test_lines_inserted_elsewhere_move_a_range_exactly(anchor, count, above):
    start, end = edges(target(anchor).span)
    lines = OLD["a.py"].split("\n")
    at = 0 if above else end
    new = [*lines[:at], *(f"fresh_{n} = {n}" for n in range(count)), *lines[at:]]
    with tempfile.TemporaryDirectory() as folder:
        done = moved(Path(folder), OLD, {**OLD, "a.py": "\n".join(new)}, anchor).rows[0].move
    shift = count if above else 0
    assert done.new is not None
    assert edges(done.new.span) == (start + shift, end + shift)
    assert done.confidence == ("exact" if above else "unchanged")


@FEW
@given(st.lists(anchors(), min_size=1, max_size=4, unique=True), EDITS, st.booleans())
def test_a_moved_range_lies_in_its_file_and_exact_ones_say_the_same(some, edits, rename):
    new = edited(OLD["a.py"].split("\n"), edits)
    files = {"c/d.py" if rename else "a.py": new, "b.py": OLD["b.py"]}
    with tempfile.TemporaryDirectory() as folder:
        rows = moved(Path(folder), OLD, files, *some).rows
    for row in rows:
        done = row.move
        assert (done.new is None) == (done.confidence == "lost")
        if done.new is not None:
            span = done.new.span
            start, end = edges(span)
            assert 1 <= start <= end <= len(files[span.path].removesuffix("\n").split("\n"))
            same = lines_of(OLD["a.py"], done.old.span) == lines_of(files[span.path], span)
            assert same == (done.confidence in ("exact", "unchanged"))


@FEW
@given(functions(), st.permutations(NAMES), st.sampled_from(["reorder", "rename", "another file"]))
def test_there_and_back_is_where_it_was(anchor, order, how):
    if how == "another file":
        name = NAMES[(target(anchor).span.start or 1) // 8]
        files = {"a.py": module(*(n for n in NAMES if n != name)), "b.py": module("other", name)}
    else:
        files = {"a.py" if how == "reorder" else "z.py": module(*order), "b.py": OLD["b.py"]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new = commit(folder, OLD), commit(folder, files)
        there = reanchor(gold_of(anchor), RepoCommits(GitRepository(folder), old, new)).rows[0].move
        assert there.new is not None
        assert there.confidence in ("exact", "unchanged")
        back = reanchor(gold_of(there.new.anchor), RepoCommits(GitRepository(folder), new, old)).rows[0].move
    assert back.new == there.old


@FEW
@given(st.lists(anchors(), min_size=2, max_size=5, unique=True), EDITS, st.randoms(use_true_random=False))
def test_the_order_of_targets_changes_nothing(some, edits, random):
    files = {**OLD, "a.py": edited(OLD["a.py"].split("\n"), edits)}
    shuffled = list(some)
    random.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        both = RepoCommits(GitRepository(folder), commit(folder, OLD), commit(folder, files))
        one = {row.move.old.anchor: row.move for row in reanchor(gold_of(*some), both).rows}
        other = {row.move.old.anchor: row.move for row in reanchor(gold_of(*shuffled), both).rows}
    assert one == other


@FEW
@given(st.sampled_from(NAMES), st.integers(0, 3))
def test_an_edit_inside_a_function_keeps_it_whole(name, line):
    new = OLD["a.py"].replace(f"{name}_helper({line})", f"{name}_helper({line}, extra)\n    more = {line}")
    start = 8 * NAMES.index(name) + 1
    with tempfile.TemporaryDirectory() as folder:
        done = moved(Path(folder), OLD, {**OLD, "a.py": new}, f"a.py:{start}-{start + 5}").rows[0].move
    assert done.new is not None
    assert (done.new.anchor, done.confidence) == (f"a.py:{start}-{start + 6}", "sure")
    assert done.reason == "same name"
