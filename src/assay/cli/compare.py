"""Compare engines: inside one run, between two runs, or from two per-query CSV files.

assay compare results                         each engine against the baseline
assay compare results --all-pairs             every engine against every other
assay compare results-old results-new         the same engine in two runs (--engine NAME)
assay compare old.csv new.csv                 query,value[,cluster]; no gold needed
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import add_claim, existing_folder, spec_of_run
from assay.cli.output import emit
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.stats.records import AllPairs, Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("first", help="run folder, or CSV of the baseline")
    parser.add_argument("second", nargs="?", help="run folder, or CSV of the candidate")
    parser.add_argument("--engine", metavar="NAME", help="compare this engine only")
    parser.add_argument("--all-pairs", action="store_true", help="every engine against every other, as one family")
    add_claim(parser)


def handle(args: argparse.Namespace) -> int:
    """Compare what was named."""
    from assay.report.claims import claims

    found = _found(args)
    emit(args, claims(found), {"schema": "assay/compare/1", **asdict(found)})
    return 0


def _found(args: argparse.Namespace) -> Comparison | AllPairs:
    """Choose the kind of comparison by what was named."""
    if args.second is None:
        return inside(args, existing_folder(args.first))
    if args.all_pairs:
        raise ConfigError("--all-pairs is for one run", hint="name a single folder")
    if all(Path(name).suffix.lower() == ".csv" for name in (args.first, args.second)):
        return _tables(args)
    return between(args, existing_folder(args.first), existing_folder(args.second))


def inside(args: argparse.Namespace, folder: Path) -> Comparison | AllPairs:
    """Compare the engines of one run."""
    from assay.experiment import read_run
    from assay.report.case import claimed_scores, pick, real_engines, rivals
    from assay.stats import all_pairs, compare

    run = read_run(folder)
    spec = spec_of_run(run, args)
    scores = claimed_scores(run, spec)
    primary = spec.primary_measure()
    if getattr(args, "all_pairs", False):
        real = pick(scores, engines=real_engines(run))
        return all_pairs(real, primary, margin=spec.margin, alpha=spec.alpha, seed=spec.seed)
    family = (args.engine,) if args.engine else rivals(run, spec.baseline)
    if not family:
        raise ConfigError(f"nothing to compare with {spec.baseline}", hint="run another engine, or choose a --baseline")
    return compare(
        pick(scores, engines=tuple(dict.fromkeys((spec.baseline, *family)))),
        baseline=spec.baseline,
        primary=primary,
        margin=spec.margin,
        alpha=spec.alpha,
        seed=spec.seed,
    )


def between(args: argparse.Namespace, old: Path, new: Path) -> Comparison:
    """Compare the engines that two runs share."""
    from assay.experiment import read_run
    from assay.report.case import claimed_scores, pick, real_engines
    from assay.stats import Names, compare_scores

    before, after = read_run(old), read_run(new)
    spec = spec_of_run(after, args)
    sides = [
        pick(claimed_scores(run, spec), engines=(args.engine,) if args.engine else real_engines(run))
        for run in (before, after)
    ]
    return compare_scores(
        *sides,
        primary=spec.primary_measure(),
        names=Names(str(old), str(new)),
        margin=spec.margin,
        alpha=spec.alpha,
        seed=spec.seed,
    )


def _tables(args: argparse.Namespace) -> Comparison:
    """Compare two per-query CSV files."""
    from assay.stats import Names, compare_values, read_values

    given = {"margin": args.margin, "alpha": args.alpha, "seed": args.seed}
    settings = {key: value for key, value in given.items() if value is not None}
    names = Names(args.first, args.second)
    return compare_values(read_values(args.first), read_values(args.second), names=names, **settings)
