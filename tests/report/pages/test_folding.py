"""Texts in narrow columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from assay.report.render.terminal_text import fold


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("+0.301 [+0.236, +0.365]", 10, ["+0.301", "[+0.236,", "+0.365]"]),
        ("nDCG(level=lines)@10", 18, ["nDCG(level=lines)", "@10"]),
        ("nDCG(level=lines)@10", 9, ["nDCG(", "level=", "lines)@10"]),
        ("Lib/asyncio/events.py:120-160 x", 14, ["Lib/asyncio/", "events.py:", "120-160 x"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("東京東京", 5, ["東京", "東京"]),
        ("a\tb\n\nc", 9, ["a b", "", "c"]),
        ("", 9, [""]),
    ],
)
def test_texts_are_cut_where_they_are_read_apart(text, width, lines):
    assert fold(text, width) == lines


@given(st.text("ab/:(0.東 \n", max_size=60), st.integers(2, 30))
def test_nothing_but_spaces_is_lost_and_no_line_is_too_long(text, width):
    lines = fold(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cell_len(line) <= width for line in lines)
