"""Check every artefact against its checksum, and remove those that are broken."""

from __future__ import annotations

import argparse

from assay.cli.output import counted, emit, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: everything is checked."""


def handle(args: argparse.Namespace) -> int:
    """Read everything and say what was broken."""
    from assay.artefacts import Artefacts
    from assay.report.pages.document import Block, Document, Paragraph

    store = Artefacts()
    say(args, f"reading {store.root} ...")
    checked = sum(one.entries for one in store.usage())
    broken = store.verify()
    data = {"schema": "assay/cache-verify/1", "checked": checked, "broken": list(broken)}
    blocks: list[Block] = [Paragraph(f"{counted(checked, 'artefact')} checked; {len(broken)} broken.")]
    blocks += [Paragraph(f"{name} was broken, and is made anew when it is needed", "warning") for name in broken]
    emit(args, Document("The cache, checked", tuple(blocks)), data)
    return 0
