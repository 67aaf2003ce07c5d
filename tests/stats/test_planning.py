from __future__ import annotations

import pytest

from assay.stats import compare, plan_claim

from .conftest import B, random_table


def test_plan_claim_agrees_with_the_minimal_difference_of_the_comparison(scores_of):
    table = random_table(scores_of, 1, 200, engines=2)
    row = compare(table, baseline="e0", primary="nDCG@10", B=B).rows[0]
    assert row.mde is not None
    found = plan_claim(table, baseline="e0", engine="e1", primary="nDCG@10", delta=row.mde)
    assert found.queries == pytest.approx(200, rel=0.03)
    assert found.mde_now == pytest.approx(row.mde, rel=0.02)
