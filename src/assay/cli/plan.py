"""Say how many queries or repositories a claim would need.

assay plan --detect 0.02                                  from the run in results/
assay plan --detect 0.02 --sd 0.3 --icc 0.1 --repositories 10 --queries 20      from assumptions
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from assay.cli.options import add_claim, existing_folder, spec_of_run
from assay.cli.output import emit
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.stats.records import Plan

#: Planning from assumptions, where nothing is said: twenty queries is what public sets have in a repository.
_ASSUMED_QUERIES = 20.0
_POWER = 0.8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("results", nargs="?", default="results", help="a pilot run (results); unused with --sd")
    parser.add_argument("--detect", type=float, required=True, metavar="X", help="the difference to be shown")
    parser.add_argument("--power", type=float, default=_POWER, metavar="X", help=f"chance of showing it ({_POWER})")
    parser.add_argument("--engine", metavar="NAME", help="plan from this engine's differences to the baseline")
    group = parser.add_argument_group("assumptions, instead of a pilot")
    group.add_argument("--sd", type=float, metavar="X", help="standard deviation of the paired differences")
    group.add_argument("--icc", type=float, default=0.0, metavar="X", help="correlation inside a repository (0)")
    group.add_argument("--repositories", type=int, default=1, metavar="N", help="repositories there are (1)")
    group.add_argument("--queries", type=float, default=_ASSUMED_QUERIES, metavar="N", help="queries in each (20)")
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Plan, and say it in a sentence."""
    from assay.report.document import Document, Paragraph

    if not args.detect > 0 or not 0 < args.power < 1:
        raise ConfigError("--detect is above 0, --power between 0 and 1", hint="such as --detect 0.02 --power 0.8")
    plan = _assumed(args) if args.sd is not None else _piloted(args)
    now = f"The present size shows {plan.mde_now:.1g} with {plan.power:.0%} power at α = {plan.alpha:g}."
    emit(
        args,
        Document("assay plan", (Paragraph(plan.sentence), Paragraph(now))),
        {"schema": "assay/plan/1", **asdict(plan)},
    )
    return 0


def _assumed(args: argparse.Namespace) -> Plan:
    """Plan from assumptions."""
    from assay.stats import components_of, plan

    alpha = {} if args.alpha is None else {"alpha": args.alpha}
    components = components_of(args.sd, args.icc, args.repositories, args.queries)
    return plan(components, args.detect, power=args.power, **alpha)


def _piloted(args: argparse.Namespace) -> Plan:
    """Plan from the paired differences of a run."""
    from assay.experiment import read_run
    from assay.report.case import claimed_scores, rivals
    from assay.stats import plan_claim

    run = read_run(existing_folder(args.results))
    spec = spec_of_run(run, args)
    engine = args.engine or next(iter(rivals(run, spec.baseline)), None)
    if engine is None:
        raise ConfigError(f"no engine to compare with {spec.baseline}", hint="name one with --engine")
    return plan_claim(
        claimed_scores(run, spec),
        baseline=spec.baseline,
        engine=engine,
        primary=spec.primary_measure(),
        delta=args.detect,
        alpha=spec.alpha,
        power=args.power,
    )
