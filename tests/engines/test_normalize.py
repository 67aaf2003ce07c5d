from __future__ import annotations

import posixpath
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.normalize import Normalizer
from assay.errors import EngineError
from assay.types import Corpus, CorpusSpec, Hit, SourceFile

PATHS = ("a.py", "src/a.py", "src/deep/b.py", "odd\\name.py", "empty.py")
LINES = {"a.py": 10, "src/a.py": 3, "src/deep/b.py": 100, "odd\\name.py": 5, "empty.py": 0}
CORPUS = Corpus(Path("/srv/code"), CorpusSpec("path", "."), tuple(SourceFile(p, 1, "code") for p in PATHS), "d")
CLEAN = Normalizer(CORPUS, LINES.__getitem__)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("a.py", "a.py"),
        ("./a.py", "a.py"),
        ("src//a.py", "src/a.py"),
        ("src/./a.py", "src/a.py"),
        ("src/deep/../a.py", "src/a.py"),
        ("src\\deep\\b.py", "src/deep/b.py"),
        ("odd\\name.py", "odd\\name.py"),
        ("/srv/code/src/a.py", "src/a.py"),
        ("/srv/code/./src//a.py", "src/a.py"),
    ],
)
def test_normalize_writes_paths_as_the_corpus_does(given: str, path: str) -> None:
    cleaned = CLEAN([Hit(given)], 10)
    assert cleaned.hits[0].path == path
    assert not any("not in the corpus" in note for note in cleaned.notes)


@pytest.mark.parametrize(
    "path", ["../a.py", "/etc/passwd", "b.py", "deep/b.py", "/srv/codex/a.py", "A.PY", "", "/", "."]
)
def test_normalize_keeps_what_is_not_in_the_corpus_out_of_it_and_says_so(path: str) -> None:
    cleaned = CLEAN([Hit("a.py"), Hit(path)], 10)
    assert cleaned.hits[1].path not in PATHS
    assert cleaned.notes[-1].startswith("1 of 2 paths not in the corpus, e.g.")


def test_normalize_notes_absolute_paths_under_the_root() -> None:
    cleaned = CLEAN([Hit("/srv/code/a.py"), Hit("/srv/code/src/a.py")], 10)
    assert cleaned.notes == ("2 of 2 paths absolute, read as relative to the corpus root, e.g. /srv/code/a.py",)


def test_normalize_sees_through_a_linked_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    corpus = replace(CORPUS, root=tmp_path / "link")
    assert (
        Normalizer(corpus)([Hit(f"{tmp_path}/real/a.py"), Hit(f"{tmp_path}/link/a.py")], 5).hits == (Hit("a.py"),) * 2
    )


@pytest.mark.parametrize(
    ("start", "end", "fixed", "note"),
    [
        (2, 5, (2, 5), None),
        (2, None, (2, 2), None),
        (None, None, (None, None), None),
        (5, 2, (5, 5), "ending before"),
        (0, 3, (1, 3), "before line 1"),
        (-4, -2, (1, 1), "before line 1"),
        (8, 99, (8, 10), "past the end"),
        (50, 99, (10, 10), "past the end"),
        (None, 5, (None, None), "integer lines"),
        ("2", "5", (None, None), "integer lines"),
        (True, 5, (None, None), "integer lines"),
        (2.0, 5.0, (2, 5), None),
        (2.5, 5, (None, None), "integer lines"),
        (float("nan"), 5, (None, None), "integer lines"),
        (1, float("inf"), (None, None), "integer lines"),
    ],
)
def test_normalize_repairs_ranges(start: Any, end: Any, fixed: tuple[Any, Any], note: str | None) -> None:
    cleaned = CLEAN([Hit("a.py", start, end)], 10)
    assert (cleaned.hits[0].start, cleaned.hits[0].end) == fixed
    assert (len(cleaned.notes) == 1 and note in cleaned.notes[0]) if note else cleaned.notes == ()


def test_normalize_gives_an_empty_file_no_range() -> None:
    assert CLEAN([Hit("empty.py", 1, 1)], 10).hits == (Hit("empty.py"),)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "high", True])
def test_normalize_drops_scores_that_are_no_numbers(score: Any) -> None:
    cleaned = CLEAN([Hit("a.py", score=score)], 10)
    assert cleaned.hits == (Hit("a.py"),)
    assert "scores" in cleaned.notes[0]


def test_normalize_drops_snippets_that_are_no_texts() -> None:
    assert CLEAN([Hit("a.py", snippet=b"x")], 10).hits == (Hit("a.py"),)  # type: ignore[arg-type]


def test_normalize_cuts_what_was_not_asked_for() -> None:
    cleaned = CLEAN([Hit("a.py")] * 10_000, 10, oversample=2)
    assert len(cleaned.hits) == 20
    assert cleaned.notes == ("expected at most 20 results, got 10000; the others were dropped",)


def test_normalize_counts_lines_of_the_corpus_by_itself(corpus: Corpus) -> None:
    assert Normalizer(corpus)([Hit("README.md", 1, 9)], 5).hits == (Hit("README.md", 1, 1),)


@pytest.mark.parametrize("junk", [None, "a.py", 3, Hit(None), Hit(b"a.py")])  # type: ignore[arg-type]
def test_normalize_refuses_what_is_no_hit(junk: Any) -> None:
    with pytest.raises(EngineError):
        CLEAN([junk], 10)


_paths = st.one_of(
    st.sampled_from([*PATHS, "./a.py", "/srv/code/a.py", "../x", "src\\a.py", "/etc/x", "", "/srv/code/../code/a.py"]),
    st.text(alphabet="ab./\\ ", max_size=8),
)
_numbers = st.one_of(st.none(), st.integers(-5, 200), st.floats(), st.text(max_size=2), st.booleans())
_hits = st.lists(st.builds(Hit, _paths, _numbers, _numbers, _numbers, st.none()), max_size=12)


@given(_hits, st.integers(1, 10), st.integers(1, 3))
def test_normalize_is_idempotent_and_in_bounds(hits: list[Hit], k: int, oversample: int) -> None:
    once = CLEAN(hits, k, oversample=oversample)
    assert CLEAN(once.hits, k, oversample=oversample).hits == once.hits
    assert len(once.hits) == min(len(hits), k * oversample)
    for before, after in zip(hits, once.hits, strict=False):
        assert (after.start is None) == (after.end is None)
        if after.start is not None and after.end is not None:
            assert 1 <= after.start <= after.end <= LINES.get(after.path, after.end)
        if before.path in PATHS:
            assert after.path == before.path


@given(st.sampled_from(PATHS), st.integers(1, 12))
def test_normalize_never_matches_the_end_of_a_path(path: str, cut: int) -> None:
    tail = path[cut:]
    allowed = {tail, posixpath.normpath(tail), posixpath.normpath(tail.replace("\\", "/"))} & set(PATHS)
    found = CLEAN([Hit(tail)], 1).hits[0].path
    assert found in allowed or found not in PATHS
