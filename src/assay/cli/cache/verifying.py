"""Verify the checksum of every cached artifact and remove broken ones.

The exit code is 0 when nothing was broken, else 4: something on this disk damages files.
"""

from __future__ import annotations

import argparse

from assay.cli.output import emit, info, pluralize
from assay.errors import AssayError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: everything is checked."""


def handle(args: argparse.Namespace) -> int:
    """Read everything and say what was broken and removed."""
    from assay.report.render.document import Block, Document, Paragraph
    from assay.store import ArtifactStore

    store = ArtifactStore()
    info(args, f"reading {store.root} ...")
    checked = sum(one.entries for one in store.usage())
    broken = store.verify()
    data = {"schema": "assay/cache-verify/1", "checked": checked, "broken": list(broken)}
    blocks: list[Block] = [Paragraph(f"{pluralize(checked, 'artefact')} checked; {_said(len(broken))}.")]
    blocks += [
        Paragraph(f"{name} was broken and is removed; it is made anew when needed", "warning") for name in broken
    ]
    emit(args, Document("The cache, checked", tuple(blocks)), data)
    return AssayError.exit_code if broken else 0


def _said(broken: int) -> str:
    return f"{broken} broken, and removed" if broken else "none is broken"
