from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assay.cli.arguments import reject_flags, require_flag
from assay.cli.console import ResultPrinter, clean, emit_blocks, format_headline, info, result_printer, write_result
from assay.cli.search import check_query, is_gold, open_index, path_inside
from assay.errors import ConfigError, closest_match
from assay.search import Index, Per
from assay.search.results import rank_rows
from assay.search.trace import LostFile, Trace, find_lost_stage, translate_terms
from assay.types import EngineRun, Hit, Query, Ranking, Run, Status, Suite, WaterfallRow

if TYPE_CHECKING:
    from assay.report.render.document import Block

_LEAST = 1e-9  # smaller changes of a score are rounding
_NO_STAGE = ("corpus", "lexical", "too weak")  # of a file that was never among the first
_STAGES = {
    "lexical": "words and names in common (BM25)",
    "dense": "similarity of meaning (embedding)",
    "encoder": "similarity of meaning (contextual encoder)",
    "fused": "the retrievals combined",
    "coherence": "other chunks of the file match too",
    "whole": "words that only the rest of the file has",
    "neighbours": "adjacent chunks match too",
    "stem": "the file name matches",
    "definition": "the name of a definition matches",
    "scope": "the names around the definition match",
    "references": "files that use this one match",
    "identifier": "it defines a name in the query",
    "noise": "tests, examples and generated files, which rank lower",
    "gaps": "chunks that only declare, which rank lower",
    "word": "it contains the only word of the query",
}


def explain_command(args: Namespace) -> None:
    if args.run is not None:
        _explain_run(args)
        return
    require_flag(args, "run", "missed", "engine")
    if args.json:
        reject_flags(args, "--json", "jsonl")
    query, k = check_query(args.query, "explain"), args.k or 10
    index = open_index(args)
    expect = None if args.expect is None else _expected_path(index, args.expect)
    hidden = {path for path in index.table.files.paths if path != expect and is_gold(index.root / path)}
    trace = index.explain(query, per=args.per, k=k, expect=expect, hidden=hidden)
    lost = None if expect is None else index.lost(query, expect, per=args.per, k=k, hidden=hidden)
    if args.json:
        head = {"schema": "assay/explain/1", "query": trace.query.text, "per": trace.per}
        data = {**head, **asdict(trace.waterfall()), "expect": None if lost is None else asdict(lost)}
        write_result(json.dumps(data, ensure_ascii=False, indent=1))
        return
    if args.jsonl:
        lines = [*trace.json_lines(), *([] if lost is None else [json.dumps({"expect": asdict(lost)})])]
    else:
        printer = result_printer()
        lines = [
            *([] if lost is None else _format_loss(printer, index, lost)),
            *_format_waterfall(printer, index, trace, full=args.verbose),
        ]
    write_result("\n".join(lines))


def _expected_path(index: Index, text: str) -> str:
    path = path_inside(index, text)
    if path not in index.table.files.paths and not (index.root / path).is_file():
        near = closest_match(path, index.table.files.paths)
        hint = f"did you mean {near[0]}?" if near else f"pass a path relative to {index.root}"
        raise ConfigError(f"no such file: {path}", hint=hint)
    return path


def _format_waterfall(printer: ResultPrinter, index: Index, trace: Trace, *, full: bool) -> Iterator[str]:
    """With `full`, show translations and every step with its scores; without, the changes of the rank."""
    query = trace.query
    yield printer.bold(clean(query.text))
    pairs = [term for term in query.joined if index.view.term(term) >= 0]
    terms = ", ".join(map(clean, (*query.terms, *pairs))) or "nothing"
    yield f"{query.kind}; looked up: {terms}; ranked per {trace.per}"
    unknown = [clean(term) for term in query.terms if index.view.term(term) < 0]
    if unknown:
        yield f"not in any file: {', '.join(unknown)}"
    for term, names in translate_terms(index.view, query).items() if full else ():
        yield f"{clean(term)} is also looked up as: {', '.join(map(clean, names))}"
    candidates = trace.candidates()
    if not candidates:
        yield f"No match in {len(index.table.files):,} files."
    for position, candidate in enumerate(candidates, start=1):
        last = candidate.steps[-1]
        hit = Hit(candidate.path, candidate.start, candidate.end, last.score)
        if full:
            yield ""
        yield format_headline(printer, last.rank or position, hit)
        yield from _format_steps(printer, candidate) if full else _format_ranks(printer, candidate)
    stages = {step.stage for candidate in candidates for step in candidate.steps if step.rank != step.before}
    if stages:
        yield "\nRank after each stage that changed it" + ("" if full else " (scores: --verbose)")
        yield from (printer.dim(f"  {stage:<10}  {text}") for stage, text in _STAGES.items() if stage in stages)


