"""Recall under a token budget, and tokens to the first line of a target."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError
from assay.scoring.measures import RecallAtTokens, TokensToHit
from assay.types import Hit, Span, Target

#: Ten lines of 8 bytes, 2 tokens each; ten of 5 bytes, which do not divide by four.
LINES = {"a": (8,) * 10, "b": (5,) * 10, "c": (8,) * 10}
SPANS = st.builds(
    lambda path, start, length: Span(path) if start == 0 else Span(path, start, start + length),
    st.sampled_from("abc"),
    st.integers(0, 12),
    st.integers(0, 5),
)


def test_recall_at_tokens_cuts_the_hit_that_crosses_at_the_line(value, hits, targets):
    found = hits("a:1-10")
    assert value(RecallAtTokens(9), found, targets("a:5-5"), lines=LINES) == 0.0  # four lines fit, the fifth needs 10
    assert value(RecallAtTokens(10), found, targets("a:5-5"), lines=LINES) == 1.0


def test_recall_at_tokens_rounds_a_hit_up_not_each_line(value, hits, targets):
    found = hits("b:1-4", "a:1-1")  # 20 bytes are 5 tokens, then 2
    assert value(RecallAtTokens(7), found, targets("a:1-1"), lines=LINES) == 1.0
    assert value(RecallAtTokens(6), found, targets("a:1-1"), lines=LINES) == 0.0


def test_recall_at_tokens_stops_at_the_hit_that_crosses(value, hits, targets):
    assert value(RecallAtTokens(5), hits("a:1-4", "c:1-1"), targets("c:1-1"), lines=LINES) == 0.0


def test_recall_at_tokens_pays_for_repeated_lines_again(value, hits, targets):
    assert value(RecallAtTokens(4), hits("a:1-2", "c:1-1"), targets("c:1-1"), lines=LINES) == 0.0
    assert value(RecallAtTokens(6), hits("a:1-2", "c:1-1"), targets("c:1-1"), lines=LINES) == 1.0
    assert value(RecallAtTokens(6), hits("a:1-2", "a:1-2", "c:1-1"), targets("c:1-1"), lines=LINES) == 0.0


def test_recall_at_tokens_reads_every_target_that_a_long_hit_holds(value, hits, targets):
    assert value(RecallAtTokens(20), hits("a"), targets("a:1-2", "a:9-10=1"), lines=LINES) == 1.0
    assert value(RecallAtTokens(10), hits("a"), targets("a:1-2", "a:9-10=1"), lines=LINES) == 0.5


def test_budget_measures_have_levels_and_grades(value, hits, targets):
    found, right = hits("a:1-2"), targets("a:9-10=1", "b=2")
    assert value(RecallAtTokens(50), found, right, lines=LINES) == 0.0
    assert value(RecallAtTokens(50, level="file"), found, right, lines=LINES) == 0.5
    assert value(RecallAtTokens(50, level="file", grade=2), found, right, lines=LINES) == 0.0
    assert math.isnan(value(RecallAtTokens(50, grade=2), found, targets("a=1"), lines=LINES))


def test_tokens_to_hit_counts_down_to_the_first_common_line(value, hits, targets):
    found = hits("b:1-4", "a:2-9")
    assert value(TokensToHit, found, targets("a:4-6"), lines=LINES) == 5 + 6  # lines 2, 3 and 4
    assert value(TokensToHit, found, targets("b:1-1"), lines=LINES) == 2  # five bytes
    assert value(TokensToHit, found, targets("a:1-3"), lines=LINES) == 5 + 2
    assert value(TokensToHit, found, targets("a"), lines=LINES) == 5 + 2


def test_tokens_to_hit_is_capped_for_misses_and_beyond(value, hits, targets):
    assert value(TokensToHit, hits("b"), targets("a"), lines=LINES) == 32_000
    assert value(TokensToHit(cap=7), hits("b"), targets("a"), lines=LINES) == 7
    assert value(TokensToHit(cap=7), hits("b", "a"), targets("a"), lines=LINES) == 7


def test_budget_measures_read_no_more_results_than_were_asked_for(value, hits, targets):
    found, right = hits("b:1-1", "a:1-1"), targets("a")
    assert value(RecallAtTokens(50), found, right, k=2, lines=LINES) == 1.0
    assert value(RecallAtTokens(50), found, right, k=1, lines=LINES) == 0.0
    assert value(TokensToHit, found, right, k=1, lines=LINES) == 32_000


def test_budget_measures_price_an_unknown_file_by_its_snippet(value, targets):
    found = (Hit("gone", 1, 2, snippet="x" * 40), Hit("a", 1, 1))
    assert value(TokensToHit, found, targets("a"), lines=LINES) == 12


def test_budget_measures_charge_nothing_for_lines_that_do_not_exist(value, hits, targets):
    assert value(TokensToHit, hits("a:50-90", "a:9-99", "b:1-1"), targets("b"), lines=LINES) == 4 + 2


def test_budget_measures_refuse_a_run_without_line_lengths(value, hits, targets):
    with pytest.raises(InputError, match="no line lengths"):
        value(TokensToHit, hits("a"), targets("a"))


def _walk(found: list[Hit], budget: int) -> set[tuple[str, int]]:
    """Read line by line, as plainly as it can be written."""
    read: set[tuple[str, int]] = set()
    left = budget
    for hit in found:
        last = len(LINES[hit.path])
        start, end = hit.start or 1, min(hit.end or last, last)
        nbytes = 0
        for line in range(start, end + 1):
            nbytes += LINES[hit.path][line - 1]
            if math.ceil(nbytes / 4) > left:
                return read
            read.add((hit.path, line))
        left -= math.ceil(nbytes / 4)
    return read


@given(st.lists(SPANS, max_size=6), st.lists(SPANS, min_size=1, max_size=3), st.integers(1, 60))
def test_recall_at_tokens_equals_reading_line_by_line(value, found, right, budget):
    hits = [Hit(s.path, s.start, s.end) for s in found]
    read = _walk(hits, budget)
    wanted = dict.fromkeys(right)
    met = sum(
        any(s.path == path and (s.start is None or s.start <= line <= s.end) for path, line in read) for s in wanted
    )
    measured = value(RecallAtTokens(budget), hits, [Target(s) for s in right], lines=LINES)
    assert measured == pytest.approx(met / len(wanted))


@given(st.lists(SPANS, max_size=6), st.lists(SPANS, min_size=1, max_size=3), st.integers(1, 60), st.integers(0, 30))
def test_recall_at_tokens_never_falls_with_the_budget(value, found, right, budget, more):
    hits, targets = [Hit(s.path, s.start, s.end) for s in found], [Target(s) for s in right]
    small, large = (value(RecallAtTokens(b), hits, targets, lines=LINES) for b in (budget, budget + more))
    assert small <= large


@given(st.lists(SPANS, max_size=6), st.lists(SPANS, min_size=1, max_size=3))
def test_tokens_to_hit_is_the_least_budget_with_recall(value, found, right):
    hits, targets = [Hit(s.path, s.start, s.end) for s in found], [Target(s) for s in right]
    needed = value(TokensToHit, hits, targets, lines=LINES)
    if needed < 32_000:
        assert value(RecallAtTokens(int(needed)), hits, targets, lines=LINES) > 0
        assert needed == 1 or value(RecallAtTokens(int(needed) - 1), hits, targets, lines=LINES) == 0
    else:
        assert value(RecallAtTokens(10_000), hits, targets, lines=LINES) == 0
