"""Turn a run into an exit code for CI.

  assay gate results --against baseline-results     each shared engine against its earlier run
  assay gate results --baseline keywords            each engine against another one of the same run
  assay gate results --require 'Hit@5>=0.70'        a floor (repeatable; may be all there is)

0 pass · 1 regression proven, or a floor missed · 3 inconclusive under --strict · 4 more than 5 % of an engine's
queries failed · 5 not comparable. Inconclusive is 0 with a warning otherwise.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from assay.cli.compare import between, inside
from assay.cli.options import add_claim, existing_folder, spec_of_run
from assay.cli.output import emit

if TYPE_CHECKING:
    from assay.report.gating import Gate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="folder of the candidate run (results)")
    parser.add_argument("--against", metavar="FOLDER", help="folder of the baseline run")
    parser.add_argument("--engine", metavar="NAME", help="gate this engine only")
    parser.add_argument("--require", action="append", default=[], metavar="RULE", help="a floor such as 'Hit@5>=0.70'")
    parser.add_argument("--strict", action="store_true", help="an inconclusive comparison exits with 3")
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Judge the run."""
    from assay.report.gating import gate_document

    gate = _gate(args)
    emit(args, gate_document(gate), {"schema": "assay/gate/1", "exit_code": gate.exit_code, **asdict(gate)})
    return gate.exit_code


def _gate(args: argparse.Namespace) -> Gate:
    """Check floors, failures and comparisons."""
    from assay.experiment import read_run
    from assay.report.gating import judge_gate, parse_floor
    from assay.stats.records import Comparison

    folder = existing_folder(args.results)
    floors = [parse_floor(text) for text in args.require]
    run = read_run(folder)
    spec = spec_of_run(run, args)
    comparison = None
    if args.against:
        comparison = between(args, existing_folder(args.against), folder)
    elif args.baseline or not floors:
        found = inside(args, folder)
        comparison = found if isinstance(found, Comparison) else None
    return judge_gate(run, spec, floors, comparison, engine=args.engine, strict=args.strict)
