"""Flags of the commands that run variants of one engine, and what becomes of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.common.options import JUDGING, add_claim, claim_flags
from assay.cli.common.output import say, teller, warn
from assay.cli.common.specs import add_questions, add_source, declared_by, listed, question_flags
from assay.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.experiment.ledger.entry import Entry
    from assay.experiment.ledger.settings import LedgerPlan
    from assay.experiment.places.place import Missing
    from assay.experiment.spec import Spec
    from assay.experiment.tuning.devdata import DevData, Use
    from assay.types import Run, Suite


def add_varied(parser: argparse.ArgumentParser, engine: str) -> None:
    """Add the flags that say what is varied, on what, and where the run goes."""
    parser.add_argument("engine", nargs="?", metavar="ENGINE", help=engine)
    add_source(parser)
    add_questions(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes to run in (all processors)")
    parser.add_argument("--out", metavar="FOLDER", help="keep the run there, as `assay run` does (not kept)")
    add_claim(parser, JUDGING)


def add_ledger(parser: argparse.ArgumentParser) -> None:
    """Add the flags that put what was found into the ledger."""
    group = parser.add_argument_group("the ledger")
    group.add_argument(
        "--ledger", nargs="?", const="", metavar="FILE", help="add what was found to the ledger (ledger.jsonl)"
    )
    add_rule(group)


def add_rule(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the flags of an entry."""
    group.add_argument("--rule", metavar="NAME", help="the rule that decides ([ledger] rule); a wrong name lists them")
    group.add_argument("--by", default="", metavar="WHO", help="who tried it")
    group.add_argument("--again", action="store_true", help="add a comparison that is in the ledger already")


def varied_spec(args: argparse.Namespace) -> Spec:
    """Read the configuration file, if there is one, and apply the flags."""
    from assay.experiment.spec import override

    return override(declared_by(args), **question_flags(args), **claim_flags(args), jobs=args.jobs)


def varied_data(args: argparse.Namespace, spec: Spec, use: Use) -> DevData:
    """Load the queries that may be used; what a flag or the file asks for and may not have is refused by name."""
    from assay.experiment.running.loading import load_suite
    from assay.experiment.spec.own_tables import placed
    from assay.experiment.tuning.devdata import dev_data

    asked = listed(args.split)
    suite = load_suite(spec)
    try:
        data = dev_data(suite, spec.split if asked is None else asked, use)
    except ConfigError as error:
        raise (error if asked else placed(error, spec, "run", {"split": spec.split})) from error
    for note in data.notes:
        if note.kind == "used up":
            warn(note.text)
    return data


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
    from assay.experiment.tuning.devdata import used_up

    added = add_entries(plan.path, entries, again=args.again)
    accepted = sum(entry.accepted for entry in added)
    numbers = f"{added[0].number}" if len(added) == 1 else f"{added[0].number} to {added[-1].number}"
    say(args, f"{plan.path}: entry {numbers} added; {accepted} of {len(added)} accepted")
    spent = sorted({part for entry in added for part in entry.spent})
    if spent:
        warn(f"{plan.path}: entry {numbers}: {used_up(spent).text}")
    return added
