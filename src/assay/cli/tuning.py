from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.cli.ledger import add_to_ledger
from assay.cli.options import claim_flags, load_experiment, question_flags, split_list
from assay.cli.output import emit, info, warn
from assay.cli.progress import show_progress
from assay.engines.kinds import Component
from assay.errors import ConfigError
from assay.experiment import ablation, check_directory
from assay.experiment import ledger as ledgers
from assay.experiment.corpora import CorpusTexts, Missing, load_suite
from assay.experiment.plan import ExecutionOptions
from assay.experiment.runner import run_spec
from assay.experiment.spec import Spec, make_engines, override
from assay.experiment.spec.engines import retained_engines
from assay.experiment.spec.load import locate_error, read_table
from assay.experiment.spec.model import resolve_level
from assay.experiment.spec.variants import SettingChange
from assay.experiment.tracing import trace_queries
from assay.experiment.tuning import BaseEngine, GridPoint, TuneSettings, find_base, grid_points, parse_param, spec_with
from assay.report import tuning as report_tuning
from assay.report.explorer.excerpts import PagePlan
from assay.report.ledger import ablation_entries, tuning_entry
from assay.report.publish import publish
from assay.settings import setting_errors
from assay.types import Run, Suite


def ablate_command(args: Namespace) -> int:
    spec, suite = _load_inputs(args)
    base, parts = ablation.find_parts(spec, args.engine, args.only)
    ledger = _open_ledger(args, spec)
    suite, notes = _select_queries(args, spec, suite, "ablations", allow_test=True)
    run, steps = _measure_parts(args, base, parts, suite)
    plan = base.spec.analysis_plan()
    result = report_tuning.ablation_result(run, plan, base.name, steps, notes)
    _save_run(args, run, base.spec, suite)
    data = report_tuning.ablation_json(result)
    if ledger:
        added = add_to_ledger(args, ledger, ablation_entries(result, run, plan, ledger.rule, args.by))
        data["ledger"] = {"file": str(ledger.path), "entries": [entry.number for entry in added]}
    emit(args, report_tuning.ablation_document(result), data)
    return 4 if result.failed else 0


def _measure_parts(
    args: Namespace, base: BaseEngine, parts: Sequence[Component], suite: Suite
) -> tuple[Run, tuple[ablation.AblationStep, ...]]:
    def run(*variants: SettingChange) -> Run:
        return _run_varied(args, replace(spec_with(base, variants), split=()), suite)

    ways = ablation.WAYS[args.strategy]
    at_once = tuple(way for way in ways if way != "added") if args.kept else ways
    variants, steps = ablation.plan_ablation(parts, base.name, at_once)
    first = run(*variants)
    if at_once == ways:
        return first, steps
    joined, more = ablation.select_forward(first, base.name, parts, base.spec.analysis_plan().primary, run)
    return joined, (*steps, *more)


def tune_command(args: Namespace) -> int:
    spec, suite = _load_inputs(args)
    settings = _tune_settings(args, spec)
    grid, engine, points = _plan_grid(args, spec, settings)
    ledger = _open_ledger(args, spec)
    suite, notes = _select_queries(args, spec, suite, "tuning", allow_test=False)
    run = _run_varied(args, grid, suite)
    plan = grid.analysis_plan()
    report = report_tuning.tune_report(run, plan, engine, points, settings.partitions, notes)
    _save_run(args, run, grid, suite)
    data = report_tuning.tune_json(report)
    if ledger:
        entry = tuning_entry(report, run, plan, ledger.rule, args.by)
        added = add_to_ledger(args, ledger, [entry]) if entry else ()
        data["ledger"] = {"file": str(ledger.path), "entries": [entry.number for entry in added]}
        if not entry:
            info(args, f"{ledger.path}: no entry added: the best point equals the default")
    emit(args, report_tuning.tune_document(report), data)
    return 4 if len(report.points) < len(points) else 0


def _tune_settings(args: Namespace, spec: Spec) -> TuneSettings:
    settings = read_table(TuneSettings, spec, "tune", spec.tune)
    if args.partitions is not None:
        settings = replace(settings, partitions=args.partitions)
    if not args.param:
        return settings
    values: dict[str, tuple[object, ...]] = {}
    for key, choices in map(parse_param, args.param):
        if key in values:
            raise ConfigError(f"--param {key} is given twice", hint=f"use one flag: --param {key}=V1,V2")
        values[key] = choices
    return replace(settings, params=values)


def _plan_grid(args: Namespace, spec: Spec, settings: TuneSettings) -> tuple[Spec, str, tuple[GridPoint, ...]]:
    base = find_base(spec, args.engine or settings.engine or None)
    primary = args.primary or settings.measure or base.spec.primary
    base = replace(base, spec=replace(base.spec, primary=primary))
    try:
        points = grid_points(settings.params, base.settings, settings.most)
        grid = replace(spec_with(base, [point.change for point in points]), split=())
        with setting_errors("params"):
            make_engines(grid, Suite(()))  # report unknown settings before anything runs
    except ConfigError as error:
        raise (error if args.param else locate_error(error, spec, "tune")) from error
    return grid, base.name, points


def _load_inputs(args: Namespace) -> tuple[Spec, Suite]:
    flags = claim_flags(args)
    spec = override(load_experiment(args), **question_flags(args), **flags, jobs=args.jobs)
    suite = load_suite(spec)
    return resolve_level(spec, suite, primary=flags["primary"], measures=flags["measures"]), suite


def _select_queries(
    args: Namespace, spec: Spec, suite: Suite, purpose: str, *, allow_test: bool
) -> tuple[Suite, tuple[ablation.DataNote, ...]]:
    """Return the queries of --split, or of [run] split."""
    splits = split_list(args.split)
    try:
        chosen = spec.split if splits is None else splits
        selected, notes = ablation.select_queries(suite, chosen, purpose, allow_test=allow_test)
    except ConfigError as error:
        raise (error if splits else locate_error(error, spec, "run")) from error
    for note in notes:
        if note.kind == "used up":
            warn(note.text)
    return selected, notes


def _run_varied(args: Namespace, spec: Spec, suite: Suite) -> Run:
    options = ExecutionOptions(check_directory(Path(args.out)) if args.out else None)
    missing: Missing | None = "report" if args.allow_missing else None
    with show_progress(args, spec.tested()) as report:
        return run_spec(spec, suite, missing=missing, progress=report, options=options)


def _save_run(args: Namespace, run: Run, spec: Spec, suite: Suite) -> None:
    if args.out:
        page, declared = PagePlan(texts=CorpusTexts, tracer=trace_queries), retained_engines(spec, suite)
        publish(run, spec.analysis_plan(), Path(args.out), declared=declared, page=page)
        info(args, f"written to {args.out}/")


def _open_ledger(args: Namespace, spec: Spec) -> ledgers.LedgerPlan | None:
    """Read the ledger and the rule, to find errors before the run; return None without --ledger."""
    if args.ledger is None:
        return None
    plan = ledgers.ledger_plan(spec, args.ledger or None, args.rule)
    ledgers.read_ledger(plan.path)
    return plan
