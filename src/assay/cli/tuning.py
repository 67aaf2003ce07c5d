from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.cli.console import emit, emit_blocks, info, pluralize, show_progress, warn, write_result
from assay.cli.options import (
    default_results,
    load_config,
    load_experiment,
    plan_flags,
    question_flags,
    read_results,
    split_list,
    split_today,
)
from assay.engines.kinds import Component
from assay.errors import ConfigError, GoldError
from assay.experiment import ablation, check_directory
from assay.experiment import ledger as ledgers
from assay.experiment.ablation import spent_warning
from assay.experiment.corpora import Missing, load_suite
from assay.experiment.execution import run_spec
from assay.experiment.run_plan import ExecutionOptions
from assay.experiment.source_texts import CorpusTexts
from assay.experiment.spec import Spec, make_engines, override
from assay.experiment.spec.analysis_plan import analysis_plan_of, change_plan, fall_back_to_files
from assay.experiment.spec.assay_toml import locate_error, read_table
from assay.experiment.spec.engine_entries import retained_engines
from assay.experiment.spec.experiment_spec import resolve_level
from assay.experiment.spec.variants import SettingChange
from assay.experiment.tracing import trace_queries
from assay.experiment.tuning import BaseEngine, GridPoint, TuneSettings, find_base, grid_points, parse_param, spec_with
from assay.gold.access_log import log_saved_access
from assay.gold.split import sealed_queries
from assay.report import tuning_report
from assay.report.explorer.html_page import PageOptions
from assay.report.ledger_entries import (
    ablation_entries,
    entry_document,
    entry_json,
    ledger_document,
    ledger_json,
    measure_engine,
    measure_runs,
    tuning_entry,
)
from assay.report.publish import publish
from assay.report.render.document import Paragraph, to_markdown
from assay.settings import setting_errors
from assay.types import Run, Suite


def ablate_command(args: Namespace) -> int:
    spec, suite = _load_inputs(args)
    base, parts = ablation.find_parts(spec, args.engine, args.only)
    ledger = _open_ledger(args, spec)
    suite, notes = _select_queries(args, spec, suite, "ablations", allow_test=True)
    run, steps = _measure_parts(args, base, parts, suite)
    plan = fall_back_to_files(base.spec.analysis_plan(), run)
    result = tuning_report.ablation_result(run, plan, base.name, steps, notes)
    _save_run(args, run, base.spec, suite)
    data = tuning_report.ablation_json(result)
    if ledger:
        added = add_to_ledger(args, ledger, ablation_entries(result, run, plan, ledger.rule, args.by))
        data["ledger"] = {"file": str(ledger.path), "entries": [entry.number for entry in added]}
    emit(args, tuning_report.ablation_document(result), data)
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
    plan = fall_back_to_files(grid.analysis_plan(), run)
    report = tuning_report.tune_report(run, plan, engine, points, settings.partitions, notes)
    _save_run(args, run, grid, suite)
    data = tuning_report.tune_json(report)
    if ledger:
        entry = tuning_entry(report, run, plan, ledger.rule, args.by)
        added = add_to_ledger(args, ledger, [entry]) if entry else ()
        data["ledger"] = {"file": str(ledger.path), "entries": [entry.number for entry in added]}
        if not entry:
            info(args, f"{ledger.path}: no entry added: the best point equals the default")
    emit(args, tuning_report.tune_document(report), data)
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
    flags = plan_flags(args)
    spec = override(load_experiment(args), **question_flags(args), **flags, jobs=args.jobs)
    suite = load_suite(spec)
    return resolve_level(spec, suite, primary=flags["primary"], measures=flags["measures"]), suite


def _select_queries(
    args: Namespace, spec: Spec, suite: Suite, purpose: str, *, allow_test: bool
) -> tuple[Suite, tuple[ablation.DataNote, ...]]:
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
        page, declared = PageOptions(texts=CorpusTexts, tracer=trace_queries), retained_engines(spec, suite)
        publish(run, spec.analysis_plan(), Path(args.out), declared=declared, page=page)
        info(args, f"written to {args.out}/")


