from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.base import EngineReply
from assay.engines.text_output import TEXT_LIMITS, parse_rules, parse_text
from assay.errors import EngineError
from assay.types import Hit

HEADER = r"^### (?P<path>\S+):(?P<start>\d+)-(?P<end>\d+)"


def read(text: str, pattern: str = "", nothing: str = "") -> EngineReply:
    return parse_text(text, parse_rules(pattern, nothing, "", "engine"), frozenset({"a.py", "Makefile"}))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (HEADER, "Found:\n\n### a.py:10-20\n"),
        (r"^\*\*(?P<path>[^*]+)\*\* \(lines (?P<start>\d+)-(?P<end>\d+)\)", "**a.py** (lines 10-20)"),
        (r"^File: (?P<path>.+)\nLines: (?P<start>\d+)-(?P<end>\d+)$", "1.\nFile: a.py\nLines: 10-20\nScore: 3"),
        (r"^\d+\. (?P<path>.+)$", "1. a.py:10-20"),
    ],
)
def test_patterns_read_headers_that_are_declared(pattern: str, text: str) -> None:
    assert read(text, pattern).hits == (Hit("a.py", 10, 20),)


@pytest.mark.parametrize("text", ["### a.py:10-20\n", "**a.py** (lines 10-20)\n", "File: a.py\nLines: 10-20\n"])
def test_headers_are_not_guessed(text: str) -> None:
    assert read(f"Makefile\n{text}").hits == (Hit("Makefile"),)


def test_patterns_read_scores_and_a_single_line() -> None:
    pattern = r"^(?P<path>\S+) (?P<start>\d+)(?: (?P<score>\S+))?$"
    assert read("a.py 3 -0.5\na.py 4\na.py 5 high", pattern).hits == (
        Hit("a.py", 3, 3, -0.5),
        Hit("a.py", 4, 4),
        Hit("a.py", 5, 5),
    )


def test_fences_are_the_text_of_the_result_above_them() -> None:
    text = (
        "### a.py:1-2\n```python\n### b.py:3-4\nc.py:5\n```\n### d.py:6-7\nno text\n"
        "### e.py:8-9\n~~~~\n```\n~~~\nx\n~~~~\n```\nsecond\n```\n"
    )
    assert read(text, HEADER).hits == (
        Hit("a.py", 1, 2, None, "### b.py:3-4\nc.py:5"),
        Hit("d.py", 6, 7),
        Hit("e.py", 8, 9, None, "```\n~~~\nx"),
    )
    assert read("a.py:1\n```\nb.py:2\n```\n").hits == (Hit("a.py", 1, 1, None, "b.py:2"),)


def test_fences_that_are_not_closed_are_told() -> None:
    answer = read("### a.py:1-2\n```\nx\n### b.py:3-4\n", HEADER)
    assert answer.hits == (Hit("a.py", 1, 2, None, "x\n### b.py:3-4\n"),)
    assert answer.notes == ("unclosed ``` fence at line 2; locations after it were ignored",)


def test_lines_that_are_no_location_are_counted() -> None:
    assert read("3 results:\na.py:3\nDone.\n").notes == ("2 of 3 lines have no location and were ignored",)
    assert read("a.py:3\n").notes == ()


def test_patterns_that_match_nothing_are_told() -> None:
    with pytest.raises(EngineError, match="`pattern` does not match the output; it starts with 'a.py:3'") as caught:
        read("a.py:3", HEADER)
    assert "nothing = '…'" in str(caught.value.hint)
    assert read("", HEADER) == read("\n \n", HEADER) == EngineReply(())


def test_patterns_see_no_more_of_a_line_than_a_path_can_need() -> None:
    text = "x" * 1_000_000 + "\n### a.py:1-2\n"  # quadratic in the line: all of it would take hours
    assert read(text, r"x*y|" + HEADER).hits == (Hit("a.py", 1, 2),)
    far = "x" * TEXT_LIMITS.line + " a.py"
    assert read(f"{far}\nb a.py\n", r" (?P<path>a\.py)$").hits == (Hit("a.py"),)


@given(st.text(max_size=200), st.sampled_from(["", HEADER, r"(?P<path>\S+)"]))
def test_texts_of_any_kind_are_read_or_refused(text: str, pattern: str) -> None:
    with suppress(EngineError):
        assert all(hit.path for hit in read(text, pattern).hits)
