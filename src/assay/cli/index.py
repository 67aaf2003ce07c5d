"""Build or refresh the index of a directory and show its contents.

The index lies in the user's cache ($ASSAY_INDEX_DIR, or $ASSAY_CACHE_DIR, or the XDG cache); nothing is written into
the folder itself. Only files whose contents changed are read again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import emit, info
from assay.cli.search_options import add_folder, add_settings, config_of, folder_of, workers_of

if TYPE_CHECKING:
    from assay.report.render.document import Block
    from assay.search.building import OpenedTable

_SHOWN = 5  # examples of a kind; --json has them all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    add_folder(parser)
    parser.add_argument("--rebuild", action="store_true", help="forget what is kept and read every file again")
    add_settings(parser)


def handle(args: argparse.Namespace) -> int:
    """Open the index as a search would, and report."""
    folder = folder_of(args.path)
    config, workers = config_of(args, folder), workers_of(args)
    from assay.report.render.document import Document
    from assay.search.building import index_key, open_table
    from assay.search.dense import embed_table
    from assay.search.index_files import index_folder

    if args.rebuild:
        _forget(index_folder(folder, index_key(config.index)))
    info(args, f"indexing {folder.resolve()} ...")
    began = time.perf_counter()
    opened = open_table(folder, config.index, workers, keep=True)
    embed_table(opened.table, config.dense, opened.folder)
    data = _data(opened, time.perf_counter() - began)
    emit(args, Document(f"The index of {folder.resolve()}", tuple(_blocks(data))), data)
    return 0


def _forget(folder: Path) -> None:
    for file in sorted(folder.glob("*.assay")):
        file.unlink(missing_ok=True)


def _data(opened: OpenedTable, seconds: float) -> dict[str, Any]:
    files = opened.table.files
    problems = [{"path": path, "problem": text} for path, text in zip(files.paths, files.problems, strict=True) if text]
    return {
        "schema": "assay/index/1",
        "folder": str(opened.corpus.root.resolve()),
        "index": str(opened.folder),
        "bytes": sum(file.stat().st_size for file in opened.folder.glob("*.assay")),
        "files": len(files),
        "units": len(opened.table.units),
        "changed": opened.changed,
        "seconds": round(seconds, 3),
        "languages": dict(Counter(language or "none" for language in files.languages).most_common()),
        "skipped": dict(sorted(Counter(one.reason for one in opened.corpus.skipped).items())),
        "skipped_files": [{"path": one.path, "reason": one.reason} for one in opened.corpus.skipped],
        "unparsed": problems,
        "notes": [*opened.corpus.notes, *opened.notes],
    }


def _blocks(data: dict[str, Any]) -> list[Block]:
    from assay.report.render.document import Paragraph

    size = f"{data['files']:,} files in {data['units']:,} units"
    blocks: list[Block] = [
        Paragraph(f"{size}; {data['changed']:,} read now, in {data['seconds']:.2f} s."),
        Paragraph(f"{data['bytes'] / 1e6:.1f} MB at {data['index']}"),
        Paragraph(_counted("Languages", data["languages"])),
    ]
    if data["skipped"]:
        examples = ", ".join(one["path"] for one in data["skipped_files"][:_SHOWN])
        blocks.append(Paragraph(f"{_counted('Skipped', data['skipped'])} Such as {examples}.", "quiet"))
    if data["unparsed"]:
        shown = "; ".join(f"{one['path']} ({one['problem']})" for one in data["unparsed"][:_SHOWN])
        blocks.append(Paragraph(f"{len(data['unparsed'])} did not parse and were cut by lines: {shown}.", "warning"))
    return blocks + [Paragraph(note, "warning") for note in data["notes"]]


def _counted(title: str, counts: dict[str, int]) -> str:
    return f"{title}: {', '.join(f'{name} {count:,}' for name, count in counts.items()) or 'none'}."
