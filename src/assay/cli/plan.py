"""Plan how many queries or repositories it takes to show a difference.

assay plan --detect 0.02                                  from the run in results/
assay plan --detect 0.02 --sd 0.3 --icc 0.1 --repositories 10 --queries 20      from assumptions

A pilot run's answer has a confidence interval, because its variance is an estimate. A run with fewer than six
repositories cannot estimate the ICC, so 0.1 is assumed unless --icc is given.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from assay.cli.options import claim_for, log_look, read_results, reject_flags
from assay.cli.output import emit
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.stats.records import SamplePlan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("--detect", type=float, required=True, metavar="X", help="the difference to show")
    parser.add_argument("--power", type=float, default=0.8, metavar="X", help="probability of showing it (0.8)")
    parser.add_argument("--alpha", type=float, metavar="X", help="error rate of the verdict (0.05)")
    parser.add_argument("--icc", type=float, metavar="X", help="correlation inside a repository (the pilot's, or 0.1)")
    pilot = parser.add_argument_group("from a pilot run")
    pilot.add_argument("results", nargs="?", help="its folder (results)")
    pilot.add_argument("--engine", metavar="NAME", help="the engine to compare")
    pilot.add_argument("--baseline", metavar="ENGINE", help="the engine to compare it with")
    pilot.add_argument("--primary", metavar="M", help="the measure")
    pilot.add_argument("--cluster-by", metavar="UNIT", help="drawn independently: auto, repository, intent, tag:NAME")
    group = parser.add_argument_group("from assumptions, instead of a pilot")
    group.add_argument("--sd", type=float, metavar="X", help="standard deviation of the paired differences")
    group.add_argument("--repositories", type=int, metavar="N", help="number of repositories (1)")
    group.add_argument("--queries", type=float, metavar="N", help="queries in each (20)")


def handle(args: argparse.Namespace) -> int:
    """Print the required size, then its assumptions."""
    from assay.report.render.document import Document, Paragraph
    from assay.stats.records import one_digit

    if not args.detect > 0 or not 0 < args.power < 1:
        raise ConfigError("--detect is above 0, --power between 0 and 1", hint="such as --detect 0.02 --power 0.8")
    plan, source = _assumed(args) if args.sd is not None else _piloted(args)
    basis = f"{source}; {100 * plan.power:g}% power at α = {plan.alpha:g}, one comparison."
    shown = "no difference at all" if plan.mde_now is None else one_digit(plan.mde_now)
    document = Document(plan.sentence, (Paragraph(basis), Paragraph(f"{_size(args)} shows {shown}.")))
    emit(args, document, {"schema": "assay/plan/1", **asdict(plan)})
    return 0


def _size(args: argparse.Namespace) -> str:
    if args.sd is None:
        return "The pilot's size"
    repositories = args.repositories or 1
    return f"{repositories} {'repository' if repositories == 1 else 'repositories'} of {args.queries or 20:g} queries"


def _assumed(args: argparse.Namespace) -> tuple[SamplePlan, str]:
    from assay.stats import components_of, plan
    from assay.stats.config import DEFAULT

    reject_flags(args, "a plan from assumptions", "results", "engine", "baseline", "primary", "cluster_by")
    icc, repositories = DEFAULT.assumed_icc if args.icc is None else args.icc, args.repositories
    components = components_of(
        args.sd, icc, 1 if repositories is None else repositories, 20.0 if args.queries is None else args.queries
    )
    found = plan(
        components,
        args.detect,
        alpha=DEFAULT.alpha if args.alpha is None else args.alpha,
        power=args.power,
        icc_source="assumed" if args.icc is None else "given",
    )
    return found, f"Standard deviation {args.sd:g}, as given"


def _piloted(args: argparse.Namespace) -> tuple[SamplePlan, str]:
    from assay.report.scored_run import failed_engines, family_of
    from assay.scoring import score
    from assay.stats import plan_claim

    reject_flags(args, "a plan from a pilot", "repositories", "queries")
    folder = args.results or "results"
    run = read_results(folder)
    log_look(args, run, "plan")
    claim = claim_for(run, args)
    alive = [name for name in family_of(run, claim) if name not in failed_engines(run)]
    engine = args.engine or next(iter(alive), None)
    if engine is None:
        raise ConfigError(f"no engine to compare with {claim.baseline}", hint="name one with --engine")
    plan = plan_claim(
        score(run, [claim.primary]),
        baseline=claim.baseline,
        engine=engine,
        primary=claim.primary,
        delta=args.detect,
        alpha=claim.alpha,
        power=args.power,
        cluster=claim.cluster,
        icc=args.icc,
    )
    return plan, f"From {engine} − {claim.baseline} on {claim.primary} in {folder}"
