"""Score a run again from its records, with other measures if you like; no engine is asked."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.options import add_claim, add_full, claim_for, read_results
from assay.cli.output import emit, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument(
        "--write", action="store_true", help="replace RESULTS.md, results.json, per-query.csv, report.html"
    )
    add_full(parser)
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Score, print, and write where asked."""
    from assay.report import analyse, document, results_json, write_reports

    run = read_results(args.results)
    results = analyse(run, claim_for(run, args))
    if args.write:
        write_reports(results, run, Path(args.results))
        say(args, f"written to {args.results}/")
    emit(args, document(results, full=args.full), results_json(results))
    return 0
