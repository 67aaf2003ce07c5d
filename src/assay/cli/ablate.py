"""Measure what each part of an engine contributes.

  assay ablate --gold gold.yaml                  the reference engine, by its own parts
  assay ablate parts --config assay.toml         the leave-one-out sweep [sweeps.parts]: any engine
  assay ablate --kept --ledger                   add to the last one that gained, and write it all down

All comparisons are one family: p-values are adjusted by Holm. Of a divided set dev queries are used; --split test
uses up test queries, and says so; sealed ones are refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.cli.options import (
    add_found,
    add_ledger,
    add_varied,
    keep_run,
    plan_ledger,
    run_varied,
    varied_data,
    varied_spec,
)
from assay.cli.output import emit

if TYPE_CHECKING:
    from assay.experiment.ablation import ForwardSelection
    from assay.experiment.ledger import LedgerEntry, LedgerPlan
    from assay.experiment.tuning import EngineComponents, SettingChange
    from assay.report.tuning import AblationResult
    from assay.types import AnalysisPlan, Run, Suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    add_varied(parser, "an engine, or a leave-one-out sweep of assay.toml (the only engine, or builtin)")
    parser.add_argument("--split", metavar="LIST", help="parts of a divided set, by commas (dev)")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="only this part, or a glob of them (repeatable)",
    )
    parser.add_argument(
        "--way", choices=("both", "out", "in"), default="both", help="leave parts out, add them, or both (both)"
    )
    parser.add_argument(
        "--kept", action="store_true", help="added: go on from the last one that gained, not from the one before"
    )
    add_ledger(parser)


def handle(args: argparse.Namespace) -> int:
    """Run the variants, compare them step by step, print what each part is worth."""
    from assay.experiment.ablation import ABLATING
    from assay.experiment.tuning import find_parts, only_parts
    from assay.report.tuning import ablation_document, ablation_json, ablation_result

    spec = varied_spec(args)
    found = only_parts(find_parts(spec, args.engine), args.only)
    book = plan_ledger(args, spec)
    queries = varied_data(args, spec, ABLATING)
    taken = _take_apart(args, found, queries.suite)
    claim = found.base.spec.claim()
    result = ablation_result(taken.run, claim, found.base.name, taken.steps, queries.notes)
    keep_run(args, taken.run, found.base.spec, queries.suite)
    data = ablation_json(result)
    if book:
        added = add_found(args, book, list(_entries(args, book, result, taken.run, claim)))
        data["ledger"] = {"file": str(book.path), "entries": [entry.number for entry in added]}
    emit(args, ablation_document(result), data)
    return 4 if result.failed else 0


def _take_apart(args: argparse.Namespace, found: EngineComponents, suite: Suite) -> ForwardSelection:
    from assay.experiment.ablation import WAYS, ForwardSelection, plan_ablation, select_forward
    from assay.experiment.tuning import spec_with

    def ask(*variants: SettingChange) -> Run:
        return run_varied(args, replace(spec_with(found.base, variants), split=()), suite)

    ways = WAYS[args.way]
    at_once = tuple(way for way in ways if way != "added") if args.kept else ways
    plan = plan_ablation(found.parts, found.base.name, at_once)
    made = ask(*plan.variants)
    if at_once == ways:
        return ForwardSelection(made, plan.steps)
    climbed = select_forward(made, found.base.name, found.parts, found.base.spec.claim().primary, ask)
    return ForwardSelection(climbed.run, (*plan.steps, *climbed.steps))


def _entries(
    args: argparse.Namespace, book: LedgerPlan, result: AblationResult, made: Run, claim: AnalysisPlan
) -> Iterator[LedgerEntry]:
    from assay.experiment.ledger import ChangeInfo, MeasuredChange, make_entry

    engines = {engine.name: engine for engine in made.engines}
    for row in result.rows:
        step = row.step
        sign = "without" if step.way == "left out" else "plus"
        measured = MeasuredChange(
            made, engines[step.variant], engines[step.against], row.comparison, row.repositories, result.family
        )
        yield make_entry(
            ChangeInfo(f"{result.engine} {sign} {step.part}", "ablate", args.by), measured, claim, book.rule
        )
