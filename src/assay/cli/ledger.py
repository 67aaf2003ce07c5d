"""Keep a ledger of changes: evidence, decision rule, accepted or rejected.

assay ledger                                              the table, with the running total of what was accepted
assay ledger add results --engine new --baseline old --title "stem boost"
assay ledger add results --against results-before --engine mine
assay ledger show 3                                       one entry with all that it rests on
assay ledger verify                                       is any line changed, removed or moved?

`assay ablate --ledger` and `assay tune --ledger` add theirs. The file is ledger.jsonl beside assay.toml, and is only
ever added to: each line holds the hash of the one before.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from assay.cli.options import JUDGING, add_claim, add_found, add_rule, claim_flags, read_results, split_today
from assay.cli.output import emit, info, pluralize
from assay.errors import ConfigError, EngineError, GoldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.experiment.ledger import LedgerPlan, MeasuredChange
    from assay.types import AnalysisPlan, EngineRun, Run


def list_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument(
        "--markdown", action="store_true", default=argparse.SUPPRESS, help="print the table as Markdown"
    )


def list_command(args: argparse.Namespace) -> int:
    """List recorded changes and their outcomes."""
    from assay.experiment.ledger import read_ledger
    from assay.report.ledger import ledger_document, ledger_json
    from assay.report.render.markup import to_markdown

    book = read_ledger(plan_of(args).path)
    document = ledger_document(book)
    if getattr(args, "markdown", False) and not args.json:
        print(to_markdown(document), end="")  # noqa: T201  # stdout is the result
    else:
        emit(args, document, ledger_json(book))
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument("--engine", metavar="NEW", required=True, help="the engine with the change")
    parser.add_argument("--baseline", metavar="OLD", help="the engine without it (of --against: the same name)")
    parser.add_argument("--against", metavar="FOLDER", help="the run that OLD is in, if it is another")
    parser.add_argument("--title", metavar="TEXT", help="what was changed, in a few words (NEW against OLD)")
    parser.add_argument(
        "--allow-changed-corpus", action="store_true", help="compare runs whose corpus changed in between"
    )
    add_claim(parser, JUDGING)
    add_rule(parser)
    add_place(parser)


def add_command(args: argparse.Namespace) -> int:
    """Apply the decision rule to a change and record the outcome with its evidence.

    The new engine and what it is compared with are two engines of one run, or, with --against, of two runs: those must
    have asked the same queries on the same corpora (else exit code 5). A rejected change is an entry too, and no error.
    A run on test or sealed queries is taken with a warning: it uses them up, and the entry is marked.
    """
    from assay.experiment.ledger import make_entry, read_ledger
    from assay.report.ledger import entry_document, entry_json

    plan = plan_of(args)
    read_ledger(plan.path)
    run = read_results(args.results)
    old = read_results(args.against) if args.against else run
    _log_looks(run, args.engine)
    claim = _claim(args, run)
    measured = _between(args, old, run, claim) if args.against else _inside(args, run, claim)
    measured = replace(measured, run=replace(run, suite=split_today(run.suite)))  # the entry names the parts of now
    title = args.title or f"{measured.new.name} against {measured.old.name}"
    entry = make_entry(measured, claim, plan.rule, title=title, by=args.by)
    (added,) = add_found(args, plan, [entry])
    emit(args, entry_document(added), entry_json(added))
    if not added.changes and not args.against:
        info(args, "the two engines have the same settings: is it the program that changed?")
    return 0


def _claim(args: argparse.Namespace, run: Run) -> AnalysisPlan:
    from assay.experiment.spec.model import analysis_plan_of, change_plan

    flags = {**claim_flags(args), "baseline": None}
    claim = change_plan(analysis_plan_of(run), run.k, **flags)
    return claim if args.against or not args.baseline else replace(claim, baseline=args.baseline)


def _log_looks(run: Run, engine: str) -> None:
    from assay.gold.load import log_reaccess
    from assay.gold.split import sealed_queries

    suite = split_today(run.suite)
    sealed = sum(len(sealed_queries(gold)) for gold in suite.golds)
    if sealed and not log_reaccess(suite, "ledger add", [engine]):
        raise GoldError(
            f"{sealed} sealed queries are in this run, and their gold file is not here to log the look",
            hint="add it where the gold set is, or use a run without them: assay run --split dev",
        )


def _inside(args: argparse.Namespace, run: Run, claim: AnalysisPlan) -> MeasuredChange:
    from assay.experiment.ledger import MeasuredChange
    from assay.experiment.spec.model import check_plan
    from assay.report.comparison import compare_engines
    from assay.report.scored_run import compared_engines, pick
    from assay.scoring import score
    from assay.stats.compare import by_repository

    claim = replace(claim, family=tuple(name for name in claim.family if name != claim.baseline))
    check_plan(claim, run.k, [engine.name for engine in run.engines])
    new, old = _engine(run, args.engine), _engine(run, claim.baseline)
    if new is old:
        raise ConfigError(f"{new.name} is compared with itself", hint="name another --baseline")
    together = not claim.family and args.engine in compared_engines(run, claim.baseline)
    found = compare_engines(run, claim, None if together else args.engine)
    row = next((row for row in found.rows if row.engine == args.engine), None)
    if row is None:
        raise _silent(found.failed)
    scores = pick(score(run, (claim.primary,)), engines=(args.engine, claim.baseline))
    changes = by_repository(scores, args.engine, claim.baseline, claim.primary)
    return MeasuredChange(run, new, old, row, changes, found.family_size)


def _between(args: argparse.Namespace, old: Run, new: Run, claim: AnalysisPlan) -> MeasuredChange:
    from assay.experiment.ledger import MeasuredChange
    from assay.report.comparison import require_comparable
    from assay.report.scored_run import failed_engines
    from assay.scoring import score
    from assay.stats.compare import by_repository, compare_pairs
    from assay.stats.config import settings_of
    from assay.stats.runs import EngineOfRun, join_sides

    require_comparable(old, new, moved=args.allow_changed_corpus)
    before, after = _engine(old, args.baseline or args.engine), _engine(new, args.engine)
    failed = [e.name for run, e in ((old, before), (new, after)) if e.name in failed_engines(run)]
    if failed:
        raise _silent(failed)
    joined = join_sides(
        EngineOfRun(score(old, (claim.primary,)), before.name, args.against),
        EngineOfRun(score(new, (claim.primary,)), after.name, args.results),
        claim.primary,
    )
    pair = (joined.names.new, joined.names.old)
    found = compare_pairs(joined.scores, [pair], primary=claim.primary, **settings_of(claim))
    changes = by_repository(joined.scores, *pair, claim.primary)
    info(args, joined.sentence)
    return MeasuredChange(new, after, before, found.rows[0], changes)


def _engine(run: Run, name: str) -> EngineRun:
    found = next((engine for engine in run.engines if engine.name == name), None)
    if found is None:
        raise ConfigError(
            f"no engine {name!r} in this run", hint=f"there are: {', '.join(e.name for e in run.engines)}"
        )
    return found


def _silent(names: Sequence[str]) -> EngineError:
    return EngineError(f"{', '.join(names)} answered no query", hint="assay score shows what they said")


def show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", type=int, metavar="N", help="the entry's number")
    add_place(parser)


def show_command(args: argparse.Namespace) -> int:
    """Show one entry with its evidence."""
    from assay.experiment.ledger import find_entry, read_ledger
    from assay.report.ledger import entry_document, entry_json

    entry = find_entry(read_ledger(plan_of(args).path), args.number)
    emit(args, entry_document(entry), entry_json(entry))
    return 0


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def verify_command(args: argparse.Namespace) -> int:
    """Verify that no line of the ledger was changed, removed or moved; exit code 2 if one was."""
    from assay.experiment.chain import scan, scan_notes
    from assay.report.render.document import Document, Paragraph

    path = plan_of(args).path
    found = scan(path)
    notes = scan_notes(path, found)
    wrong = [Paragraph(f"{path}:{problem.line}: {problem.text}", "bad") for problem in found.problems]
    entries = pluralize(len(found.links), "entry", "entries")
    title = f"{path}: {pluralize(len(wrong), 'problem')}" if wrong else f"{path}: {entries}, all in place"
    data = {
        "schema": "assay/ledger-verify/1",
        "file": str(path),
        "entries": len(found.links),
        "problems": [asdict(problem) for problem in found.problems],
        "notes": list(notes),
    }
    emit(args, Document(title, (*wrong, *(Paragraph(note, "warning") for note in notes))), data)
    return 2 if wrong else 0


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the ledger; suppressed, or one behind an action's name would undo one before it."""
    suppressed = argparse.SUPPRESS
    parser.add_argument("--ledger", metavar="FILE", default=suppressed, help="the ledger (ledger.jsonl)")
    parser.add_argument("--config", metavar="FILE", default=suppressed, help="an assay.toml (this folder's, if any)")


def plan_of(args: argparse.Namespace) -> LedgerPlan:
    """Find the ledger and the rule in force."""
    from assay.cli.options import declared
    from assay.experiment.ledger import ledger_plan

    return ledger_plan(
        declared(getattr(args, "config", None)), getattr(args, "ledger", None), getattr(args, "rule", None)
    )
