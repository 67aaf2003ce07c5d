"""Numbers as every table writes them."""

from dataclasses import dataclass

import pytest

from assay.report.render.formatting import count, difference_text, format_interval, mean_text, signed_ends


@dataclass(frozen=True)
class Two:
    low: float
    high: float


def test_intervals_means_and_differences():
    assert format_interval(Two(0.1234, 0.5)) == "[0.123, 0.500]"
    assert signed_ends(Two(-0.1, 0.2)) == "[-0.100, +0.200]"
    assert mean_text(0.5, Two(0.444, 0.556)) == "0.500 [0.44, 0.56]"
    assert difference_text(0.05, Two(-0.1, 0.2)) == "+0.050 [-0.10, +0.20]"


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("query", "queries"), "1 query"),
        (0, ("query", "queries"), "0 queries"),
        (1200, ("gold set",), "1,200 gold sets"),
        (1, ("gold set",), "1 gold set"),
    ],
)
def test_numbers_have_their_nouns(number, nouns, text):
    assert count(number, *nouns) == text