def _open_ledger(args: Namespace, spec: Spec) -> ledgers.LedgerPlan | None:
    """Read the ledger and the rule, to find errors before the run; return None without --ledger."""
    if args.ledger is None:
        return None
    plan = ledgers.ledger_plan(spec, args.ledger or None, args.rule)
    ledgers.read_ledger(plan.path)
    return plan


def list_command(args: Namespace) -> None:
    ledger = ledgers.read_ledger(_find_ledger(args).path)
    document = ledger_document(ledger)
    if getattr(args, "markdown", False) and not args.json:
        write_result(to_markdown(document).removesuffix("\n"))
    else:
        emit(args, document, ledger_json(ledger))


def add_command(args: Namespace) -> None:
    ledger = _find_ledger(args)
    ledgers.read_ledger(ledger.path)
    args.results = args.results or default_results(args)
    run = read_results(args.results)
    old = read_results(args.against) if args.against else None
    suite = split_today(run.suite)  # the entry names the splits of today
    _log_sealed(suite, args.engine)
    plan = change_plan(analysis_plan_of(run), run.k, **{**plan_flags(args), "baseline": None})
    if args.baseline and not args.against:
        plan = replace(plan, baseline=args.baseline)
    if old is not None:
        measured, sentence = measure_runs(
            old,
            run,
            plan,
            engines=(args.baseline or args.engine, args.engine),
            names=(args.against, args.results),
            allow_changed_corpus=args.allow_changed_corpus,
        )
        info(args, sentence)
    else:
        measured = measure_engine(run, plan, args.engine)
    title = args.title or f"{measured.new.name} against {measured.old.name}"
    measured = replace(measured, run=replace(run, suite=suite))
    (added,) = add_to_ledger(args, ledger, [ledgers.make_entry(measured, plan, ledger.rule, title=title, by=args.by)])
    emit(args, entry_document(added), entry_json(added))
    if not added.changes and not args.against:
        info(args, "the two engines have the same settings; the entry is meaningful only if the program changed")


def _log_sealed(suite: Suite, engine: str) -> None:
    sealed = sum(len(sealed_queries(gold)) for gold in suite.golds)
    if sealed and not log_saved_access(suite, "ledger add", [engine]):
        raise GoldError(
            f"cannot log the access to {sealed} sealed queries: their gold file is missing",
            hint="restore the gold file, or use a run without sealed queries: assay run --split dev",
        )


def show_command(args: Namespace) -> None:
    entry = ledgers.find_entry(ledgers.read_ledger(_find_ledger(args).path), args.number)
    emit(args, entry_document(entry), entry_json(entry))


def verify_command(args: Namespace) -> int:
    path = _find_ledger(args).path
    scanned = ledgers.scan(path)
    problems = [Paragraph(f"{path}:{problem.line}: {problem.text}", "bad") for problem in scanned.problems]
    entries = pluralize(len(scanned.lines), "entry", "entries")
    title = f"{path}: {pluralize(len(problems), 'problem')}" if problems else f"{path}: {entries}, no problems"
    data = {
        "schema": "assay/ledger-verify/1",
        "file": str(path),
        "entries": len(scanned.lines),
        "problems": [asdict(problem) for problem in scanned.problems],
        "notes": list(scanned.notes),
    }
    emit_blocks(args, title, (*problems, *(Paragraph(note, "warning") for note in scanned.notes)), data)
    return 2 if problems else 0


def _find_ledger(args: Namespace) -> ledgers.LedgerPlan:
    spec = load_config(args)
    return ledgers.ledger_plan(spec, getattr(args, "ledger", None), getattr(args, "rule", None))


def add_to_ledger(
    args: Namespace, plan: ledgers.LedgerPlan, entries: Sequence[ledgers.LedgerEntry]
) -> tuple[ledgers.LedgerEntry, ...]:
    """Add entries to the ledger and print their numbers; warn about splits that tuning has used."""
    added = ledgers.add_entries(plan.path, entries, again=args.allow_duplicate)
    accepted = sum(entry.accepted for entry in added)
    numbers = f"{added[0].number}" if len(added) == 1 else f"{added[0].number} to {added[-1].number}"
    info(args, f"{plan.path}: entry {numbers} added; {accepted} of {len(added)} accepted")
    spent = sorted({part for entry in added for part in entry.spent})
    if spent:
        warn(f"{plan.path}: entry {numbers}: {spent_warning(spent)}")
    return added
