from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.records import Interval, Verdict
from assay.stats.verdicts import choose_verdict


def at(low: float, high: float) -> Interval:
    return Interval(low, high, 0.9, "cluster-t")


@pytest.mark.parametrize(
    ("difference", "p", "interval", "clusters", "expected"),
    [
        (-0.03, 0.01, at(-0.05, -0.01), 30, Verdict.WORSE),
        (0.03, 0.01, at(0.01, 0.05), 30, Verdict.BETTER),
        (0.005, 0.05, at(0.001, 0.009), 30, Verdict.BETTER),  # α itself rejects; better comes before equivalent
        (-0.005, 0.04, at(-0.009, -0.001), 30, Verdict.WORSE),
        (0.001, 0.6, at(-0.01, 0.012), 20, Verdict.EQUIVALENT),
        (0.001, 0.6, at(-0.01, 0.012), 19, Verdict.NOT_INFERIOR),
        (0.001, None, at(-0.01, 0.012), 5, Verdict.NOT_INFERIOR),
        (0.02, 0.06, at(-0.01, 0.05), 30, Verdict.NOT_INFERIOR),
        (0.001, 0.6, at(-0.02, 0.012), 30, Verdict.INCONCLUSIVE),  # touching the margin is not inside it
        (-0.03, 0.06, at(-0.06, 0.001), 30, Verdict.INCONCLUSIVE),
        (-0.3, None, at(-0.4, -0.2), 5, Verdict.INCONCLUSIVE),
        (0.0, 0.01, at(-0.3, 0.3), 30, Verdict.INCONCLUSIVE),
    ],
)
def test_the_first_rule_that_holds_decides(difference, p, interval, clusters, expected):
    assert choose_verdict(difference, p, interval, clusters) is expected


SWAPPED = {Verdict.WORSE: Verdict.BETTER, Verdict.BETTER: Verdict.WORSE, Verdict.EQUIVALENT: Verdict.EQUIVALENT}


@given(
    difference=st.floats(-0.2, 0.2),
    half=st.floats(0.001, 0.1),
    p=st.one_of(st.none(), st.floats(0, 1)),
    clusters=st.integers(2, 60),
)
def test_a_lower_is_better_measure_is_the_mirror_image(difference, half, p, clusters):
    interval = at(difference - half, difference + half)
    mirrored = at(-difference - half, -difference + half)
    one = choose_verdict(difference, p, interval, clusters)
    assert choose_verdict(-difference, p, mirrored, clusters, higher_is_better=False) is one
    swapped = choose_verdict(-difference, p, mirrored, clusters)
    if one in SWAPPED:
        assert swapped is SWAPPED[one]