def _format_ranks(printer: ResultPrinter, candidate: WaterfallRow) -> Iterator[str]:
    ranks = [f"{step.stage} {step.rank or 'out'}" for step in candidate.steps if step.rank != step.before]
    yield from (f"     {line}" for line in textwrap.wrap(" → ".join(ranks), max(printer.width - 5, 20)))


def _format_steps(printer: ResultPrinter, candidate: WaterfallRow) -> Iterator[str]:
    width = max(len(step.stage) for step in candidate.steps)
    for step in candidate.steps:
        changed = abs(step.change) > _LEAST
        if step.rank == step.before:
            if not changed:
                continue
            ranks = printer.dim(f"#{step.rank}")
        else:
            before, after = f"#{step.before}" if step.before else "–", f"#{step.rank}" if step.rank else "out"
            better = step.rank and (not step.before or step.rank < step.before)
            ranks = printer.paint(f"{before} → {after}", "32" if better else "31")
        change = f"{step.change:+.3f}" if changed else ""
        yield f"       {step.stage:<{width}}  {change:>8}  {step.score:7.3f}  {ranks}"


def _format_loss(printer: ResultPrinter, index: Index, lost: LostFile) -> Iterator[str]:
    name = printer.bold(clean(lost.path))
    if lost.stage is None:
        yield f"{name} is {lost.reason}."
    else:
        reasons = [
            f" ({skipped.path}: {skipped.reason}{', ' + skipped.detail if skipped.detail else ''})"
            for skipped in index.skipped
            if f"{lost.path}/".startswith(f"{skipped.path.rstrip('/')}/")
        ]
        where = "not found" if lost.stage in _NO_STAGE else f"lost at {printer.bold(lost.stage)}"
        yield f"{name} was {where}: {lost.reason}{''.join(reasons[:1])}."
    if any(rank for _, rank in lost.ranks):
        yield "rank after each stage: " + ", ".join(f"{stage} {rank or '–'}" for stage, rank in lost.ranks)
    yield ""


def _explain_run(args: Namespace) -> None:
    from assay.cli.options import read_results, split_today
    from assay.gold.split import refuse_sealed

    args.path = None if args.path == "." else args.path
    reject_flags(args, "--run", "query", "path", "k", "expect", "jsonl", "config", "set")
    run = read_results(args.run)
    refuse_sealed(split_today(run.suite), "explaining what was missed")
    data = _diagnose(args, run)
    title = f"Missed queries of {Path(args.run)}"
    emit_blocks(args, title, _diagnosis_blocks(data, listed=args.missed), {"schema": "assay/explain-run/1", **data})


def _diagnose(args: Namespace, run: Run) -> dict[str, Any]:
    from assay.corpus_changes import changed_since
    from assay.engines.builtin import BuiltinEngine
    from assay.experiment.corpora import check_corpus_here, prepare
    from assay.experiment.tracing import choose_explainable, rebuild_engine

    engine = choose_explainable(run, args.engine)
    settings = cast(BuiltinEngine, rebuild_engine(engine))
    missed: list[dict[str, Any]] = []
    by_stage: dict[str, list[Ranking]] = {}
    notes: list[str] = []
    for gold in run.suite.golds:
        info(args, f"{gold.name}: tracing the queries of {engine.name}")
        check_corpus_here(gold)
        prepared = prepare(gold, None, None, "report")
        if changed_since(run.header.corpora.get(gold.name), prepared.corpus.digest):
            notes.append(f"The corpus of {gold.name} changed since the run: stages show the current files.")
        index = Index.build(prepared.corpus, settings.search)
        queries = {query.id: query for query in prepared.gold.queries}
        for ranking in engine.rankings:
            if ranking.gold == gold.name and ranking.query in queries:
                query = queries[ranking.query]
                trace = index.explain(query.forms[ranking.form], per=settings.per, k=run.k)
                missed += _find_miss(index, query, ranking, trace, run.k)
                for stage, after in _stage_rankings(index, trace, ranking, run.k):
                    by_stage.setdefault(stage, []).append(after)
    measure, stages = _score_stages(run, engine, by_stage)
    if settings.per != "span" and len(stages) > 1 and abs(stages[-1]["value"] - stages[-2]["value"]) >= _LEAST:
        notes.append("The last stage differs from the run: the engine or the corpus changed since then.")
    return {
        "engine": engine.name,
        "per": settings.per,
        "k": run.k,
        "measure": measure,
        "queries": len(engine.rankings),  # phrasings; the measure is over the headline ones
        "missed": missed,
        "by_stage": dict(Counter(miss["stage"] for miss in missed).most_common()),
        "stages": stages,
        "notes": notes,
    }


