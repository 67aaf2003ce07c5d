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

from assay.cli.common.options import add_claim, claim_for, log_look, read_results, refuse
from assay.cli.common.output import emit

if TYPE_CHECKING:
    from assay.report.commands.gating import Gate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="folder of the candidate run (results)")
    parser.add_argument("--against", metavar="FOLDER", help="folder of the baseline run")
    parser.add_argument("--engine", metavar="NAME", help="gate this engine only")
    parser.add_argument("--require", action="append", default=[], metavar="RULE", help="a floor such as 'Hit@5>=0.70'")
    parser.add_argument("--strict", action="store_true", help="an inconclusive comparison exits with 3")
    parser.add_argument(
        "--allow-changed-corpus",
        action="store_true",
        help="compare runs whose corpus changed in between; said in the result",
    )
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Judge the run."""
    from assay.report.commands.gating import gate_document

    gate = _gate(args)
    emit(args, gate_document(gate), {"schema": "assay/gate/1", "exit_code": gate.exit_code, **asdict(gate)})
    return gate.exit_code


def _gate(args: argparse.Namespace) -> Gate:
    """Check floors, failures and comparisons."""
    from assay.report.commands.gating import judge_gate, parse_floor
    from assay.report.comparing import compare_engines, compare_runs

    floors = [parse_floor(text) for text in args.require]
    run = read_results(args.results)
    claim = claim_for(run, args)
    log_look(args, run, "gate")
    comparison, known = None, None
    if args.against:
        refuse(args, "two runs", "baseline")
        old = read_results(args.against)
        known = [engine.name for engine in old.engines]
        names = (args.against, args.results)
        comparison = compare_runs(old, run, claim, names, args.engine, moved=args.allow_changed_corpus)
    elif args.baseline or not floors:
        comparison = compare_engines(run, claim, args.engine)
    return judge_gate(run, claim, floors, comparison, engine=args.engine, strict=args.strict, known=known)
