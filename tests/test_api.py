"""The public API as the README and DESIGN.md write it."""

from typing import Any

import assay
from assay.measures import RR, Hit, nDCG


def test_api_runs_from_gold_to_verdict(shop):
    gold = assay.load_gold("gold.yaml")
    engines: dict[str, Any] = {
        "mine": lambda query, k: ["shop/cart.py", "shop/tax.py"],
        "yours": lambda query, k: [assay.Hit("shop/tax.py", 6, 8, 1.0)],
    }
    run = assay.run(engines, gold, k=10)
    scores = assay.score(run, [nDCG @ 10, RR @ 10, Hit(grade=2) @ 5])
    verdict = assay.compare(scores, baseline="mine", primary=nDCG @ 10, margin=0.02)
    assert scores.values.shape == (2, 3, 9)
    assert [row.engine for row in verdict.rows] == ["yours"]
    assert verdict.rows[0].p is None  # three queries are too few clusters for a p-value
    assert verdict.rows[0].verdict is not None


def test_api_takes_one_gold_set_as_well_as_a_suite(shop):
    gold = assay.load_gold("gold.yaml").golds[0]
    assert len(assay.run({"mine": lambda q, k: []}, gold).engines[0].rankings) == 9
