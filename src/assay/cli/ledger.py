from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace

from assay.cli.options import claim_flags, default_results, load_config, read_results, split_today
from assay.cli.output import emit, emit_blocks, info, pluralize, warn, write_result
from assay.errors import GoldError
from assay.experiment import ledger as ledgers
from assay.experiment.ablation import spent_warning
from assay.experiment.spec.analysis_plan import analysis_plan_of, change_plan
from assay.gold.access_log import log_saved_access
from assay.gold.split import sealed_queries
from assay.report.ledger import (
    entry_document,
    entry_json,
    ledger_document,
    ledger_json,
    measure_engine,
    measure_runs,
)
from assay.report.render.document import Paragraph
from assay.report.render.markup import to_markdown
from assay.types import Suite


def list_command(args: Namespace) -> None:
    ledger = ledgers.read_ledger(_find_ledger(args).path)
    document = ledger_document(ledger)
    if getattr(args, "markdown", False) and not args.json:
        write_result(to_markdown(document).removesuffix("\n"))
    else:
        emit(args, document, ledger_json(ledger))


def add_command(args: Namespace) -> None:
    plan = _find_ledger(args)
    ledgers.read_ledger(plan.path)
    args.results = args.results or default_results(args)
    run = read_results(args.results)
    old = read_results(args.against) if args.against else None
    suite = split_today(run.suite)  # the entry names the splits of today
    _log_sealed(suite, args.engine)
    claim = change_plan(analysis_plan_of(run), run.k, **{**claim_flags(args), "baseline": None})
    if args.baseline and not args.against:
        claim = replace(claim, baseline=args.baseline)
    if old is not None:
        measured, sentence = measure_runs(
            old,
            run,
            claim,
            engines=(args.baseline or args.engine, args.engine),
            names=(args.against, args.results),
            allow_changed_corpus=args.allow_changed_corpus,
        )
        info(args, sentence)
    else:
        measured = measure_engine(run, claim, args.engine)
    title = args.title or f"{measured.new.name} against {measured.old.name}"
    measured = replace(measured, run=replace(run, suite=suite))
    (added,) = add_to_ledger(args, plan, [ledgers.make_entry(measured, claim, plan.rule, title=title, by=args.by)])
    emit(args, entry_document(added), entry_json(added))
    if not added.changes and not args.against:
        info(args, "the two engines have the same settings: did the program itself change?")


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
