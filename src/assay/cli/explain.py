"""Explain a ranking: the effect of each stage, and where an expected file was lost.

assay explain "where are retries decided"                       the ten best, stage by stage
assay explain "where are retries decided" --expect src/http.py  and what became of that file
assay explain --run results --missed                            the same for every query that a run missed
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import ResultPrinter, clean, emit, headline, info, page
from assay.cli.search_options import (
    add_folder,
    add_per,
    add_settings,
    check_count,
    check_query,
    open_index,
    path_inside,
)
from assay.errors import ConfigError, closest_match

if TYPE_CHECKING:
    from assay.search import Index
    from assay.search.trace import LostFile, Trace
    from assay.types import WaterfallRow, WaterfallStep

#: A score that changed by less did not change.
_LEAST = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a question, keywords or a name")
    add_folder(parser)
    parser.add_argument("-k", type=int, metavar="N", help="results to follow (10; for a run, its own k)")
    add_per(parser)
    parser.add_argument("--expect", metavar="FILE", help="say at which stage this file was lost")
    parser.add_argument(
        "--jsonl", action="store_true", help="print the trace as JSON lines: one for each result and stage"
    )
    group = parser.add_argument_group("for a run of the builtin engine, instead of one query")
    group.add_argument("--run", metavar="FOLDER", help="results of `assay run`")
    group.add_argument("--missed", action="store_true", help="list every query that was missed")
    group.add_argument("--engine", metavar="NAME", help="the engine, where the run has several that are builtin")
    add_settings(parser)


def handle(args: argparse.Namespace) -> int:
    """Explain a query, or a run."""
    if args.run is not None:
        return _handle_run(args)
    if args.missed or args.engine:
        raise ConfigError("--missed and --engine are for a run", hint="name its folder with --run")
    if args.json and args.jsonl:
        raise ConfigError("--json and --jsonl are two formats", hint="choose one")
    query = check_query(args.query)
    k = check_count("-k", 10 if args.k is None else args.k)
    index = open_index(args)
    expect = None if args.expect is None else _expected(index, args.expect)
    trace = index.explain(query, per=args.per, k=k, expect=expect)
    lost = None if expect is None else index.lost(query, expect, per=args.per, k=k)
    _print(args, index, trace, lost)
    return 0


def _expected(index: Index, text: str) -> str:
    path = path_inside(index, text)
    if path not in index.table.files.paths and not (index.root / path).is_file():
        near = closest_match(path, index.table.files.paths)
        hint = f"did you mean {near[0]}?" if near else "paths are relative to the folder that is searched"
        raise ConfigError(f"there is no file {path}", hint=hint)
    return path


def _print(args: argparse.Namespace, index: Index, trace: Trace, lost: LostFile | None) -> None:
    if args.json:
        print(json.dumps(_trace_json(trace, lost), ensure_ascii=False, indent=1))  # noqa: T201  # stdout is the result
        return
    if args.jsonl:
        lines = [*trace.json_lines(), *([] if lost is None else [json.dumps({"expect": asdict(lost)})])]
    else:
        lines = [*_waterfall(page(), index, trace), *([] if lost is None else _loss(page(), index, lost))]
    for line in lines:
        print(line)  # noqa: T201  # stdout is the result


def _trace_json(trace: Trace, lost: LostFile | None) -> dict[str, Any]:
    return {
        "schema": "assay/explain/1",
        "query": trace.question.text,
        "per": trace.per,
        **asdict(trace.waterfall()),
        "expect": None if lost is None else asdict(lost),
    }


def _waterfall(page: ResultPrinter, index: Index, trace: Trace) -> Iterator[str]:
    from assay.search.trace import translate_terms
    from assay.types import Hit

    question = trace.question
    yield page.bold(clean(question.text))
    pairs = [term for term in question.joined if index.view.term(term) >= 0]
    looked_up = ", ".join(map(clean, (*question.terms, *pairs))) or "nothing"
    yield f"{question.kind}; looked up: {looked_up}; ranked per {trace.per}"
    unheld = [clean(term) for term in question.terms if index.view.term(term) < 0]
    if unheld:
        yield f"in no file: {', '.join(unheld)}"
    for term, names in translate_terms(index.view, question).items():
        yield f"{clean(term)} is also looked up as: {', '.join(map(clean, names))}"
    candidates = trace.candidates()
    if not candidates:
        yield f"No match in {len(index.table.files):,} files."
    for place, candidate in enumerate(candidates, start=1):
        last = candidate.steps[-1]
        yield ""
        yield headline(page, last.rank or place, Hit(candidate.path, candidate.start, candidate.end, last.score))
        yield from _steps(page, candidate)


def _steps(page: ResultPrinter, candidate: WaterfallRow) -> Iterator[str]:
    wide = max(len(step.stage) for step in candidate.steps)
    for step in candidate.steps:
        if abs(step.change) > _LEAST or step.rank != step.before:
            change = f"{step.change:+.3f}" if abs(step.change) > _LEAST else ""  # others moved
            yield f"       {step.stage:<{wide}}  {change:>8}  {step.score:7.3f}  {_ranks(page, step)}"


def _ranks(page: ResultPrinter, step: WaterfallStep) -> str:
    if step.rank == step.before:
        return page.dim(f"#{step.rank}")
    before = f"#{step.before}" if step.before else "–"
    after = f"#{step.rank}" if step.rank else "out"
    better = step.rank and (not step.before or step.rank < step.before)
    return page.paint(f"{before} → {after}", "32" if better else "31")


def _loss(page: ResultPrinter, index: Index, lost: LostFile) -> Iterator[str]:
    yield ""
    name = page.bold(clean(lost.path))
    if lost.stage is None:
        yield f"{name} is {lost.reason}."
    else:
        yield f"{name} was lost at {page.bold(lost.stage)}: {lost.reason}{_skipped(index, lost.path)}."
    if any(rank for _, rank in lost.ranks):
        yield "rank after each stage: " + ", ".join(f"{stage} {rank or '–'}" for stage, rank in lost.ranks)


def _skipped(index: Index, path: str) -> str:
    for one in index.skipped:
        if path == one.path or path.startswith(f"{one.path.rstrip('/')}/"):
            return f" ({one.path}: {one.reason}{', ' + one.detail if one.detail else ''})"
    return ""


def _handle_run(args: argparse.Namespace) -> int:
    from assay.cli.missed import diagnose, document
    from assay.cli.options import read_results, split_today
    from assay.gold.split import refuse_sealed

    for flag, given in (("a query", args.query), ("--expect", args.expect), ("--config", args.config)):
        if given is not None:
            raise ConfigError(f"{flag} means nothing for a run", hint="leave it out: a run has its own")
    if args.jsonl or args.set:
        raise ConfigError("--jsonl and --set mean nothing for a run", hint="leave them out: a run has its own settings")
    if args.k is not None or args.path != ".":
        raise ConfigError("-k and PATH mean nothing for a run", hint="leave them out: a run has its own")
    run = read_results(args.run)
    refuse_sealed(split_today(run.suite), "explaining what was missed")
    found = diagnose(run, args.engine, lambda text: info(args, text))
    emit(
        args,
        document(found, str(Path(args.run)), listed=args.missed),
        {"schema": "assay/explain-run/1", **asdict(found)},
    )
    return 0
