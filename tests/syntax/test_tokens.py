"""Token counts: four UTF-8 bytes, rounded up; lines end at a newline and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.syntax.text import estimate_tokens, line_bytes


@pytest.mark.parametrize(("nbytes", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (4001, 1001)])
def test_approx4_rounds_up(nbytes, tokens):
    assert estimate_tokens(nbytes) == tokens


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("", ()),
        ("\n", (1,)),
        ("a", (1,)),
        ("a\n", (2,)),
        ("a\nbc", (2, 2)),
        ("a\r\nb\r\n", (3, 3)),
        ("é→\n\n", (6, 1)),
        ("a\x0cb\u2028c\rd\n", (10,)),  # form feed, line separator and a lone CR end no line
    ],
)
def test_line_bytes_counts_each_line(text, lengths):
    assert line_bytes(text) == lengths


@given(st.text())
def test_line_bytes_sum_to_the_whole(text):
    lengths = line_bytes(text)
    assert sum(lengths) == len(text.encode())
    assert len(lengths) == text.count("\n") + (not text.endswith("\n") and bool(text))


def test_line_bytes_survives_a_lone_surrogate():
    assert line_bytes("a\ud800\nb") == (5, 1)
