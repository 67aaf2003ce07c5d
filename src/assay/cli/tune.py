"""Tune an engine over a grid on dev queries and estimate the gain on unseen ones.

  assay tune --gold gold.yaml --knob search.stem.files=0.0,0.2,0.4
  assay tune mine --knob search.stem.files=0.2,0.4 --knob search.dense.files=0.3,0.5 --ledger

Or [tune] in assay.toml: engine, knobs = { "search.stem.files" = [0.0, 0.2] }, partitions, measure, most.
The best point on one half of the repositories (or queries) is scored on the other half, many times: that number is
honest. The point that all dev queries choose is recommended only where the honest gain is significant.
"""

from __future__ import annotations

import argparse
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

    from assay.experiment.ablation import DataNote
    from assay.experiment.ledger import AcceptanceRule, LedgerEntry
    from assay.experiment.spec import Spec
    from assay.experiment.tuning import GridPoint, TuneSettings
    from assay.report.tuning import TuneReport
    from assay.types import AnalysisPlan, Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    add_varied(parser, "the engine to tune ([tune] engine, or the only one)")
    parser.add_argument(
        "--knob", action="append", metavar="KEY=V1,V2", help="a dotted setting and the values to try (repeatable)"
    )
    parser.add_argument("--partitions", type=int, metavar="N", help="random halvings of the data (20)")
    parser.add_argument("--split", metavar="PART", help="only dev is granted, and is what is used anyway")
    add_ledger(parser)


def handle(args: argparse.Namespace) -> int:
    """Run the grid, choose on halves, print what the choice is worth."""
    from assay.experiment.ablation import TUNING
    from assay.report.tuning import tune_document, tune_json

    spec = varied_spec(args)
    settings = _settings(args, spec)
    grid = _grid(args, spec, settings)
    book = plan_ledger(args, spec)
    data = varied_data(args, spec, TUNING)
    made = run_varied(args, grid.spec, data.suite)
    claim = grid.spec.claim()
    report = _tuned(grid, made, claim, settings.partitions, data.notes)
    keep_run(args, made, grid.spec, data.suite)
    shown = tune_json(report)
    if book:
        entries = _entries(args, book.rule, report, made, claim)
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
        twice = [knob.key for at, knob in enumerate(knobs) if knob.key in {other.key for other in knobs[:at]}]
        if twice:
            raise ConfigError(f"--knob {twice[0]} is given twice", hint="name all its values at once: KEY=V1,V2")
        given["knobs"] = {knob.key: knob.values for knob in knobs}
    return replace(settings, **given)


def _grid(args: argparse.Namespace, spec: Spec, settings: TuneSettings) -> _Grid:
    from assay.experiment.spec import make_engines
    from assay.experiment.spec.model import placed
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
        raise (error if args.knob else placed(error, spec, "tune", spec.tune)) from error
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


def _entries(
    args: argparse.Namespace, rule: AcceptanceRule, report: TuneReport, made: Run, claim: AnalysisPlan
) -> list[LedgerEntry]:
    from assay.experiment.ledger import ChangeInfo, MeasuredChange, Tuning, make_entry

    found = report.tuned
    if found.best == 0:
        return []
    engines = {engine.name: engine for engine in made.engines}
    best = found.tried[found.best].name
    measured = MeasuredChange(made, engines[best], engines[found.engine], found.gain, found.repositories)
    apparent = found.honest.mean + found.optimism.difference
    tuning = Tuning(len(found.tried), found.partitions, apparent, found.honest.mean)
    return [make_entry(ChangeInfo(f"{found.engine} tuned: {best}", "tune", args.by), measured, claim, rule, tuning)]
