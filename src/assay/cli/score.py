"""Score a run again from its records, with other measures if you like; no engine is asked."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from assay.cli.options import add_claim, add_full, claim_for, log_look, read_results
from assay.cli.output import emit, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument(
        "--write", action="store_true", help="replace RESULTS.md, results.json, per-query.csv, report.html"
    )
    parser.add_argument(
        "--without-pooled", action="store_true", help="also score without the labels that engines' results brought up"
    )
    add_full(parser)
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Score, print, and write where asked."""
    from assay.report import analyse, document, results_json, write_reports
    from assay.report.unpooled import score_unpooled

    run = read_results(args.results)
    claim = claim_for(run, args)
    log_look(args, run, "score")
    results = analyse(run, claim)
    if args.write:
        write_reports(results, run, Path(args.results))
        say(args, f"written to {args.results}/")
    shown, data = document(results, full=args.full), results_json(results)
    if args.without_pooled:
        own = score_unpooled(run, claim, results)
        shown = replace(shown, blocks=(*shown.blocks, *own.blocks))
        data |= {"without_pooled": own.data}
    emit(args, shown, data)
    return 0
