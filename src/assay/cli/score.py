"""Score a run again from its records, with other measures if you like; no engine is asked."""

from __future__ import annotations

import argparse

from assay.cli.options import add_claim, existing_folder, spec_of_run
from assay.cli.output import emit, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument(
        "--write", action="store_true", help="replace RESULTS.md, results.json, per-query.csv, report.html"
    )
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Score, print, and write where asked."""
    from assay.experiment import read_run
    from assay.report import analyse, document, results_json, write_reports

    folder = existing_folder(args.results)
    run = read_run(folder)
    results = analyse(run, spec_of_run(run, args))
    if args.write:
        write_reports(results, run, folder)
        say(args, f"written to {folder}/")
    emit(args, document(results), results_json(results))
    return 0
