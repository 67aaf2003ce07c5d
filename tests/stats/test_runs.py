from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.errors import NotComparableError
from assay.stats import RunNames, compare_scores
from assay.types import Scores

from .conftest import B, random_table


def test_compare_scores_pairs_runs_by_hash_and_says_how_many(scores_of):
    before = random_table(scores_of, 8, 100, engines=2)
    changed = tuple(replace(u, hash="new") if i < 10 else u for i, u in enumerate(before.units))
    order = list(range(99, -1, -1))
    after = Scores(
        before.engines,
        before.measures,
        tuple(changed[i] for i in order),
        np.clip(before.values[:, :, order] + 0.1, 0, 1),
    )
    found = compare_scores(before, after, primary="nDCG@10", names=RunNames("main", "branch"), B=B)
    assert found.notes[0] == "Compared on the 90 of 100 queries that are the same in main and branch."
    assert [(r.baseline, r.engine, r.queries) for r in found.rows] == [
        ("e0 (main)", "e0 (branch)", 90),
        ("e1 (main)", "e1 (branch)", 90),
    ]
    assert all(row.losses == 0 and row.difference > 0.05 for row in found.rows)


@pytest.mark.parametrize(("changed", "comparable"), [(20, True), (21, False)])
def test_compare_scores_refuses_below_eighty_percent(changed, comparable, scores_of):
    before = random_table(scores_of, 8, 100, engines=1)
    after = replace(before, units=tuple(replace(u, hash="x") if i < changed else u for i, u in enumerate(before.units)))
    if comparable:
        assert compare_scores(before, after, primary="nDCG@10", B=B).rows[0].queries == 80
    else:
        with pytest.raises(NotComparableError, match="only 79 of 100"):
            compare_scores(before, after, primary="nDCG@10", B=B)


def test_compare_scores_counts_queries_that_only_the_second_run_has(scores_of):
    long = random_table(scores_of, 8, 100, engines=1)
    short = replace(long, units=long.units[:70], values=long.values[:, :, :70])
    for a, b in ((long, short), (short, long)):
        with pytest.raises(NotComparableError, match="only 70 of 100"):
            compare_scores(a, b, primary="nDCG@10", B=B)


def test_compare_scores_does_not_trust_missing_hashes(scores_of):
    table = random_table(scores_of, 8, 100, engines=1)
    bare = replace(table, units=tuple(replace(u, hash="") for u in table.units))
    with pytest.raises(NotComparableError, match="only 0 of 100"):
        compare_scores(bare, bare, primary="nDCG@10", B=B)


def test_compare_scores_pairs_two_lone_engines_and_refuses_strangers(scores_of):
    table = random_table(scores_of, 8, 100, engines=1)
    row = compare_scores(table, replace(table, engines=("other",)), primary="nDCG@10", B=B).rows[0]
    assert (row.baseline, row.engine) == ("e0 (a)", "other (b)")
    two = random_table(scores_of, 8, 100, engines=2)
    with pytest.raises(NotComparableError, match="no engine in common"):
        compare_scores(two, replace(two, engines=("x", "y")), primary="nDCG@10", B=B)
