"""Flags of the commands that run variants of one engine, and what becomes of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import say, teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.experiment.ledger.entry import Entry
    from assay.experiment.ledger.settings import LedgerPlan
    from assay.experiment.places.place import Missing
    from assay.experiment.spec import Spec
    from assay.types import Run, Suite


def add_varied(parser: argparse.ArgumentParser, engine: str) -> None:
    """Add the flags that say what is varied, on what, and where the run goes."""
    parser.add_argument("engine", nargs="?", metavar="ENGINE", help=engine)
    parser.add_argument("--config", metavar="FILE", help="an assay.toml (default: the one in this folder, if any)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change any key of the file (repeatable)"
    )
    parser.add_argument("--gold", action="append", metavar="PATH", help="gold file or folder, or 'stdlib' (repeatable)")
    parser.add_argument("--corpus", metavar="SPEC", help="for gold formats that name none: folder, git:URL@REV, …")
    parser.add_argument("--tag", action="append", metavar="K=V:ROWS", help="tag rows of a CSV: difficulty=hard:101-127")
    parser.add_argument("-k", type=int, metavar="N", help="results asked for and scored (10)")
    parser.add_argument("--forms", metavar="LIST", help="phrasings to ask, by commas (all)")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to run in (all processors)")
    parser.add_argument("--out", metavar="FOLDER", help="keep the run there, as `assay run` does (not kept)")
    parser.add_argument("--allow-missing", action="store_true", help="report targets that are not there and go on")
    claim = parser.add_argument_group("the claim")
    claim.add_argument("--primary", metavar="M", help="the measure verdicts are about")
    claim.add_argument("--margin", type=float, metavar="X", help="smallest difference that matters (0.02)")
    claim.add_argument("--alpha", type=float, metavar="X", help="error rate of the verdicts (0.05)")
    claim.add_argument("--seed", type=int, metavar="N", help="seed of every random draw (0)")


def add_ledger(parser: argparse.ArgumentParser) -> None:
    """Add the flags that put what was found into the ledger."""
    group = parser.add_argument_group("the ledger")
    group.add_argument(
        "--ledger", nargs="?", const="", metavar="FILE", help="add what was found to the ledger (ledger.jsonl)"
    )
    add_rule(group)


def add_rule(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the flags of an entry."""
    group.add_argument("--rule", metavar="NAME", help="the rule that decides: proven, or seed-001 ([ledger] rule)")
    group.add_argument("--by", default="", metavar="WHO", help="who tried it")
    group.add_argument("--again", action="store_true", help="add a comparison that is in the ledger already")


def varied_spec(args: argparse.Namespace) -> Spec:
    """Read the configuration file, if there is one, and apply the flags."""
    from assay.experiment.spec import override

    given = {
        "gold": tuple(args.gold) if args.gold else None,
        "corpus": args.corpus,
        "tags": tuple(args.tag) if args.tag else None,
        "k": args.k,
        "forms": tuple(form.strip() for form in args.forms.split(",")) if args.forms else None,
        "jobs": args.jobs,
        "primary": args.primary,
        "margin": args.margin,
        "alpha": args.alpha,
        "seed": args.seed,
    }
    return override(declared(args), **given)


def declared(args: argparse.Namespace) -> Spec:
    """Read assay.toml of this folder, or the one that is named."""
    from assay.experiment.spec import FILE, load_spec

    path = Path(args.config) if args.config else Path(FILE)
    return load_spec(path if args.config or path.is_file() else None, sets=getattr(args, "set", []))


def run_varied(args: argparse.Namespace, spec: Spec, suite: Suite) -> Run:
    """Run a specification."""
    from assay.experiment import check_folder
    from assay.experiment.running.experiments import run_spec
    from assay.experiment.running.matrix import How

    folder = check_folder(Path(args.out)) if args.out else None
    missing: Missing | None = "report" if args.allow_missing else None
    return run_spec(spec, suite, missing=missing, progress=teller(args), how=How(folder=folder))


def keep_run(args: argparse.Namespace, made: Run, spec: Spec, suite: Suite) -> None:
    """Write a run as `assay run` does, where asked: what stands there keeps its rows."""
    from assay.experiment.records.merging import declared_hashes
    from assay.report import publish

    if args.out:
        publish(made, spec.claim(), Path(args.out), declared=declared_hashes(spec, suite))
        say(args, f"written to {args.out}/")


def plan_ledger(args: argparse.Namespace, spec: Spec) -> LedgerPlan | None:
    """Find the ledger and the rule before anything runs; None where nothing is to be added."""
    from assay.experiment.ledger.book import read_ledger
    from assay.experiment.ledger.settings import ledger_plan

    if args.ledger is None:
        return None
    plan = ledger_plan(spec, args.ledger or None, args.rule)
    read_ledger(plan.path)  # a ledger that is broken is told before hours are spent
    return plan


def add_found(args: argparse.Namespace, plan: LedgerPlan, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Add entries and say which."""
    from assay.experiment.ledger.book import add_entries

    added = add_entries(plan.path, entries, again=args.again)
    accepted = sum(entry.accepted for entry in added)
    numbers = f"{added[0].number}" if len(added) == 1 else f"{added[0].number} to {added[-1].number}"
    say(args, f"{plan.path}: entry {numbers} added; {accepted} of {len(added)} accepted")
    return added
