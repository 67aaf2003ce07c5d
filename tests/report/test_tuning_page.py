"""What tuning shows says each thing once."""

from dataclasses import replace

from assay.report.commands.tuning import _p
from assay.report.comparing import compare_engines
from assay.types import Claim
from tests.report.labs import lab


def test_what_a_verdict_rests_on_does_not_repeat_it():
    row = compare_engines(lab({"mine": [1, 2] * 5, "other": [2, 1] * 5}), Claim(("RR@10",), "mine")).rows[0]
    assert str(row.verdict) == "inconclusive"
    assert _p(row) == f"p 1.0000, {row.label}"
    assert _p(replace(row, p=None)) == f"no p-value, {row.label}"
