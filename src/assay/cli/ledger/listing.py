"""List recorded changes and their outcomes."""

from __future__ import annotations

import argparse

from assay.cli.ledger.place import add_place, plan_of
from assay.cli.output import emit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    add_place(parser)
    parser.add_argument(
        "--markdown", action="store_true", default=argparse.SUPPRESS, help="print the table as Markdown"
    )


def handle(args: argparse.Namespace) -> int:
    """Read the ledger and print it."""
    from assay.experiment.ledger import read_ledger
    from assay.report.ledger import ledger_document, ledger_json
    from assay.report.render.markup import to_markdown

    book = read_ledger(plan_of(args).path)
    document = ledger_document(book)
    if getattr(args, "markdown", False) and not args.json:
        print(to_markdown(document), end="")  # noqa: T201  # stdout is the result
    else:
        emit(args, document, ledger_json(book))
    return 0
