"""List accesses to the sealed queries of a set."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from assay.cli.output import emit, pluralize
from assay.errors import GoldError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("set", metavar="SET", help="the gold file")


def handle(args: argparse.Namespace) -> int:
    """Show who looked, when, with what."""
    from assay.gold.access_log import access_log_path, read_access_log
    from assay.report.render.document import Document, Paragraph, table

    path = Path(args.set)
    if not path.is_file() and not access_log_path(path).is_file():
        wrong = "is a folder" if path.is_dir() else "there is no such file"
        raise GoldError(wrong, file=path, hint="name the gold file")
    looks = read_access_log(path)
    rows = [
        [look.when, look.who, look.command, look.divided or ", ".join(look.engines), str(look.sealed)] for look in looks
    ]
    seen = sum(not look.divided for look in looks)
    again = f"; divided anew {pluralize(len(looks) - seen, 'time')} since" if seen < len(looks) else ""
    many = f"{pluralize(seen, 'look')} at the sealed queries of {path.name}{again}."
    listed = (table(["when", "who", "command", "engines", ">sealed"], rows),) if rows else ()
    data = {"schema": "assay/gold-looks/1", "file": str(path), "looks": [asdict(look) for look in looks]}
    emit(args, Document("Looks", (Paragraph(many), *listed)), data)
    return 0
