"""What may be claimed. The order of the rules is the contract (DESIGN.md, "Verdict")."""

from __future__ import annotations

from assay.stats.config import DEFAULT, StatsConfig
from assay.stats.records import Interval, Verdict


def decide(
    difference: float,
    p: float | None,
    equivalence: Interval,
    clusters: int,
    *,
    higher_is_better: bool = True,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    config: StatsConfig = DEFAULT,
    confirmed: bool = True,
) -> Verdict:
    """Return the first verdict that holds; `p` is adjusted for the family, `equivalence` is the 1 − 2α interval.

    `confirmed` is false for skewed differences that do not confirm the test, which assumes symmetry.
    """
    gain = difference if higher_is_better else -difference
    if p is not None and p <= alpha and gain != 0.0 and confirmed:
        return Verdict.BETTER if gain > 0.0 else Verdict.WORSE
    if equivalence.inside(margin) and clusters >= config.equivalence_clusters:
        return Verdict.EQUIVALENT
    worst_gain = equivalence.low if higher_is_better else -equivalence.high
    return Verdict.NOT_INFERIOR if worst_gain > -margin else Verdict.INCONCLUSIVE
