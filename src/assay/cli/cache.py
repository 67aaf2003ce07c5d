"""Show, prune and verify the cache.

assay cache                                     every kind with its size, and when it was used
assay cache prune --to 1GB --older-than 30d     the least recently used go first, never what is in use
assay cache verify                              every artefact against its checksum; removes broken ones (exit code 4)

The cache is $ASSAY_CACHE_DIR, else the user's own. Artefacts (tables, vectors, cells, indexes) keep to
$ASSAY_CACHE_LIMIT by themselves, 10GB where it is not set. What is removed is made or fetched again when it is needed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from assay.cli.output import emit, info, pluralize
from assay.errors import AssayError, ConfigError, did_you_mean

if TYPE_CHECKING:
    from assay.report.render.document import Block


def look_command(args: argparse.Namespace) -> int:
    """Show what the cache holds: entries, sizes, last use, and the cost of rebuilding."""
    from assay.report.render.document import Document
    from assay.store import KINDS, LIMITED, Store

    store = Store()
    known = {kind.name: kind for kind in KINDS}
    kept = [(one, known[one.kind]) for one in store.usage()]
    data = {
        "schema": "assay/cache/1",
        "folder": str(store.root),
        "limit": store.limits.bytes,
        "artefacts": sum(one.bytes for one, kind in kept if kind in LIMITED),
        "bytes": sum(one.bytes for one, _ in kept),
        "kinds": [
            {
                "kind": one.kind,
                "artefacts": kind in LIMITED,
                "entries": one.entries,
                "bytes": one.bytes,
                "oldest": shown_day(one.oldest),
                "newest": shown_day(one.newest),
                "about": kind.about,
                "anew": kind.anew,
                "share": one.bytes / store.limits.bytes if kind in LIMITED and store.limits.bytes else None,
            }
            for one, kind in kept
        ],
    }
    emit(args, Document(f"The cache at {data['folder']}", tuple(_cache_blocks(data))), data)
    return 0


def _cache_blocks(data: dict[str, Any]) -> list[Block]:
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


def prune_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", metavar="SIZE", help="how much may stay, such as 1GB; by default the limit")
    parser.add_argument("--older-than", metavar="AGE", help="remove what was not used for so long, such as 30d or 12h")
    parser.add_argument("--kind", action="append", default=[], help="only this kind (repeatable)")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")


def prune_command(args: argparse.Namespace) -> int:
    """Remove cache entries that are old, or the least recently used until the rest fits.

    Without --kind, cells, indexes, tables, vectors and embeddings are pruned; other kinds only when named. Entries in
    use stay. Fetched trees are not locked while a run reads them, so do not prune trees during a run.
    """
    from assay.report.render.document import Document, Paragraph
    from assay.store import KINDS, LIMITED, Store, parse_age, parse_size

    most = None if args.to is None else parse_size(args.to, "--to")
    age = None if args.older_than is None else parse_age(args.older_than, "--older-than")
    known = [kind.name for kind in KINDS]
    for kind in args.kind:
        if kind not in known:
            hint = did_you_mean(kind, known) or f"kinds: {', '.join(sorted(known))}"
            raise ConfigError(f"--kind: nothing in the cache is of the kind {kind!r}", hint=hint)
    if most is None and age is None and not {kind.name for kind in LIMITED}.issuperset(args.kind):
        raise ConfigError("--kind: how much of it?", hint="add --to SIZE or --older-than AGE")
    total = asdict(Store().prune(most, age, args.kind, dry_run=args.dry_run))
    document = Document("The cache, pruned", (Paragraph(_pruned_text(total, dry_run=args.dry_run)),))
    emit(args, document, {"schema": "assay/cache-prune/1", "dry_run": args.dry_run, **total})
    return 0


def _pruned_text(data: Mapping[str, int], *, dry_run: bool) -> str:
    went = "would go" if dry_run else "went"
    held = pluralize(data["held"], "entry", "entries")
    stayed = f" {held} stayed because somebody uses them." if data["held"] else ""
    gone = pluralize(data["entries"], "entry", "entries")
    return f"{gone} {went}, {shown_size(data['bytes'])}; {shown_size(data['left'])} stay.{stayed}"


def verify_command(args: argparse.Namespace) -> int:
    """Verify the checksum of every cached artifact and remove broken ones.

    The exit code is 0 when nothing was broken, else 4: something on this disk damages files.
    """
    from assay.report.render.document import Document, Paragraph
    from assay.store import KINDS, Store

    store = Store()
    info(args, f"reading {store.root} ...")
    plain = {kind.name for kind in KINDS if kind.workspace or kind.name == "old"}
    checked = sum(one.entries for one in store.usage() if one.kind not in plain)
    broken = store.verify()
    data = {"schema": "assay/cache-verify/1", "checked": checked, "broken": list(broken)}
    blocks: list[Block] = [Paragraph(f"{pluralize(checked, 'artefact')} checked; {_verified_text(len(broken))}.")]
    blocks += [
        Paragraph(f"{name} was broken and is removed; it is made anew when needed", "warning") for name in broken
    ]
    emit(args, Document("The cache, checked", tuple(blocks)), data)
    return AssayError.exit_code if broken else 0


def _verified_text(broken: int) -> str:
    return f"{broken} broken, and removed" if broken else "none is broken"


_STEP = 1000


def shown_size(size: float) -> str:
    """Write a size for people: 1.5 GB."""
    for unit in ("B", "kB", "MB"):
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.2f} GB"


def shown_day(seconds: float) -> str:
    """Write the day of a date."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
