"""Locate the ledger."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.experiment.ledger import LedgerPlan


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the ledger; suppressed, or one behind an action's name would undo one before it."""
    suppressed = argparse.SUPPRESS
    parser.add_argument("--ledger", metavar="FILE", default=suppressed, help="the ledger (ledger.jsonl)")
    parser.add_argument("--config", metavar="FILE", default=suppressed, help="an assay.toml (this folder's, if any)")


def plan_of(args: argparse.Namespace) -> LedgerPlan:
    """Find the ledger and the rule in force."""
    from assay.cli.options import declared
    from assay.experiment.ledger import ledger_plan

    return ledger_plan(
        declared(getattr(args, "config", None)), getattr(args, "ledger", None), getattr(args, "rule", None)
    )
