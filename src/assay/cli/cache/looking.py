"""Show what the cache holds: entries, sizes, last use, and the cost of rebuilding."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from assay.cli.cache.kinds import others, shown_day, shown_size
from assay.cli.output import emit

if TYPE_CHECKING:
    from assay.report.render.document import Block


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there is nothing to choose."""


def handle(args: argparse.Namespace) -> int:
    """Add up and show."""
    from assay.corpus.cache import cache_dir
    from assay.report.render.document import Document
    from assay.store import KINDS, ArtifactStore

    store = ArtifactStore()
    known = {kind.name: kind for kind in KINDS}
    kept = [(one, True) for one in store.usage()]
    kept += [(one, False) for other in others() if (one := other.usage()) is not None]
    data = {
        "schema": "assay/cache/1",
        "folder": str(cache_dir()),
        "limit": store.limits.bytes,
        "artefacts": sum(one.bytes for one, own in kept if own),
        "bytes": sum(one.bytes for one, _ in kept),
        "kinds": [
            {
                "kind": one.kind,
                "artefacts": own,
                "entries": one.entries,
                "bytes": one.bytes,
                "oldest": shown_day(one.oldest),
                "newest": shown_day(one.newest),
                "about": known[one.kind].about if one.kind in known else "",
                "anew": known[one.kind].anew if one.kind in known else "",
                "share": one.bytes / store.limits.bytes if own and store.limits.bytes else None,
            }
            for one, own in kept
        ],
    }
    emit(args, Document(f"The cache at {data['folder']}", tuple(_blocks(data))), data)
    return 0


def _blocks(data: dict[str, Any]) -> list[Block]:
    from assay.report.render.document import Cell, Column, Paragraph, Table

    if not data["kinds"]:
        return [Paragraph("It is empty."), _meanings()]
    titles = ("kind", "entries", "size", "of the limit", "oldest use", "newest use")
    columns = tuple(Column(title, "left" if title == "kind" else "right") for title in titles)
    rows = tuple(
        tuple(
            Cell(text)
            for text in (
                one["kind"],
                f"{one['entries']:,}",
                shown_size(one["bytes"]),
                "" if one["share"] is None else f"{one['share']:.1%}",
                one["oldest"],
                one["newest"],
            )
        )
        for one in data["kinds"]
    )
    note = "Kinds without a share keep to no limit, and their dates are those of the last writing."
    total = f"{shown_size(data['artefacts'])} of {shown_size(data['limit'])} for artefacts; {shown_size(data['bytes'])}"
    return [Table(columns, rows, note), Paragraph(f"{total} in all."), _meanings()]


def _meanings() -> Block:
    from assay.report.render.document import Cell, Column, Table
    from assay.store import KINDS

    columns = tuple(map(Column, ("kind", "what it is", "to have it again")))
    return Table(columns, tuple((Cell(kind.name), Cell(kind.about), Cell(kind.anew)) for kind in KINDS))
