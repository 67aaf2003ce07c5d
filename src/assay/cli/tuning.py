from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
from assay.cli.output import emit, info
from assay.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.experiment.ablation import DataNote, EngineComponents, ForwardSelection
    from assay.experiment.ledger import AcceptanceRule, LedgerEntry, LedgerPlan
    from assay.experiment.spec import Spec
    from assay.experiment.spec.variants import SettingChange
    from assay.experiment.tuning import GridPoint, TuneSettings
    from assay.report.tuning import AblationResult, TuneReport
    from assay.types import AnalysisPlan, Run, Suite


def ablate_arguments(parser: argparse.ArgumentParser) -> None:
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


def ablate_command(args: argparse.Namespace) -> int:
    """Measure what each part of an engine contributes.

      assay ablate --gold gold.yaml                  the reference engine, by its own parts
      assay ablate parts --config assay.toml         the leave-one-out sweep [sweeps.parts]: any engine
      assay ablate --kept --ledger                   add to the last one that gained, and write it all down

    All comparisons are one family: p-values are adjusted by Holm. Of a divided set dev queries are used; --split test
    uses up test queries, and says so; sealed ones are refused.
    """
    from assay.experiment.ablation import ABLATING, find_parts
    from assay.report.tuning import ablation_document, ablation_json, ablation_result

    spec = varied_spec(args)
    found = find_parts(spec, args.engine, args.only)
    book = plan_ledger(args, spec)
    queries = varied_data(args, spec, ABLATING)
    taken = _measure_parts(args, found, queries.suite)
    claim = found.base.spec.analysis_plan()
    result = ablation_result(taken.run, claim, found.base.name, taken.steps, queries.notes)
    keep_run(args, taken.run, found.base.spec, queries.suite)
    data = ablation_json(result)
    if book:
        added = add_found(args, book, list(_ablation_entries(args, book, result, taken.run, claim)))
        data["ledger"] = {"file": str(book.path), "entries": [entry.number for entry in added]}
    emit(args, ablation_document(result), data)
    return 4 if result.failed else 0


def _measure_parts(args: argparse.Namespace, found: EngineComponents, suite: Suite) -> ForwardSelection:
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
    climbed = select_forward(made, found.base.name, found.parts, found.base.spec.analysis_plan().primary, ask)
    return ForwardSelection(climbed.run, (*plan.steps, *climbed.steps))


def _ablation_entries(
    args: argparse.Namespace, book: LedgerPlan, result: AblationResult, made: Run, claim: AnalysisPlan
) -> Iterator[LedgerEntry]:
    from assay.experiment.ledger import MeasuredChange, make_entry

    engines = {engine.name: engine for engine in made.engines}
    for row in result.rows:
        step = row.step
        sign = "without" if step.way == "left out" else "plus"
        measured = MeasuredChange(
            made, engines[step.variant], engines[step.against], row.comparison, row.repositories, result.family
        )
        title = f"{result.engine} {sign} {step.part}"
        yield make_entry(measured, claim, book.rule, title=title, how="ablate", by=args.by)


def tune_arguments(parser: argparse.ArgumentParser) -> None:
    add_varied(parser, "the engine to tune ([tune] engine, or the only one)")
    parser.add_argument(
        "--knob", action="append", metavar="KEY=V1,V2", help="a dotted setting and the values to try (repeatable)"
    )
    parser.add_argument("--partitions", type=int, metavar="N", help="random halvings of the data (20)")
    parser.add_argument("--split", metavar="PART", help="only dev is granted, and is what is used anyway")
    add_ledger(parser)


