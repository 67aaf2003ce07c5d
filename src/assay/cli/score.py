"""The commands score, report and show, which read saved runs."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.cli.arguments import PLAN, reject_flags, require_flag
from assay.cli.compare import leading_pair
from assay.cli.console import emit, emit_blocks, emit_results, info, paused_gc, pluralize, warn
from assay.cli.options import (
    default_results,
    given_flags,
    log_run_access,
    open_page,
    plan_for,
    read_page_options,
    read_results,
)
from assay.engines.runfile import parse_trec
from assay.errors import AssayError, ConfigError, InputError
from assay.experiment import lock_directory
from assay.experiment.records.directory import HTML, is_run
from assay.experiment.spec.analysis_plan import analysis_plan_of, default_baseline
from assay.files import read_utf8
from assay.gold.build import query_hash
from assay.gold.formats.beir_trec import read_qrels
from assay.gold.load import load_gold
from assay.gold.split import SEALED, split_of
from assay.report.analysis import compared_pair
from assay.report.comparison_text import card, comparison_document, headline
from assay.report.decision import QueryLoss, decide_comparison, find_losses
from assay.report.explorer.html_page import in_folder
from assay.report.publish import reopen, require_parquet, write_html, write_reports
from assay.report.render.document import Block, Document, Heading, Paragraph, table
from assay.report.report_sections import unpooled_section
from assay.report.results_file import results_json
from assay.report.scored_run import pick
from assay.report.show import ShownEngine, find_query, no_query, show_document, show_json, show_query
from assay.scoring import parse_measure, score
from assay.stats import (
    all_pairs,
    compare,
    means_only,
)
from assay.stats.config import compare_options
from assay.stats.records import Comparison, ComparisonRow
from assay.types import AnalysisPlan, EngineRun, GoldSet, Hit, Query, Ranking, Run, RunMetadata, Suite

if TYPE_CHECKING:
    pass


@paused_gc()
def score_command(args: Namespace) -> None:
    if args.qrels:
        _score_run_files(args)
        return
    if len(args.results) > 1:
        raise ConfigError("expected one run directory, got several", hint="pass --qrels FILE to score run files")
    args.results = args.results[0] if args.results else None
    require_flag(args, "write", "parquet", "max_size", "no_source")
    if args.parquet:
        require_parquet()
    args.results = args.results or default_results(args)
    page = read_page_options(args)
    run = read_results(args.results)
    plan = plan_for(run, args)
    log_run_access(args, run, "score")
    scored, results = reopen(run, plan, Path(args.results))
    if args.write:
        with lock_directory(Path(args.results)):
            write_reports(results, scored, Path(args.results), parquet=args.parquet, page=page)
        info(args, f"written to {args.results}/")
    blocks: list[Block] = []
    data = results_json(results) if args.json else {}
    if args.exclude_pooled:
        blocks, unpooled = unpooled_section(run, plan, results)
        blocks.append(Heading("With all labels"))
        data |= {"without_pooled": unpooled}
    changed = {gold.source: count for gold in run.suite.golds if gold.source and (count := _count_changed(run, gold))}
    data |= {"gold_changed": changed} if changed else {}
    emit_results(args, scored, results, args.results, blocks, data)
    for source, count in changed.items():
        warn(f"{source}: {pluralize(count, 'query', 'queries')} changed since this run; run `assay run` again")


def _score_run_files(args: Namespace) -> None:
    reject_flags(args, "--qrels", "write", "exclude_pooled")
    if not args.results:
        raise ConfigError("--qrels requires run files", hint=f"assay score run.trec --qrels {shlex.quote(args.qrels)}")
    run, notes = read_run_files(Path(args.qrels), [Path(name) for name in args.results])
    plan = plan_for(run, args)
    scores = score(run, plan.measures)
    comparison: Comparison
    if len(scores.engines) == 1:
        name = scores.engines[0]
        comparison = means_only(scores, baseline=name, primary=plan.primary, alpha=plan.alpha, cluster=plan.cluster)
    elif plan.baseline:
        measures, options = [plan.primary], compare_options(plan)
        comparison = compare(scores, baseline=plan.baseline, primary=plan.primary, measures=measures, **options)
    else:
        pairs = all_pairs(pick(scores, measures=[plan.primary]), plan.primary, **compare_options(plan))
        comparison = leading_pair(pairs, higher=parse_measure(plan.primary).higher_is_better)

    def losses(row: ComparisonRow) -> list[QueryLoss]:
        return find_losses(scores, row.engine, row.baseline, row.measure)

    decision = decide_comparison(comparison, suite=run.suite.golds[0].name, losses=losses)
    for note in notes:
        warn(note)
    cells = np.nanmean(scores.values, axis=2)
    rows = [[name, *(f"{mean:.3f}" for mean in row)] for name, row in zip(scores.engines, cells, strict=True)]
    blocks = [*comparison_document(comparison).blocks] if args.full else []
    blocks.append(table(["Engine", *(f">{measure}" for measure in scores.measures)], rows))
    means = {
        row[0]: dict(zip(scores.measures, map(float, values), strict=True))
        for row, values in zip(rows, cells, strict=True)
    }
    data = {"schema": "assay/compare/1", **asdict(comparison), "scores": means, "decision": decision.to_json()}
    emit(args, Document("", (*blocks, card(decision, show="", more=" above" if args.full else " with --full"))), data)


def _count_changed(run: Run, gold: GoldSet) -> int:
    """Count the queries of a gold file that were added, removed or changed since the run."""
    path = Path(gold.source or "")
    if not path.is_file():
        return 0
    try:
        sets = [one for one in load_gold(path, corpus=gold.corpus).golds if one.name == gold.name]
    except AssayError:  # the file is being edited
        return 0
    today = {query.id: query for one in sets for query in one.queries}
    asked = {query.id for query in gold.queries}
    splits = {split_of(query) for query in gold.queries}
    partial = bool(run.header.corpora[gold.name].problems) if gold.name in run.header.corpora else False
    new = 0 if partial else sum(name not in asked and split_of(query) in splits for name, query in today.items())

    def is_same(query: Query) -> bool:
        now = today.get(query.id)
        if now is None:
            return False
        if partial:  # the run dropped missing targets
            kept = {(target.anchor, target.grade) for target in query.targets}
            return now.forms == query.forms and kept <= {(target.anchor, target.grade) for target in now.targets}
        return query_hash(now, gold.corpus) == run.hashes.get(f"{gold.name}/{query.id}")

    return new + sum(not is_same(query) for query in gold.queries)


@paused_gc()
def report_command(args: Namespace) -> None:
    args.results = args.results or default_results(args)
    page = read_page_options(args)
    run = read_results(args.results)
    out = Path(args.out or Path(args.results) / HTML)
    if out.is_dir():
        raise InputError("expected a file, got a directory", file=out, hint="--out report.html")
    if not out.parent.is_dir():
        raise InputError("no such directory", file=out.parent, hint="create it, or pass another --out")
    plan = plan_for(run, args)
    log_run_access(args, run, "report")
    scored, results = reopen(run, plan, Path(args.results), worst=False)  # the page has every ranking
    try:
        html = write_html(results, scored, out, page)
    except ConfigError as error:
        hint = in_folder(error.hint or "", _command_line(args, "no_source", "traces"))
        raise ConfigError(error.message, hint=hint) from error
    notes = (Paragraph(in_folder(text, _command_line(args)), "quiet") for text in html.left_out)
    data = {"schema": "assay/report/1", "file": str(out), "bytes": len(html.data), "left_out": html.left_out}
    emit_blocks(args, headline(results.decision), (f"{out}: {len(html.data) / 1e6:.2f} MB.", *notes), data)
    if args.open:
        open_page(args, out.resolve().as_uri(), str(out))


def _command_line(args: Namespace, *more: str) -> str:
    words = [args.results]
    for name, value in given_flags(args, "out", *PLAN, *more).items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag] * value
        else:
            words += [word for item in (value if isinstance(value, list) else [value]) for word in (flag, str(item))]
    return shlex.join(words)


def show_command(args: Namespace) -> None:
    if len(args.words) > 3:
        raise ConfigError("expected one query, got several words", hint='assay show results "part of its text"')
    *directories, wanted = args.words
    directories = directories or [default_results(args)]
    if is_run(Path(wanted)):
        raise no_query(read_results(wanted), wanted)
    if args.engines:
        reject_flags(args, "--engines", "engine")
    runs = [read_results(directory) for directory in directories]
    plan = analysis_plan_of(runs[-1])
    match = find_query(runs[-1], wanted)
    engines = _choose_engines(args, runs, directories, plan)
    measures = tuple(dict.fromkeys((*plan.measures, *match.query.measures)))
    shown = show_query(engines, match.gold, match.query, args.form or match.form, plan, measures)
    if split_of(match.query) == SEALED:
        log_run_access(args, runs[-1], "show")
    emit(args, show_document(shown), show_json(shown))


def _choose_engines(args: Namespace, runs: list[Run], directories: list[str], plan: AnalysisPlan) -> list[ShownEngine]:
    if len(runs) == 1:
        names = args.engines or ([args.engine] if args.engine else compared_pair(runs[0], plan))
        return [ShownEngine(name, name, runs[0]) for name in dict.fromkeys(names)]
    names = args.engines or [args.engine or _shared_engine(runs, compared_pair(runs[1], plan)[1])] * 2
    return [
        ShownEngine(f"{name} ({directory})", name, run)
        for name, directory, run in zip(names, directories, runs, strict=True)
    ]


def _shared_engine(runs: list[Run], best: str) -> str:
    old, new = ([engine.name for engine in run.engines] for run in runs)
    if best in old:
        return best
    both = [name for name in new if name in old]
    if not both:
        raise ConfigError("the runs have no engine in common", hint="name one engine of each run: --engines A B")
    return both[0]


def read_run_files(qrels: Path, files: Sequence[Path]) -> tuple[Run, tuple[str, ...]]:
    """Return a run with one engine per file, and notes; document ids are compared as they are, as in trec_eval.

    A query without results in a file has an empty ranking, so it scores 0.
    """
    gold = read_qrels(qrels)
    names = [path.stem for path in files]
    if len(set(names)) < len(names):
        raise ConfigError("duplicate run file name", hint="rename one file: the file name is the engine name")
    engines, notes = [], []
    for name, path in zip(names, files, strict=True):
        rankings, remarks = _read_rankings(path, gold)
        engines.append(EngineRun(name, rankings))
        notes += [f"{path}: {remark}" for remark in remarks]
    k = max((len(ranking.hits) for engine in engines for ranking in engine.rankings), default=0)
    hashes = {f"{gold.name}/{query.id}": query_hash(query, gold.corpus) for query in gold.queries}
    # trec_eval's usual cutoffs; the first file is the baseline of two, as everywhere
    measures = ("nDCG@10", "RR@10", f"AP@{max(k, 10)}", f"R@{max(k, 10)}")
    header = RunMetadata(analysis_plan=AnalysisPlan(measures, default_baseline(names, names)))
    return Run(Suite((gold,)), max(k, 10), tuple(engines), hashes=hashes, header=header), tuple(notes)


def _read_rankings(path: Path, gold: GoldSet) -> tuple[tuple[Ranking, ...], list[str]]:
    parsed, remarks = parse_trec(read_utf8(path, hint="check the path of the run file"), str(path))
    notes = [*remarks]
    rankings = []
    for query in gold.queries:
        form = query.ordered_forms[0]
        found = next((parsed[n] for n in (query.id, f"{gold.name}/{query.id}/{form}") if n in parsed), None)
        hits = tuple(map(Hit, found.docnos, repeat(None), repeat(None), found.scores)) if found else ()
        rankings.append(Ranking(gold.name, query.id, form, hits))
    missing = sum(not ranking.hits for ranking in rankings)
    if missing == len(rankings):
        hint = "pass a run file whose first column has the query ids of the judgments"
        raise ConfigError(f"no query of {path} has a relevant document in the judgments", hint=hint)
    if missing:
        notes.append(f"no results for {missing} of {len(rankings)} judged queries, which score 0")
    return tuple(rankings), notes
