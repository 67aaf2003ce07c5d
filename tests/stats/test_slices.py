from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.stats import compare_slices
from assay.types import Scores, Unit

from .conftest import B


def sliced_table(scores_of: Callable[..., Scores]) -> Scores:
    rng = np.random.default_rng(10)
    units = [
        Unit(
            "g",
            f"q{i}",
            form,
            "r",
            headline=form == "human",
            tags={"category": "ab"[i % 2], "set": "all", "id": str(i)},
        )
        for i in range(40)
        for form in ("human", "keyword")
    ]
    return scores_of({"a": rng.random(80), "b": rng.random(80)}, units=units)


def test_slices_are_forms_and_tag_values_adjusted_together(scores_of):
    found = compare_slices(sliced_table(scores_of), baseline="a", primary="nDCG@10", B=B)
    assert [(s.by, s.value, s.row.queries) for s in found] == [
        ("form", "human", 40),
        ("form", "keyword", 40),
        ("category", "a", 20),
        ("category", "b", 20),
    ]
    worst = max(s.row.p or 0 for s in found)
    assert max(s.row.p_adjusted or 0 for s in found) == pytest.approx(worst)
    assert all(s.row.verdict is None and not s.row.in_family for s in found)
