from __future__ import annotations

import numpy as np

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
