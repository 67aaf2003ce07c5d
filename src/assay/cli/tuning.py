"""The commands ablate, tune and ledger."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.cli.options import (
    claim_flags,
    load_config,
    load_experiment,
    question_flags,
    read_results,
    split_list,
    split_today,
)
from assay.cli.output import emit, emit_blocks, info, pluralize, warn, write_result
from assay.cli.progress import show_progress
from assay.errors import ConfigError, EngineError, GoldError, NotComparableError
from assay.experiment import ablation, check_directory
from assay.experiment import ledger as ledgers
from assay.experiment.corpora import CorpusTexts, Missing, load_suite
from assay.experiment.plan import ExecutionOptions
from assay.experiment.runner import run_spec
from assay.experiment.spec import Spec, make_engines, model, override
from assay.experiment.spec.variants import SettingChange
from assay.experiment.tracing import trace_queries
from assay.experiment.tuning import GridPoint, TuneSettings, find_base, grid_points, parse_param, spec_with, tune_scores
from assay.gold.access_log import log_saved_access
from assay.gold.split import sealed_queries
from assay.report import tuning as report_tuning
from assay.report.comparison import changed_corpora, compare_engines, require_comparable
from assay.report.explorer.excerpts import PagePlan
from assay.report.publish import publish
from assay.report.render.document import Paragraph
from assay.report.render.markup import to_markdown
from assay.report.scored_run import compared_engines, failed_engines, pick, reference_baseline
from assay.report.tuning import entry_document, entry_json, ledger_document, ledger_json
from assay.scoring import score
from assay.settings import setting_errors
from assay.stats.compare import by_repository, compare_pairs
from assay.stats.config import compare_options
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import AnalysisPlan, EngineRun, Run, Suite


def ablate_command(args: Namespace) -> int:
    spec, suite = _load_inputs(args)
    components = ablation.find_parts(spec, args.engine, args.only)
    ledger = _open_ledger(args, spec)
    queries = _select_queries(args, spec, suite, ablation.ABLATING)
    measured = _measure_parts(args, components, queries.suite)
    base = components.base
    claim = base.spec.analysis_plan()
    result = report_tuning.ablation_result(measured.run, claim, base.name, measured.steps, queries.notes)
    _save_run(args, measured.run, base.spec, queries.suite)
    data = report_tuning.ablation_json(result)
    if ledger:
        added = _add_entries(args, ledger, list(_ablation_entries(args, ledger, result, measured.run, claim)))
        data["ledger"] = {"file": str(ledger.path), "entries": [entry.number for entry in added]}
    emit(args, report_tuning.ablation_document(result), data)
    return 4 if result.failed else 0


def _measure_parts(args: Namespace, components: ablation.EngineComponents, suite: Suite) -> ablation.ForwardSelection:
    base = components.base

    def run(*variants: SettingChange) -> Run:
        return _run_varied(args, replace(spec_with(base, variants), split=()), suite)

    ways = ablation.WAYS[args.strategy]
    at_once = tuple(way for way in ways if way != "added") if args.kept else ways
    plan = ablation.plan_ablation(components.parts, base.name, at_once)
    first = run(*plan.variants)
    if at_once == ways:
        return ablation.ForwardSelection(first, plan.steps)
    selected = ablation.select_forward(first, base.name, components.parts, base.spec.analysis_plan().primary, run)
    return ablation.ForwardSelection(selected.run, (*plan.steps, *selected.steps))


def _ablation_entries(
    args: Namespace, ledger: ledgers.LedgerPlan, result: report_tuning.AblationResult, run: Run, claim: AnalysisPlan
) -> Iterator[ledgers.LedgerEntry]:
    engines = {engine.name: engine for engine in run.engines}
    for row in result.rows:
        step = row.step
        sign = "without" if step.strategy == "left out" else "plus"
        new, old = engines[step.variant], engines[step.against]
        measured = ledgers.MeasuredChange(run, new, old, row.comparison, row.repositories, result.family)
        title = f"{result.engine} {sign} {step.part}"
        yield ledgers.make_entry(measured, claim, ledger.rule, title=title, how="ablate", by=args.by)


def tune_command(args: Namespace) -> int:
    spec, suite = _load_inputs(args)
    settings = _tune_settings(args, spec)
    grid, engine, points = _plan_grid(args, spec, settings)
    ledger = _open_ledger(args, spec)
    queries = _select_queries(args, spec, suite, ablation.TUNING)
    run = _run_varied(args, grid, queries.suite)
    claim = grid.analysis_plan()
    report = _score_grid(engine, points, run, claim, settings.partitions, queries.notes)
    _save_run(args, run, grid, queries.suite)
    data = report_tuning.tune_json(report)
    if ledger:
        entries = _tuning_entries(args, ledger.rule, report, run, claim)
        added = _add_entries(args, ledger, entries) if entries else ()
        data["ledger"] = {"file": str(ledger.path), "entries": [entry.number for entry in added]}
        if not entries:
            info(args, f"{ledger.path}: nothing added; the best point is the default itself")
    emit(args, report_tuning.tune_document(report), data)
    return 4 if len(report.points) < len(points) else 0


def _tune_settings(args: Namespace, spec: Spec) -> TuneSettings:
    settings = model.read_table(TuneSettings, spec, "tune", spec.tune)
    if args.partitions is not None:
        settings = replace(settings, partitions=args.partitions)
    if not args.param:
        return settings
    values: dict[str, tuple[object, ...]] = {}
    for key, choices in map(parse_param, args.param):
        if key in values:
            raise ConfigError(f"--param {key} is given twice", hint="name all its values at once: KEY=V1,V2")
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
        raise (error if args.param else model.locate_error(error, spec, "tune")) from error
    return grid, base.name, points


def _score_grid(
    engine: str,
    points: tuple[GridPoint, ...],
    run: Run,
    claim: AnalysisPlan,
    partitions: int,
    notes: Sequence[ablation.DataNote],
) -> report_tuning.TuneReport:
    failed = failed_engines(run)
    names = ", ".join(sorted(failed))
    left = tuple(point for point in points if point.change.name not in failed)
    if engine in failed or not left:
        raise EngineError(f"{names} failed on every query", hint=f"assay engines check {sorted(failed)[0]}")
    scores = pick(score(run, (claim.primary,)), engines=[e.name for e in run.engines if e.name not in failed])
    if failed:
        notes = (*notes, ablation.DataNote("failed", f"Failed, left out of the grid: {names} failed on every query."))
    return report_tuning.TuneReport(tune_scores(scores, engine, left, claim, partitions), left, tuple(notes))


def _tuning_entries(
    args: Namespace, rule: ledgers.AcceptanceRule, report: report_tuning.TuneReport, run: Run, claim: AnalysisPlan
) -> list[ledgers.LedgerEntry]:
    tuned = report.tuned
    if tuned.best == 0:
        return []
    engines = {engine.name: engine for engine in run.engines}
    best = tuned.tried[tuned.best].name
    measured = ledgers.MeasuredChange(run, engines[best], engines[tuned.engine], tuned.gain, tuned.repositories)
    apparent = tuned.honest.mean + tuned.optimism.difference
    tuning = ledgers.Tuning(len(tuned.tried), tuned.partitions, apparent, tuned.honest.mean)
    title = f"{tuned.engine} tuned: {best}"
    return [ledgers.make_entry(measured, claim, rule, title=title, how="tune", by=args.by, tuning=tuning)]


def _load_inputs(args: Namespace) -> tuple[Spec, Suite]:
    flags = claim_flags(args)
    spec = override(load_experiment(args), **question_flags(args), **flags, jobs=args.jobs)
    suite = load_suite(spec)
    return model.resolve_level(spec, suite, primary=flags["primary"], measures=flags["measures"]), suite


def _select_queries(args: Namespace, spec: Spec, suite: Suite, use: ablation.SplitUse) -> ablation.DevData:
    """Return the queries of --split, or of [run] split."""
    splits = split_list(args.split)
    try:
        data = ablation.dev_data(suite, spec.split if splits is None else splits, use)
    except ConfigError as error:
        raise (error if splits else model.locate_error(error, spec, "run")) from error
    for note in data.notes:
        if note.kind == "used up":
            warn(note.text)
    return data


def _run_varied(args: Namespace, spec: Spec, suite: Suite) -> Run:
    options = ExecutionOptions(check_directory(Path(args.out)) if args.out else None)
    missing: Missing | None = "report" if args.allow_missing else None
    with show_progress(args, spec.tested()) as report:
        return run_spec(spec, suite, missing=missing, progress=report, options=options)


def _save_run(args: Namespace, run: Run, spec: Spec, suite: Suite) -> None:
    if args.out:
        page, declared = PagePlan(texts=CorpusTexts, tracer=trace_queries), model.retained_engines(spec, suite)
        publish(run, spec.analysis_plan(), Path(args.out), declared=declared, page=page)
        info(args, f"written to {args.out}/")


def _open_ledger(args: Namespace, spec: Spec) -> ledgers.LedgerPlan | None:
    """Read the ledger and the rule, to find errors before the run; return None without --ledger."""
    if args.ledger is None:
        return None
    plan = ledgers.ledger_plan(spec, args.ledger or None, args.rule)
    ledgers.read_ledger(plan.path)
    return plan


def _add_entries(
    args: Namespace, plan: ledgers.LedgerPlan, entries: Sequence[ledgers.LedgerEntry]
) -> tuple[ledgers.LedgerEntry, ...]:
    added = ledgers.add_entries(plan.path, entries, again=args.allow_duplicate)
    accepted = sum(entry.accepted for entry in added)
    numbers = f"{added[0].number}" if len(added) == 1 else f"{added[0].number} to {added[-1].number}"
    info(args, f"{plan.path}: entry {numbers} added; {accepted} of {len(added)} accepted")
    spent = sorted({part for entry in added for part in entry.spent})
    if spent:
        warn(f"{plan.path}: entry {numbers}: {ablation.spent_warning(spent).text}")
    return added


def list_command(args: Namespace) -> int:
    ledger = ledgers.read_ledger(_find_ledger(args).path)
    document = ledger_document(ledger)
    if getattr(args, "markdown", False) and not args.json:
        write_result(to_markdown(document).removesuffix("\n"))
    else:
        emit(args, document, ledger_json(ledger))
    return 0


def add_command(args: Namespace) -> int:
    plan = _find_ledger(args)
    ledgers.read_ledger(plan.path)
    run = read_results(args.results)
    old = read_results(args.against) if args.against else run
    suite = split_today(run.suite)  # the entry names the splits of today
    _log_sealed(suite, args.engine)
    claim = model.change_plan(model.analysis_plan_of(run), run.k, **{**claim_flags(args), "baseline": None})
    if args.baseline and not args.against:
        claim = replace(claim, baseline=args.baseline)
    measured = _compare_runs(args, old, run, claim) if args.against else _compare_engines(args, run, claim)
    title = args.title or f"{measured.new.name} against {measured.old.name}"
    measured = replace(measured, run=replace(run, suite=suite))
    (added,) = _add_entries(args, plan, [ledgers.make_entry(measured, claim, plan.rule, title=title, by=args.by)])
    emit(args, entry_document(added), entry_json(added))
    if not added.changes and not args.against:
        info(args, "the two engines have the same settings: did the program itself change?")
    return 0


def _log_sealed(suite: Suite, engine: str) -> None:
    sealed = sum(len(sealed_queries(gold)) for gold in suite.golds)
    if sealed and not log_saved_access(suite, "ledger add", [engine]):
        raise GoldError(
            f"{sealed} sealed queries are in this run, and their gold file is missing, so the access cannot be logged",
            hint="add it where the gold set is, or use a run without them: assay run --split dev",
        )


def _compare_engines(args: Namespace, run: Run, claim: AnalysisPlan) -> ledgers.MeasuredChange:
    baseline = claim.baseline or reference_baseline(run)
    family = tuple(name for name in claim.family if name != baseline)
    claim = replace(claim, baseline=baseline, family=family)
    model.check_plan(claim, run.k, [engine.name for engine in run.engines])
    new, old = _find_engine(run, args.engine), _find_engine(run, claim.baseline)
    if new is old:
        raise ConfigError(f"{new.name} is compared with itself", hint="name another --baseline")
    together = not claim.family and args.engine in compared_engines(run, claim.baseline)
    comparison = compare_engines(run, claim, None if together else args.engine)
    row = next((row for row in comparison.rows if row.engine == args.engine), None)
    if row is None:
        raise _all_failed(comparison.failed)
    scores = pick(score(run, (claim.primary,)), engines=(args.engine, claim.baseline))
    changes = by_repository(scores, args.engine, claim.baseline, claim.primary)
    return ledgers.MeasuredChange(run, new, old, row, changes, comparison.family_size)


def _compare_runs(args: Namespace, old_run: Run, new_run: Run, claim: AnalysisPlan) -> ledgers.MeasuredChange:
    require_comparable(old_run, new_run)
    changed = changed_corpora(old_run, new_run)
    if changed and not args.allow_changed_corpus:
        raise NotComparableError(" ".join(changed), hint="--allow-changed-corpus records the change anyway")
    old, new = _find_engine(old_run, args.baseline or args.engine), _find_engine(new_run, args.engine)
    failed = [e.name for run, e in ((old_run, old), (new_run, new)) if e.name in failed_engines(run)]
    if failed:
        raise _all_failed(failed)
    joined = join_sides(
        EngineOfRun(score(old_run, (claim.primary,)), old.name, args.against),
        EngineOfRun(score(new_run, (claim.primary,)), new.name, args.results),
        claim.primary,
    )
    pair = (joined.names.new, joined.names.old)
    comparison = compare_pairs(joined.scores, [pair], primary=claim.primary, **compare_options(claim))
    changes = by_repository(joined.scores, *pair, claim.primary)
    info(args, joined.sentence)
    return ledgers.MeasuredChange(new_run, new, old, comparison.rows[0], changes)


def _find_engine(run: Run, name: str) -> EngineRun:
    for engine in run.engines:
        if engine.name == name:
            return engine
    hint = f"there are: {', '.join(engine.name for engine in run.engines)}"
    raise ConfigError(f"no engine {name!r} in this run", hint=hint)


def _all_failed(names: Sequence[str]) -> EngineError:
    return EngineError(f"{', '.join(names)} failed on every query", hint="`assay score` shows their errors")


def show_command(args: Namespace) -> int:
    entry = ledgers.find_entry(ledgers.read_ledger(_find_ledger(args).path), args.number)
    emit(args, entry_document(entry), entry_json(entry))
    return 0


def verify_command(args: Namespace) -> int:
    path = _find_ledger(args).path
    scanned = ledgers.scan(path)
    notes = ledgers.scan_notes(path, scanned)
    problems = [Paragraph(f"{path}:{problem.line}: {problem.text}", "bad") for problem in scanned.problems]
    entries = pluralize(len(scanned.links), "entry", "entries")
    title = f"{path}: {pluralize(len(problems), 'problem')}" if problems else f"{path}: {entries}, all in place"
    data = {
        "schema": "assay/ledger-verify/1",
        "file": str(path),
        "entries": len(scanned.links),
        "problems": [asdict(problem) for problem in scanned.problems],
        "notes": list(notes),
    }
    emit_blocks(args, title, (*problems, *(Paragraph(note, "warning") for note in notes)), data)
    return 2 if problems else 0


def _find_ledger(args: Namespace) -> ledgers.LedgerPlan:
    spec = load_config(getattr(args, "config", None))
    return ledgers.ledger_plan(spec, getattr(args, "ledger", None), getattr(args, "rule", None))
