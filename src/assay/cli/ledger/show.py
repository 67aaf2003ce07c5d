"""Show one entry with its evidence."""

from __future__ import annotations

import argparse

from assay.cli.ledger.place import add_place, plan_of
from assay.cli.output import emit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("number", type=int, metavar="N", help="the entry's number")
    add_place(parser)


def handle(args: argparse.Namespace) -> int:
    """Find the entry and print it."""
    from assay.experiment.ledger import find_entry, read_ledger
    from assay.report.ledger import entry_document, entry_json

    entry = find_entry(read_ledger(plan_of(args).path), args.number)
    emit(args, entry_document(entry), entry_json(entry))
    return 0
