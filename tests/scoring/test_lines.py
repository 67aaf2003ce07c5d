"""Line measures, which penalize long hits."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.measures import LineP, LineR, R, SpanR
from assay.types import Hit, Span, Target

LENGTH = 25
LINES = dict.fromkeys("ab", (10,) * LENGTH)
SPANS = st.builds(
    lambda path, start, length: Span(path) if start == 0 else Span(path, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 20),
    st.integers(0, 30),
)


def _lines(spans: Iterable[Span]) -> set[tuple[str, int]]:
    return {(s.path, line) for s in spans for line in range(s.start or 1, min(s.end or LENGTH, LENGTH) + 1)}


@given(st.lists(SPANS, max_size=6), st.lists(SPANS, min_size=1, max_size=4))
def test_line_recall_and_precision_count_sets_of_lines(value, found, right):
    hits, targets = [Hit(s.path, s.start, s.end) for s in found], [Target(s) for s in right]
    returned, wanted = _lines(dict.fromkeys(found)), _lines(right)
    both = len(returned & wanted)
    assert value(LineR @ 10, hits, targets, lines=LINES) == pytest.approx(both / len(wanted))
    assert value(LineP @ 10, hits, targets, lines=LINES) == pytest.approx(both / max(len(returned), 1))


def test_line_measures_cut_at_k(value, hits, targets):
    found = hits("a:1-5", "a:6-10")
    assert value(LineR @ 1, found, targets("a:1-10"), lines=LINES) == 0.5
    assert value(LineR @ 2, found, targets("a:1-10"), lines=LINES) == 1.0


def test_line_measures_take_whole_files_at_their_length(value, hits, targets):
    assert value(LineR @ 1, hits("a:1-5"), targets("a"), lines=LINES) == 5 / LENGTH
    assert value(LineP @ 1, hits("a"), targets("a:1-5"), lines=LINES) == 5 / LENGTH


def test_line_measures_take_an_unknown_file_as_far_as_it_was_named(value, hits, targets):
    assert value(LineP @ 1, hits("z"), targets("z:1-5"), lines=LINES) == 1.0
    assert value(LineP @ 2, hits("a:1-5", "gone"), targets("a:1-5"), lines=LINES) == 5 / 6


def test_line_measures_restrict_to_a_grade(value, hits, targets):
    right = targets("a:1-5=1", "a:6-10=2")
    assert value(LineR @ 1, hits("a:1-5"), right, lines=LINES) == 0.5
    assert value(LineR(grade=2) @ 1, hits("a:1-5"), right, lines=LINES) == 0.0
    assert math.isnan(value(LineR(grade=2) @ 1, hits("a:1-5"), targets("a:1-5=1"), lines=LINES))


def test_line_precision_of_nothing_is_zero(value, targets):
    assert value(LineP @ 10, (), targets("a:1-5"), lines=LINES) == 0.0


def test_span_recall_makes_size_pay_where_overlap_does_not(value, hits, targets):
    found, right = hits("a:1-25"), targets("a:10-11")
    assert value(R(level="lines") @ 10, found, right, lines=LINES) == 1.0
    assert value(SpanR(iou=0.3) @ 10, found, right, lines=LINES) == 0.0
    assert value(SpanR(iou=0.08) @ 10, found, right, lines=LINES) == 1.0  # 2 of 25 lines is exactly it


def test_span_recall_is_one_to_one(value, hits, targets):
    right = targets("a:1-10", "a:2-11")
    assert value(SpanR(iou=0.3) @ 10, hits("a:1-11"), right, lines=LINES) == 0.5
    assert value(SpanR(iou=0.3) @ 10, hits("a:1-11", "a:1-10"), right, lines=LINES) == 1.0


def test_span_recall_takes_whole_files_at_their_length(value, hits, targets):
    assert value(SpanR(iou=0.5) @ 10, hits("a:1-13"), targets("a"), lines=LINES) == 1.0
    assert value(SpanR(iou=0.5) @ 10, hits("a:1-12"), targets("a"), lines=LINES) == 0.0
