"""Merge the shards of a run and report the results.

Each part runs wherever it likes; the result is that of one run, byte for byte:

  assay run --shard 1/4 --out part       (and 2/4, 3/4, 4/4: here, or on other machines)
  assay merge part --out results
"""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.options import add_full, add_page, page_flags


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("parts", nargs="+", metavar="FOLDER|FILE", help="folders with shards, or shards themselves")
    parser.add_argument("--out", default="results", metavar="FOLDER", help="where the run goes (results)")
    parser.add_argument("--forget", action="store_true", help="drop the rows of earlier runs that do not fit this one")
    parser.add_argument("--parquet", action="store_true", help="write per-query.parquet too (extra: parquet)")
    add_page(parser)
    add_full(parser)


def handle(args: argparse.Namespace) -> int:
    """Read all shards, make the run, and go on as `assay run` does."""
    from assay.cli.run import write_report
    from assay.experiment import check_folder
    from assay.experiment.cells.outline import run_of
    from assay.experiment.running.experiments import CompletedRun
    from assay.experiment.shards import merge_shards
    from assay.report import require_parquet

    folder = check_folder(Path(args.out))
    page = page_flags(args)
    if args.parquet:
        require_parquet()
    whole = merge_shards(Path(part) for part in args.parts)
    carried = CompletedRun(run_of(whole.outline, whole.work), whole.work)
    return write_report(args, carried, whole.outline.claim, folder, whole.declared, page)
