"""Compare engines: inside one run, between two runs, or from two per-query CSV files.

assay compare results                         each engine against the baseline
assay compare results --all-pairs             every engine against every other
assay compare results-old results-new         the same engine in two runs (--engine NAME)
assay compare old.csv new.csv                 query,value[,cluster]; no gold needed
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import Once, add_claim, claim_for, log_look, read_results, reject_flags
from assay.cli.output import emit
from assay.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from assay.stats.records import AllPairs, Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
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


def handle(args: argparse.Namespace) -> int:
    """Compare what was named; exit code 4 if an engine could not be compared because it failed on every query."""
    from assay.report.gate import claims

    found = _found(args)
    emit(args, claims(found), {"schema": "assay/compare/1", **asdict(found)})
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
