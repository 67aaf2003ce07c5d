"""Lines are counted as editors number them, and as their bytes are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.syntax.text import count_lines, line_at, line_bytes, split_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", 0), ("a", 1), ("a\n", 1), ("\n", 1), ("a\n\n", 2), ("a\r\nb", 2), ("a\x0cb\u2028c\rd\n", 1)],
)
def test_count_lines_counts_as_editors_do(text, lines):
    assert count_lines(text) == lines


@given(st.text(alphabet="a\n\r\u2028"))
def test_count_lines_has_a_length_for_each(text):
    assert count_lines(text) == len(line_bytes(text))


@given(st.text(alphabet="a\n\r\u2028", min_size=1), st.data())
def test_line_at_numbers_the_line_a_character_stands_in(text, data):
    position = data.draw(st.integers(0, len(text) - 1))
    assert line_at(text, position) == count_lines(text[: position + 1])


@given(st.text(alphabet="a\r\n\x0c"))
def test_split_lines_gives_as_many_as_are_counted(text):
    lines = split_lines(text)
    assert len(lines) == count_lines(text)
    assert "\n".join(lines) == (text[:-1] if text.endswith("\n") else text)
