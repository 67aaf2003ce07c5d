"""Keep a ledger of changes: evidence, decision rule, accepted or rejected.

assay ledger                                              the table, with the running total of what was accepted
assay ledger add results --engine new --baseline old --title "stem boost"
assay ledger add results --against results-before --engine mine
assay ledger show 3                                       one entry with all that it rests on
assay ledger verify                                       is any line changed, removed or moved?

`assay ablate --ledger` and `assay tune --ledger` add theirs. The file is ledger.jsonl beside assay.toml, and is only
ever added to: each line holds the hash of the one before.
"""

from __future__ import annotations

import argparse

from assay.cli.actions import add_actions, dispatch
from assay.cli.ledger import add, listing, show, verify

handle = dispatch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions; without one, the table is shown."""
    listing.add_arguments(parser)
    add_actions(parser, {"list": listing, "add": add, "show": show, "verify": verify}, usual=listing)
