"""Files are cut so that no line is lost: by syntax, by heading, by size."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus.file_types import detect_type
from assay.search.chunking import (
    Chunk,
    ChunkConfig,
    ChunkedFile,
    ChunkKind,
    SourceText,
    chunk_file,
    cut_lines,
    cut_sections,
    cut_weighed,
)
from assay.syntax.text import count_lines
from tests.properties import examples
from tests.search.samples import SAMPLES

_CONFIG = ChunkConfig()
_TIGHT = ChunkConfig(longest=6, part=4, slack=1, shortest=3, packed=5, whole_class=3)
_KINDS: list[ChunkKind] = ["ast", "lines", "tokens", "characters", "file"]


def cut_text(path: str, text: str, config: ChunkConfig = _CONFIG) -> ChunkedFile:
    found = detect_type(path, b"")
    return chunk_file(SourceText(path, text, found.kind, found.language), config)


def spans(chunks: tuple[Chunk, ...]) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks]


def assert_covers(cut_: ChunkedFile, text: str) -> None:
    """Every line is in a unit, units are sorted and lie inside the file."""
    lines = count_lines(text)
    found = spans(cut_.chunks)
    assert found == sorted(found)
    covered = {line for start, end in found for line in range(start, end + 1)}
    assert covered == set(range(1, lines + 1))


def assert_parts(cut_: ChunkedFile, text: str) -> None:
    """... and in no other one."""
    assert_covers(cut_, text)
    ends = [0, *(chunk.end for chunk in cut_.chunks)]
    assert [chunk.start for chunk in cut_.chunks] == [end + 1 for end in ends[:-1]]


_paths = st.sampled_from(sorted(SAMPLES))
_configs = st.sampled_from([_CONFIG, _TIGHT, replace(_TIGHT, whole_class=0, shortest=0, packed=0)])
_pieces = st.sampled_from([*SAMPLES.values(), "\n", "\n" * 90, "}", "(", "end\n", "  x\n" * 30, "# é\r\n", "\x00"])
_texts = st.lists(_pieces, max_size=4).map("".join)


@examples(80)
@given(path=_paths, text=_texts, config=_configs, share=st.floats(0, 1))
def test_units_by_syntax_and_by_heading_take_every_line_once(
    path: str, text: str, config: ChunkConfig, share: float
) -> None:
    text = text[: round(share * len(text))]
    cut_ = cut_text(path, text, config)
    if text:
        assert_parts(cut_, text)
    else:
        assert cut_.chunks == (Chunk(1, 0, "file"),)
    assert all(chunk.lines <= max(config.longest, config.packed) for chunk in cut_.chunks)


@examples(60)
@given(path=_paths, text=_texts, kind=st.sampled_from(_KINDS), size=st.integers(1, 60), overlap=st.integers(0, 59))
def test_units_of_every_kind_cover_every_line(path: str, text: str, kind: ChunkKind, size: int, overlap: int) -> None:
    cut_ = cut_text(path, text, ChunkConfig(kind=kind, size=size, overlap=min(overlap, size - 1)))
    if text:
        assert_covers(cut_, text)
    if text and not overlap and kind in ("lines", "tokens", "characters"):
        assert_parts(cut_, text)


@pytest.mark.parametrize("path", sorted(SAMPLES))
def test_definitions_of_every_language_are_units_of_their_own_names(path: str) -> None:
    cut_ = cut_text(path, SAMPLES[path], replace(_TIGHT, shortest=0, packed=0))
    assert_parts(cut_, SAMPLES[path])
    assert cut_.problem is None
    assert any(chunk.names for chunk in cut_.chunks)


def test_class_is_cut_into_head_and_members_with_scopes_signatures_and_docs() -> None:
    chunks = cut_text("cart.py", SAMPLES["cart.py"], replace(_CONFIG, whole_class=5, shortest=0)).chunks
    assert [(u.kind, u.start, u.end, u.names, u.scopes) for u in chunks] == [
        ("gap", 1, 3, (), ()),
        ("constant", 4, 6, ("LIMIT",), ()),
        ("head", 7, 9, ("Cart",), ()),
        ("method", 10, 13, ("add",), ("Cart",)),
        ("method", 14, 17, ("total",), ("Cart",)),
        ("function", 18, 20, ("rounded",), ()),
    ]
    assert chunks[3].signature == "def add(self, item):"
    assert chunks[3].doc == "Put an item in."


def test_small_neighbours_of_one_scope_are_packed() -> None:
    text = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(8))
    chunks = cut_text("a.py", text).chunks
    assert_parts(cut_text("a.py", text), text)
    assert all(3 < chunk.lines <= _CONFIG.packed for chunk in chunks)
    assert [name for chunk in chunks for name in chunk.names] == [f"f{n}" for n in range(8)]


def test_long_function_is_cut_between_statements_and_keeps_its_name() -> None:
    body = "".join(f"    if x == {n}:\n        y = {n}\n        z = y\n" for n in range(60))
    text = f"def long(x):\n{body}    return z\n"
    cut_ = cut_text("a.py", text)
    assert_parts(cut_, text)
    assert len(cut_.chunks) == 4
    lines = text.split("\n")
    for chunk in cut_.chunks[1:]:
        assert lines[chunk.start - 1].startswith("    if x")
        assert (chunk.kind, chunk.names, chunk.signature) == ("function", ("long",), "")
    assert cut_.chunks[0].signature


@pytest.mark.parametrize("rows", [20_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_long_literal_is_cut_in_time_that_grows_with_its_length(rows: int) -> None:
    text = "TABLE = [\n" + "    1,\n" * rows + "]\n"
    cut_ = cut_text("a.py", text)
    assert_parts(cut_, text)
    assert max(chunk.lines for chunk in cut_.chunks) <= _CONFIG.longest


def test_blank_lines_and_closing_brackets_go_to_the_unit_before() -> None:
    text = "func a() {\n" + "\tx()\n" * 9 + "}\n\n\n\nfunc b() {\n" + "\ty()\n" * 9 + "}\n"
    assert spans(cut_text("a.go", "package p\n\n" + text).chunks) == [(1, 16), (17, 27)]


def test_sections_begin_at_headings_outside_of_code() -> None:
    chunks = cut_text("README.md", SAMPLES["README.md"], replace(_CONFIG, shortest=0)).chunks
    assert [(u.kind, u.start, u.end, u.names, u.scopes) for u in chunks] == [
        ("section", 1, 4, ("Shop",), ()),
        ("section", 5, 12, ("Paying",), ("Shop",)),
        ("section", 13, 15, ("Returns",), ("Shop",)),
    ]


def test_sections_know_underlined_and_equal_sign_headings() -> None:
    chunks = cut_text("guide.rst", SAMPLES["guide.rst"], replace(_CONFIG, shortest=0)).chunks
    assert [(u.start, u.names, u.scopes) for u in chunks] == [(1, ("Guide",), ()), (6, ("Hours",), ("Guide",))]
    lines = ["= Title", "", "text", "", "== Part", "", "more", ""]
    assert [u.names for u in cut_sections(lines, replace(_CONFIG, shortest=0))] == [("Title",), ("Part",)]


@pytest.mark.parametrize(
    "line", ["| a | b |\n|---|---|", "----\n----", "  \n=====", "```\n# x\n```", "#no\n#blank", "x\n--"]
)
def test_sections_do_not_begin_at_what_only_looks_like_a_heading(line: str) -> None:
    assert [chunk.names for chunk in cut_sections(line.split("\n"), _CONFIG)] == [()]


def test_long_section_is_cut_at_blank_lines() -> None:
    text = "# Long\n" + ("word\n" * 4 + "\n") * 60
    cut_ = cut_text("a.md", text)
    assert_parts(cut_, text)
    lines = text.split("\n")
    assert all(lines[chunk.start - 2] == "" for chunk in cut_.chunks[1:])
    assert {chunk.names for chunk in cut_.chunks} == {("Long",)}


def test_windows_of_lines_overlap_as_configured() -> None:
    assert spans(cut_lines(100, 40, 10)) == [(1, 40), (31, 70), (61, 100)]
    assert spans(cut_lines(101, 40, 10)) == [(1, 40), (31, 70), (61, 100), (91, 101)]
    assert spans(cut_lines(40, 40, 0)) == [(1, 40)]
    assert spans(cut_lines(1, 50, 49)) == [(1, 1)]


def test_windows_by_weight_hold_whole_lines() -> None:
    assert spans(cut_weighed([3, 3, 3, 3], 6, 0)) == [(1, 2), (3, 4)]
    assert spans(cut_weighed([3, 3, 3, 3], 6, 3)) == [(1, 2), (2, 3), (3, 4)]
    assert spans(cut_weighed([9, 1, 9], 5, 0)) == [(1, 1), (2, 2), (3, 3)]
    assert spans(cut_weighed([], 5, 0)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", [(1, 0)]), ("\n", [(1, 1)]),
     ("x", [(1, 1)]), ("\n\n\n", [(1, 3)]), ("a\rb\rc", [(1, 1)]), ("a\n\nb", [(1, 3)])],
)  # fmt: skip
@pytest.mark.parametrize("path", ["a.py", "a.md", "a.txt", "a.json", "a"])
def test_units_of_the_smallest_files(path: str, text: str, expected: list[tuple[int, int]]) -> None:
    assert spans(cut_text(path, text).chunks) == expected


def test_parse_that_fails_falls_back_to_lines_and_is_reported() -> None:
    soup = "".join(random.Random(1).choices("(){}[]<>=+-\n\"'#\\", k=3000))
    cut_ = cut_text("a.c", soup)
    assert_parts(cut_, soup)
    assert {chunk.kind for chunk in cut_.chunks} == {"lines"}
    assert cut_.problem == "its syntax has errors, and no definition was found"


def test_parse_with_errors_is_used_and_reported() -> None:
    cut_ = cut_text("a.py", "def whole():\n    return 1\n\n\ndef torn(:\n    (\n")
    assert "whole" in cut_.chunks[0].names
    assert cut_.problem == "its syntax has errors"


def test_file_without_a_grammar_is_cut_by_lines_without_complaint() -> None:
    cut_ = cut_text("a.unknown", "x\n" * 120)
    assert spans(cut_.chunks) == [(1, 50), (51, 100), (101, 120)]
    assert cut_.problem is None
