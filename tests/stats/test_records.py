from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from assay.stats import records
from assay.stats.records import one_digit


def test_records_are_frozen_and_slotted():
    kinds = [kind for kind in vars(records).values() if is_dataclass(kind)]
    assert len(kinds) >= 10
    assert all("__slots__" in vars(kind) for kind in kinds)
    with pytest.raises(FrozenInstanceError):
        records.ValueRange().low = 1.0  # type: ignore[misc]
    assert {field.name for field in fields(records.ComparisonRow)} >= {
        "d_z",
        "worse_share",
        "icc",
        "effective_n",
        "mde",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.014, "0.01"),
        (0.0096, "0.01"),
        (0.095, "0.1"),
        (0.99, "1"),
        (3.4, "3"),
        (12.0, "10"),
        (0.00034, "0.0003"),
        (0, "0"),
    ],
)
def test_one_digit_keeps_one(value, text):
    assert one_digit(value) == text