def _find_miss(index: Index, query: Query, ranking: Ranking, trace: Trace, k: int) -> list[dict[str, Any]]:
    """Return the stage at which a query lost its last relevant file; empty if one is among the first k."""
    expected = list(dict.fromkeys(target.span.path for target in query.targets))
    if any(hit.path in expected for hit in ranking.hits[:k]):
        return []
    if ranking.status is not Status.OK:
        stage, reason = "failed", str(ranking.error or ranking.status)
    else:
        rows = [row for path in expected for row in index.rows_of(path, trace.per)]
        lost = find_lost_stage(trace, rows, ", ".join(expected), k)
        stage, reason = (lost.stage, lost.reason) if lost.stage else ("answer", f"{lost.reason} now, not in the run")
    key = {"gold": ranking.gold, "query": query.id, "form": ranking.form, "text": query.forms[ranking.form]}
    return [{**key, "expected": expected, "stage": stage, "reason": reason}]


def _stage_rankings(index: Index, trace: Trace, ranking: Ranking, k: int) -> Iterator[tuple[str, Ranking]]:
    for stage in trace.stages:
        hits = tuple(_hit_at(index, row, trace.per) for row in rank_rows(stage.scores)[:k].tolist())
        yield stage.name, replace(ranking, hits=hits, tokens=(0,) * len(hits), status=Status.OK)
    yield "in the run", ranking


def _hit_at(index: Index, row: int, per: Per) -> Hit:
    files, chunks = index.table.files, index.table.chunks
    if per == "file":
        return Hit(files.paths[row])
    return Hit(files.paths[int(chunks.file[row])], int(chunks.start[row]), int(chunks.end[row]))


def _score_stages(
    run: Run, engine: EngineRun, by_stage: Mapping[str, list[Ranking]]
) -> tuple[str, list[dict[str, Any]]]:
    """Return the measure, and its mean over the headline phrasings after each stage."""
    import numpy as np

    from assay.scoring import parse_measure, score

    measure = parse_measure(f"nDCG@{min(run.k, 10)}")
    asked = {(ranking.gold, ranking.query) for ranking in next(iter(by_stage.values()), [])}
    golds = tuple(
        replace(gold, queries=tuple(query for query in gold.queries if (gold.name, query.id) in asked))
        for gold in run.suite.golds
    )
    engines = tuple(replace(engine, name=name, rankings=tuple(rankings)) for name, rankings in by_stage.items())
    scores = score(replace(run, suite=Suite(golds), engines=engines), [measure])
    headline = np.array([unit.headline for unit in scores.units], dtype=bool)
    return repr(measure), [
        {"stage": name, "value": float(np.nanmean(scores.values[row, 0, headline]))}
        for row, name in enumerate(scores.engines)
    ]


def _diagnosis_blocks(data: Mapping[str, Any], *, listed: bool) -> Iterator[Block | str]:
    from assay.report.render.document import Heading, Paragraph, table

    missed = data["missed"]
    text = f"{len(missed)} of {data['queries']} queries have no relevant file among the first {data['k']}"
    yield f"{data['engine']}, per {data['per']}: {text}."
    yield from (Paragraph(note, "warning") for note in data["notes"])
    if missed:
        yield Heading("Missed queries by stage")
        yield table(["Stage", ">Missed"], [[stage, str(count)] for stage, count in data["by_stage"].items()])
    yield Heading("After each stage")
    rows = [[row["stage"], f"{row['value']:.3f}"] for row in data["stages"]]
    note = "Score of the ranking after each stage; headline phrasings, file level."
    yield table(["Stage", f">{data['measure']}"], rows, note)
    if listed and missed:
        yield Heading("Missed")
        keys = ("query", "form", "stage", "reason")
        rows = [[*(miss[key] for key in keys), ", ".join(miss["expected"])] for miss in missed]
        yield table(["Query", "Phrasing", "Stage", "Reason", "Expected files"], rows)
