"""Verify that no line of the ledger was changed, removed or moved; exit code 2 if one was."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from assay.cli.ledger.place import add_place, plan_of
from assay.cli.output import emit, pluralize


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    add_place(parser)


def handle(args: argparse.Namespace) -> int:
    """Follow the chain and tell all that is wrong with it."""
    from assay.experiment.ledger import notes_on, scan
    from assay.report.render.document import Document, Paragraph

    path = plan_of(args).path
    found = scan(path)
    notes = notes_on(path, found)
    wrong = [Paragraph(f"{path}:{problem.line}: {problem.text}", "bad") for problem in found.problems]
    entries = pluralize(len(found.links), "entry", "entries")
    title = f"{path}: {pluralize(len(wrong), 'problem')}" if wrong else f"{path}: {entries}, all in place"
    data = {
        "schema": "assay/ledger-verify/1",
        "file": str(path),
        "entries": len(found.links),
        "problems": [asdict(problem) for problem in found.problems],
        "notes": list(notes),
    }
    emit(args, Document(title, (*wrong, *(Paragraph(note, "warning") for note in notes))), data)
    return 2 if wrong else 0
