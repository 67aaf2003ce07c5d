from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.listen import open_page
from assay.cli.options import (
    CLAIM,
    Once,
    add_claim,
    add_full,
    add_page,
    claim_for,
    log_look,
    page_flags,
    read_results,
    typed,
)
from assay.cli.output import emit, info, warn, without_collecting
from assay.errors import AssayError, ConfigError, InputError

if TYPE_CHECKING:
    from assay.report.explorer.page import HtmlReport
    from assay.report.show import ShownEngine
    from assay.types import AnalysisPlan, GoldSet, Query, Run


def merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="+", metavar="FOLDER|FILE", help="folders with shards, or shards themselves")
    parser.add_argument("--out", default="results", metavar="FOLDER", help="where the run goes (results)")
    parser.add_argument("--forget", action="store_true", help="drop the rows of earlier runs that do not fit this one")
    parser.add_argument("--parquet", action="store_true", help="write per-query.parquet too (extra: parquet)")
    add_page(parser)
    add_full(parser)


def merge_command(args: argparse.Namespace) -> int:
    """Merge the shards of a run and report the results.

    Each part runs wherever it likes; the result is that of one run, byte for byte:

      assay run --shard 1/4 --out part       (and 2/4, 3/4, 4/4: here, or on other machines)
      assay merge part --out results
    """
    from assay.cli.run import write_report
    from assay.experiment import check_directory
    from assay.experiment.runner import RunOutcome, assemble
    from assay.experiment.shards import merge_shards
    from assay.experiment.spec.model import analysis_plan_of
    from assay.report.publish import require_parquet

    folder = check_directory(Path(args.out))
    page = page_flags(args)
    if args.parquet:
        require_parquet()
    whole = merge_shards(Path(part) for part in args.parts)
    outcome = RunOutcome(assemble(whole.summary, whole.results), whole.results)
    return write_report(args, outcome, analysis_plan_of(outcome.run), folder, whole.declared, page)


def score_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument("--write", action="store_true", help="replace every report in the folder")
    parser.add_argument("--parquet", action="store_true", help="with --write: per-query.parquet too (extra: parquet)")
    add_page(parser)
    parser.add_argument(
        "--without-pooled", action="store_true", help="also score without the labels that engines' results brought up"
    )
    add_full(parser)
    add_claim(parser)


@without_collecting()
def score_command(args: argparse.Namespace) -> int:
    """Rescore a saved run without rerunning engines."""
    from assay.experiment import lock_directory
    from assay.report.publish import reopen, require_parquet, write_reports
    from assay.report.render.document import Heading
    from assay.report.results import results_json
    from assay.report.sections import document, unpooled_section

    _check_flags(args)
    if args.parquet:
        require_parquet()
    page = page_flags(args)
    run = read_results(args.results)
    claim = claim_for(run, args)
    log_look(args, run, "score")
    found = reopen(run, claim, Path(args.results))
    results = found.results
    if args.write:
        with lock_directory(Path(args.results)):
            write_reports(results, found.case, Path(args.results), parquet=args.parquet, page=page)
        info(args, f"written to {args.results}/")
    shown, data = document(results, full=args.full), results_json(results)
    if args.without_pooled:
        blocks, unpooled = unpooled_section(run, claim, results)
        title = f"{shown.title} (with all labels)"
        shown = replace(shown, title=title, blocks=(*blocks, Heading("With all labels"), *shown.blocks))
        data |= {"without_pooled": unpooled}
    changed = {gold.source: many for gold in run.suite.golds if gold.source and (many := _changed(run, gold))}
    emit(args, shown, data | ({"gold_changed": changed} if changed else {}))
    for source, many in changed.items():
        warn(f"{source} changed since this run: {many} {'query' if many == 1 else 'queries'}; run again")
    return 0


def _check_flags(args: argparse.Namespace) -> None:
    for flag in ("parquet", "max_size", "no_source"):
        if getattr(args, flag) and not args.write:
            raise ConfigError(f"--{flag.replace('_', '-')} means nothing without --write", hint="add --write")


def _changed(run: Run, gold: GoldSet) -> int:
    from assay.gold import load_gold
    from assay.gold.split import split_of

    path = Path(gold.source or "")
    if not path.is_file():
        return 0
    try:
        here = [one for one in load_gold(path, corpus=gold.corpus).golds if one.name == gold.name]
    except AssayError:  # a file that is being edited says nothing of the run
        return 0
    today = {query.id: query for one in here for query in one.queries}
    asked = {query.id for query in gold.queries}
    parts = {split_of(query) for query in gold.queries}
    partial = bool(run.header.corpora[gold.name].problems) if gold.name in run.header.corpora else False
    new = 0 if partial else sum(name not in asked and split_of(query) in parts for name, query in today.items())
    return new + sum(not _same(today.get(query.id), query, gold, run, partial) for query in gold.queries)


def _same(now: Query | None, ran: Query, gold: GoldSet, run: Run, partial: bool) -> bool:
    from assay.gold import query_hash

    if now is None:
        return False
    if partial:
        kept = {(target.anchor, target.grade) for target in ran.targets}
        return now.forms == ran.forms and kept <= {(target.anchor, target.grade) for target in now.targets}
    return query_hash(now, gold.corpus) == run.hashes.get(f"{gold.name}/{ran.id}")


def report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="?", default="results", help="folder that `assay run` wrote (results)")
    parser.add_argument("--out", metavar="FILE", help="where the page goes (report.html in the folder)")
    add_page(parser)
    parser.add_argument(
        "--traces", type=int, metavar="N", help="trace N queries of the builtin engine, even if it must index anew"
    )
    parser.add_argument("--open", action="store_true", help="show it in a browser")
    add_claim(parser)


