"""Rescore a saved run without rerunning engines."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import add_claim, add_full, add_page, claim_for, log_look, page_flags, read_results
from assay.cli.output import emit, info, warn, without_collecting
from assay.errors import AssayError, ConfigError

if TYPE_CHECKING:
    from assay.types import GoldSet, Query, Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
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
def handle(args: argparse.Namespace) -> int:
    """Score, print, and write where asked."""
    from assay.experiment import writing
    from assay.report import document, reopen, require_parquet, results_json, write_reports
    from assay.report.render.document import Heading
    from assay.report.unpooled import score_unpooled

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
        with writing(Path(args.results)):
            write_reports(results, found.case, Path(args.results), parquet=args.parquet, page=page)
        info(args, f"written to {args.results}/")
    shown, data = document(results, full=args.full), results_json(results)
    if args.without_pooled:
        own = score_unpooled(run, claim, results)
        title = f"{shown.title} (with all labels)"
        shown = replace(shown, title=title, blocks=(*own.blocks, Heading("With all labels"), *shown.blocks))
        data |= {"without_pooled": own.data}
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
    from assay.gold.split import part_of

    path = Path(gold.source or "")
    if not path.is_file():
        return 0
    try:
        here = [one for one in load_gold(path, corpus=gold.corpus).golds if one.name == gold.name]
    except AssayError:  # a file that is being edited says nothing of the run
        return 0
    today = {query.id: query for one in here for query in one.queries}
    asked = {query.id for query in gold.queries}
    parts = {part_of(query) for query in gold.queries}
    partial = bool(run.header.corpora[gold.name].problems) if gold.name in run.header.corpora else False
    new = 0 if partial else sum(name not in asked and part_of(query) in parts for name, query in today.items())
    return new + sum(not _same(today.get(query.id), query, gold, run, partial) for query in gold.queries)


def _same(now: Query | None, ran: Query, gold: GoldSet, run: Run, partial: bool) -> bool:
    from assay.gold import query_hash

    if now is None:
        return False
    if partial:
        kept = {(target.anchor, target.grade) for target in ran.targets}
        return now.forms == ran.forms and kept <= {(target.anchor, target.grade) for target in now.targets}
    return query_hash(now, gold.corpus) == run.hashes.get(f"{gold.name}/{ran.id}")
