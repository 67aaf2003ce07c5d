from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.paired import can_decide
from assay.stats.verdicts import benjamini_hochberg, holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def brute_holm(p: Sequence[float]) -> list[float]:
    """Smallest level at which the step-down procedure rejects each, by its definition."""

    def rejected(alpha: float) -> set[int]:
        found: set[int] = set()
        for step, i in enumerate(sorted(range(len(p)), key=lambda i: (p[i], i))):
            if p[i] * (len(p) - step) > alpha:
                break
            found.add(i)
        return found

    levels = sorted({min(1.0, q * m) for q in p for m in range(1, len(p) + 1)} | {1.0})
    return [next((a for a in levels if i in rejected(a)), 1.0) for i in range(len(p))]


@given(p=p_values)
def test_holm_equals_the_step_down_procedure(p):
    assert list(holm(p)) == pytest.approx(brute_holm(p), rel=1e-12)


@given(p=p_values)
def test_benjamini_hochberg_equals_scipy(p):
    assert list(benjamini_hochberg(p)) == pytest.approx(list(stats.false_discovery_control(p)), rel=1e-12)


@given(p=p_values)
def test_adjusted_p_values_are_ordered_and_never_smaller(p):
    for adjusted in (holm(p), benjamini_hochberg(p)):
        assert all(q <= a <= 1 or a == pytest.approx(q) for q, a in zip(p, adjusted, strict=True))
    assert all(h >= b - 1e-12 for h, b in zip(holm(p), benjamini_hochberg(p), strict=True))


def test_an_empty_family_is_empty():
    assert holm([]) == benjamini_hochberg([]) == ()


@pytest.mark.parametrize(
    ("p", "family", "expected"),
    [(2 / 64, 1, True), (2 / 64, 2, False), (None, 1, False), (1e-4, 500, True), (1e-4, 501, False)],
)
def test_can_decide_compares_the_smallest_p_times_the_family(p, family, expected):
    assert can_decide(p, family, 0.05) is expected