@without_collecting()
def report_command(args: argparse.Namespace) -> int:
    """Rebuild report.html from a saved run: smaller or larger, without source, with traces.

    No engine is asked but the builtin one, and that only for traces. As after a run, 40 queries are traced where its
    index is kept or the corpus is small; --traces builds an index too:

      assay report results --max-size 10MB
      assay report results --no-source --out to-send.html
      assay report results --traces 100 --open
    """
    from assay.experiment.records.directory import HTML
    from assay.report.explorer.page import in_folder
    from assay.report.publish import reopen, write_html
    from assay.report.sections import headline

    page = page_flags(args)
    run = read_results(args.results)
    out = _checked(Path(args.out or Path(args.results) / HTML))
    claim = claim_for(run, args)
    log_look(args, run, "report")
    found = reopen(run, claim, Path(args.results), worst=False)  # the page has every ranking
    try:
        made = write_html(found.results, found.case, out, page)
    except ConfigError as error:
        hint = in_folder(error.hint or "", _again(args, "no_source", "traces"))
        raise ConfigError(error.message, hint=hint) from error
    _tell(args, out, headline(found.results), made)
    if args.open:
        open_page(args, out.resolve().as_uri(), str(out))
    return 0


def _checked(out: Path) -> Path:
    if out.is_dir():
        raise InputError("is a folder", file=out, hint="name a file with --out, such as report.html")
    if not out.parent.is_dir():
        raise InputError("its folder is not there", file=out, hint=f"make {out.parent} first, or name another place")
    return out


def _again(args: argparse.Namespace, *more: str) -> str:
    return shlex.join([args.results, *typed(args, "out", *CLAIM, *more)])


def _tell(args: argparse.Namespace, out: Path, title: str, made: HtmlReport) -> None:
    from assay.report.explorer.page import in_folder
    from assay.report.render.document import Document, Paragraph

    where = f"{out}: {len(made.data) / 1e6:.2f} MB."
    blocks = (Paragraph(where), *(Paragraph(in_folder(text, _again(args)), "quiet") for text in made.left_out))
    data = {"schema": "assay/report/1", "file": str(out), "bytes": len(made.data), "left_out": made.left_out}
    emit(args, Document(title, blocks), data)


#: Where a run lies when nobody says.
_USUAL = "results"


def show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "assay show [RESULTS [RESULTS]] QUERY [--engines A B] [--engine NAME] [--form F] [--json]"
    parser.add_argument(
        "words", nargs="+", metavar="QUERY", help="its id or a part of its text; before it a run (results), or two"
    )
    parser.add_argument("--engines", nargs=2, metavar=("A", "B"), help="whose rankings (baseline and best rival)")
    parser.add_argument(
        "--engine", action=Once, metavar="NAME", help="this engine alone; of two runs, the one that is compared"
    )
    parser.add_argument("--form", metavar="F", help="the phrasing (the one its score is about)")


def show_command(args: argparse.Namespace) -> int:
    """Show one query: its targets and two rankings side by side.

    assay show results tax-lookup                       the baseline and the best rival of it
    assay show results "which percentage is charged"    by a part of its text that no other query has
    assay show results tax-lookup --engines builtin mine --form keyword
    assay show results-old results-new tax-lookup       the same engine in two runs (--engine NAME)
    """
    from assay.experiment.records.directory import is_run
    from assay.experiment.spec.model import analysis_plan_of
    from assay.gold.split import SEALED, split_of
    from assay.report.show import find_query, no_query, show_document, show_json, show_query

    folders, wanted = _words(args.words)
    if is_run(Path(wanted)):
        raise no_query(read_results(wanted), wanted)
    if args.engine and args.engines:
        raise ConfigError("--engine and --engines", hint="name one engine or two")
    runs = [read_results(folder) for folder in folders]
    claim = analysis_plan_of(runs[-1])
    found = find_query(runs[-1], wanted)
    subjects = _subjects(args, runs, folders, claim)
    measures = tuple(dict.fromkeys((*claim.measures, *found.query.measures)))
    shown = show_query(subjects, found.gold, found.query, args.form or found.form, claim, measures)
    if split_of(found.query) == SEALED:
        log_look(args, runs[-1], "show")
    emit(args, show_document(shown), show_json(shown))
    return 0


def _words(words: list[str]) -> tuple[list[str], str]:
    if len(words) > 3:
        raise ConfigError("several words", hint='put the query into quotes: assay show results "a part of its text"')
    return words[:-1] or [_USUAL], words[-1]


def _subjects(args: argparse.Namespace, runs: list[Run], folders: list[str], claim: AnalysisPlan) -> list[ShownEngine]:
    from assay.report.show import ShownEngine

    if len(runs) == 2:
        names = args.engines or [args.engine or _shared(runs, claim)] * 2
        told = [f"{name} ({folder})" for name, folder in zip(names, folders, strict=True)]
        return [ShownEngine(*three) for three in zip(told, names, runs, strict=True)]
    names = args.engines or ([args.engine] if args.engine else _pair(runs[0], claim))
    return [ShownEngine(name, name, runs[0]) for name in dict.fromkeys(names)]


def _pair(run: Run, claim: AnalysisPlan) -> list[str]:
    from assay.report.analysis import challenger_of

    return list(dict.fromkeys((claim.baseline, challenger_of(run, claim))))


def _shared(runs: list[Run], claim: AnalysisPlan) -> str:
    old, new = ([engine.name for engine in run.engines] for run in runs)
    best = _pair(runs[1], claim)[-1]
    if best in old:
        return best
    both = [name for name in new if name in old]
    if not both:
        raise ConfigError("the runs share no engine", hint="name one of each with --engines A B")
    return both[0]
