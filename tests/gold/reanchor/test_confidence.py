"""Confidence of moves."""

import pytest

from assay.gold.reanchor.commits import ReanchorConfig
from assay.gold.reanchor.matching import MoveCandidate
from assay.gold.reanchor.moves import judge_confidence
from assay.gold.reanchor.sections import FileRange
from assay.types import Span

OLD = FileRange("a.py", 11, 40)  # 30 lines


@pytest.mark.parametrize(
    ("length", "confidence"), [(30, "sure"), (15, "sure"), (11, "sure"), (10, "low"), (120, "sure"), (121, "low")]
)
def test_a_range_that_grew_or_shrank_much_is_not_sure(length, confidence):
    found = MoveCandidate(Span("a.py", 1, length), 0.8, 0.8, "name", exact=False, reason="")
    assert judge_confidence(OLD, found, ReanchorConfig()) == confidence
