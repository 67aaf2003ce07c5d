from __future__ import annotations

import statistics

import numpy as np
import pytest

from assay.stats import compare, plan_claim
from assay.stats.paired import Components
from assay.stats.power import plan

from .conftest import B, random_table


def test_plan_claim_agrees_with_the_minimal_difference_of_the_comparison(scores_of):
    table = random_table(scores_of, 1, 200, engines=2)
    row = compare(table, baseline="e0", primary="nDCG@10", B=B).rows[0]
    assert row.mde is not None
    found = plan_claim(table, baseline="e0", engine="e1", primary="nDCG@10", delta=row.mde)
    assert found.queries == pytest.approx(200, rel=0.1)
    assert found.mde_now == pytest.approx(row.mde, rel=0.05)


def test_the_variance_of_a_pilot_in_one_repository_is_the_sample_variance(scores_of):
    differences = np.array([0.0, 0.1, 0.2, 0.6])
    table = scores_of({"old": np.zeros(4), "new": differences})
    found = plan_claim(table, baseline="old", engine="new", primary="nDCG@10", delta=0.2)
    sample = Components(0.0, statistics.variance(differences.tolist()), 1, 4.0)
    assert found == plan(sample, 0.2)
