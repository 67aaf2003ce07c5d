from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import Once, add_claim, claim_for, log_look, read_results, reject_flags
from assay.cli.output import emit
from assay.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from assay.stats.records import AllPairs, Comparison, SamplePlan


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", help="run folder, or CSV of the baseline")
    parser.add_argument("second", nargs="?", help="run folder, or CSV of the candidate")
    parser.add_argument("--engine", action=Once, metavar="NAME", help="compare this engine only")
    parser.add_argument("--all-pairs", action="store_true", help="every engine against every other, as one family")
    parser.add_argument(
        "--allow-changed-corpus",
        action="store_true",
        help="compare runs whose corpus changed in between; said in the result",
    )
    parser.add_argument("--lower-is-better", action="store_true", help="for two tables: less is better, as with times")
    add_claim(parser)


def compare_command(args: argparse.Namespace) -> int:
    """Compare engines: inside one run, between two runs, or from two per-query CSV files.

    assay compare results                         each engine against the baseline
    assay compare results --all-pairs             every engine against every other
    assay compare results-old results-new         the same engine in two runs (--engine NAME)
    assay compare old.csv new.csv                 query,value[,cluster]; no gold needed
    """
    from assay.report.comparison import comparison_document

    found = _found(args)
    emit(args, comparison_document(found), {"schema": "assay/compare/1", **asdict(found)})
    return EngineError.exit_code if found.failed else 0


def _found(args: argparse.Namespace) -> Comparison | AllPairs:
    from assay.report.comparison import compare_all_pairs, compare_engines, compare_runs

    tables = [Path(name).suffix.lower() == ".csv" for name in (args.first, args.second) if name]
    if any(tables):
        if args.all_pairs:
            raise ConfigError("--all-pairs is for one run", hint="leave it out for two tables")
        if not all(tables) or len(tables) < 2:
            raise ConfigError("a CSV is compared with another CSV", hint="assay compare old.csv new.csv")
        return _tables(args)
    if args.lower_is_better:
        raise ConfigError("--lower-is-better is for two tables", hint="a measure knows its direction")
    if args.second is None:
        if args.all_pairs:
            reject_flags(args, "--all-pairs", "engine", "baseline")
        run = read_results(args.first)
        claim = claim_for(run, args)
        log_look(args, run, "compare")
        return compare_all_pairs(run, claim) if args.all_pairs else compare_engines(run, claim, args.engine)
    if args.all_pairs:
        raise ConfigError("--all-pairs is for one run", hint="name a single folder")
    reject_flags(args, "two runs", "baseline")
    old, new = read_results(args.first), read_results(args.second)
    log_look(args, new, "compare")
    return compare_runs(
        old, new, claim_for(new, args), (args.first, args.second), args.engine, moved=args.allow_changed_corpus
    )


def _tables(args: argparse.Namespace) -> Comparison:
    from assay.scoring import parse_measure
    from assay.stats import RunNames, compare_values, read_values

    reject_flags(args, "two tables", "measure", "baseline", "family", "cluster_by")
    given = {"margin": args.margin, "alpha": args.alpha, "seed": args.seed}
    settings = {key: value for key, value in given.items() if value is not None}
    names = RunNames(args.first, args.second)
    old, new = (read_values(path, engine=args.engine, measure=args.primary) for path in (args.first, args.second))
    higher = parse_measure(args.primary).higher_is_better if args.primary else not args.lower_is_better
    found = compare_values(old, new, names=names, higher_is_better=higher, **settings)
    better = "Higher" if higher else "Lower"
    return replace(found, notes=(f"{better} values are taken as better.", *found.notes))


def plan_arguments(parser: argparse.ArgumentParser) -> None:
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


def plan_command(args: argparse.Namespace) -> int:
    """Plan how many queries or repositories it takes to show a difference.

    assay plan --detect 0.02                                  from the run in results/
    assay plan --detect 0.02 --sd 0.3 --icc 0.1 --repositories 10 --queries 20      from assumptions

    A pilot run's answer has a confidence interval, because its variance is an estimate. A run with fewer than six
    repositories cannot estimate the ICC, so 0.1 is assumed unless --icc is given.
    """
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
