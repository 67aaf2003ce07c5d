from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.stats import means


def test_means_carry_the_mean_over_repositories(scores_of):
    table = scores_of({"a": [1.0] * 9 + [0.0]}, [0] * 9 + [1])
    row = means(table)[0]
    assert (row.mean, row.repository_mean) == (0.9, 0.5)
    assert (row.queries, row.repositories, row.interval.method) == (10, 2, "wilson")


def test_means_leave_out_what_does_not_apply(scores_of):
    values = np.array([[0.5, 0.7, np.nan], [np.nan] * 3])
    rows = means(scores_of({"a": values}, measures=["nDCG@10", "RR@10"]))
    assert [(row.measure, row.mean, row.queries, row.left_out) for row in rows] == [("nDCG@10", 0.6, 2, 1)]


def test_equal_values_of_shared_targets_count_as_one_query(scores_of):
    alone = scores_of({"e": np.ones(40)})
    units = tuple(replace(unit, shared=f"s{at // 4}") for at, unit in enumerate(alone.units))
    apart, shared = (means(table)[0] for table in (alone, replace(alone, units=units)))
    ten = means(scores_of({"e": np.ones(10)}))[0]
    assert (apart.effective_n, shared.effective_n) == (40, 10)
    assert shared.interval.low == pytest.approx(ten.interval.low, abs=0.02)
    assert shared.interval.low < apart.interval.low