def tune_command(args: argparse.Namespace) -> int:
    """Tune an engine over a grid on dev queries and estimate the gain on unseen ones.

      assay tune --gold gold.yaml --knob search.stem.files=0.0,0.2,0.4
      assay tune mine --knob search.stem.files=0.2,0.4 --knob search.dense.files=0.3,0.5 --ledger

    Or [tune] in assay.toml: engine, knobs = { "search.stem.files" = [0.0, 0.2] }, partitions, measure, most.
    The best point on one half of the repositories (or queries) is scored on the other half, many times: that number is
    honest. The point that all dev queries choose is recommended only where the honest gain is significant.
    """
    from assay.experiment.ablation import TUNING
    from assay.report.tuning import tune_document, tune_json

    spec = varied_spec(args)
    settings = _settings(args, spec)
    grid = _grid(args, spec, settings)
    book = plan_ledger(args, spec)
    data = varied_data(args, spec, TUNING)
    made = run_varied(args, grid.spec, data.suite)
    claim = grid.spec.analysis_plan()
    report = _tuned(grid, made, claim, settings.partitions, data.notes)
    keep_run(args, made, grid.spec, data.suite)
    shown = tune_json(report)
    if book:
        entries = _tuning_entries(args, book.rule, report, made, claim)
        added = add_found(args, book, entries) if entries else ()
        shown["ledger"] = {"file": str(book.path), "entries": [entry.number for entry in added]}
        if not entries:
            info(args, f"{book.path}: nothing added; the best point is the default itself")
    emit(args, tune_document(report), shown)
    return 4 if len(report.points) < len(grid.points) else 0


@dataclass(frozen=True, slots=True)
class _Grid:
    """What is run."""

    spec: Spec
    engine: str
    points: tuple[GridPoint, ...]


def _settings(args: argparse.Namespace, spec: Spec) -> TuneSettings:
    from assay.experiment.spec.model import read_table
    from assay.experiment.tuning import TuneSettings, parse_knob

    settings = read_table(TuneSettings, spec, "tune", spec.tune)
    given = {key: value for key, value in {"partitions": args.partitions}.items() if value is not None}
    if args.knob:
        knobs = [parse_knob(text) for text in args.knob]
        for key, _ in knobs:
            if sum(other == key for other, _ in knobs) > 1:
                raise ConfigError(f"--knob {key} is given twice", hint="name all its values at once: KEY=V1,V2")
        given["knobs"] = dict(knobs)
    return replace(settings, **given)


def _grid(args: argparse.Namespace, spec: Spec, settings: TuneSettings) -> _Grid:
    from assay.experiment.spec import make_engines
    from assay.experiment.spec.model import locate_error
    from assay.experiment.tuning import find_base, grid_points, spec_with
    from assay.types import Suite

    base = find_base(spec, args.engine or settings.engine or None)
    primary = args.primary or settings.measure or base.spec.primary
    base = replace(base, spec=replace(base.spec, primary=primary))
    try:
        points = grid_points(settings.knobs, base.settings, settings.most)
        grid = replace(spec_with(base, [point.change for point in points]), split=())
        make_engines(grid, Suite(()))  # a knob that no engine has shows before anything runs
    except ConfigError as error:
        raise (error if args.knob else locate_error(error, spec, "tune", spec.tune)) from error
    return _Grid(grid, base.name, points)


def _tuned(grid: _Grid, made: Run, claim: AnalysisPlan, partitions: int, notes: Sequence[DataNote]) -> TuneReport:
    from assay.experiment.ablation import DataNote
    from assay.experiment.tuning import tune_scores
    from assay.report.scored_run import failed_engines, pick
    from assay.report.tuning import TuneReport
    from assay.scoring import score

    dead = failed_engines(made)
    points = tuple(point for point in grid.points if point.change.name not in dead)
    if grid.engine in dead or not points:
        raise EngineError(f"{', '.join(sorted(dead))} answered no query", hint="`assay engines check` tells why")
    scores = pick(score(made, (claim.primary,)), engines=[e.name for e in made.engines if e.name not in dead])
    said = f"Failed, left out of the grid: {', '.join(sorted(dead))} answered no query."
    failed = [DataNote("failed", said)] if dead else []
    return TuneReport(tune_scores(scores, grid.engine, points, claim, partitions), points, (*notes, *failed))


def _tuning_entries(
    args: argparse.Namespace, rule: AcceptanceRule, report: TuneReport, made: Run, claim: AnalysisPlan
) -> list[LedgerEntry]:
    from assay.experiment.ledger import MeasuredChange, Tuning, make_entry

    found = report.tuned
    if found.best == 0:
        return []
    engines = {engine.name: engine for engine in made.engines}
    best = found.tried[found.best].name
    measured = MeasuredChange(made, engines[best], engines[found.engine], found.gain, found.repositories)
    apparent = found.honest.mean + found.optimism.difference
    tuning = Tuning(len(found.tried), found.partitions, apparent, found.honest.mean)
    title = f"{found.engine} tuned: {best}"
    return [make_entry(measured, claim, rule, title=title, how="tune", by=args.by, tuning=tuning)]
