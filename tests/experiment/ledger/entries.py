"""Entries to test a ledger with, without an engine or a run behind them."""

from dataclasses import replace
from pathlib import Path

from assay.experiment.ledger import (
    AcceptanceRule,
    ConditionResult,
    How,
    LedgerEngine,
    LedgerEntry,
    LedgerEvidence,
    add_entries,
)
from assay.stats.compare import RepositoryChange

EVIDENCE = LedgerEvidence(
    measure="nDCG@10",
    higher_is_better=True,
    k=10,
    difference=0.01,
    low=0.002,
    high=0.018,
    level=0.95,
    p=0.01,
    family=1,
    verdict="better",
    margin=0.02,
    alpha=0.05,
    queries=70,
    clusters=70,
    label="on these 2 repositories only",
    repositories=(RepositoryChange("r1", 40, 0.02, 0.02), RepositoryChange("r2", 30, -0.003, -0.003)),
)
ENTRY = LedgerEntry(
    title="stem boost",
    how="run",
    new=LedgerEngine("new", "c1", 0.81),
    old=LedgerEngine("old", "c0", 0.80),
    changes={"search.stem.files": (0.2, 0.4)},
    gold=("shop",),
    gold_hash="g0",
    parts=("dev",),
    corpora={"shop": "d0"},
    evidence=EVIDENCE,
    rule=AcceptanceRule(),
    accepted=True,
    reasons=(ConditionResult("the verdict is better", True),),
    assay="0.1.0",
)


def entry(
    number: int, *, accepted: bool = True, how: How = "run", gold: str = "shop", gain: float = 0.01
) -> LedgerEntry:
    """Make an entry that is unlike the others of other numbers."""
    evidence = replace(EVIDENCE, difference=gain)
    side = LedgerEngine(f"try {number}", f"c{number}", 0.8 + gain)
    return replace(
        ENTRY, title=f"change {number}", new=side, evidence=evidence, accepted=accepted, how=how, gold=(gold,)
    )


def add_some(path: Path, who: int, many: int) -> None:
    """Add entries one by one; here, a process that is spawned for it imports no test."""
    for number in range(many):
        add_entries(path, [entry(1000 * who + number)])
