from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assay.cli.output import ResultPrinter, clean, emit, headline, info, page
from assay.cli.search import add_folder, add_per, add_settings, check_count, check_query, open_index, path_inside
from assay.errors import ConfigError, closest_match
from assay.types import EngineRun, GoldSet, Hit, Query, Ranking, Run, Status, Suite

if TYPE_CHECKING:
    from assay.experiment.corpora import PreparedGold
    from assay.report.render.document import Block, Document
    from assay.search import Index, Per, SearchConfig
    from assay.search.trace import LostFile, Trace
    from assay.types import WaterfallRow, WaterfallStep

#: A score that changed by less did not change.
_LEAST = 1e-9


def explain_arguments(parser: argparse.ArgumentParser) -> None:
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


def explain_command(args: argparse.Namespace) -> int:
    """Explain a ranking: the effect of each stage, and where an expected file was lost.

    assay explain "where are retries decided"                       the ten best, stage by stage
    assay explain "where are retries decided" --expect src/http.py  and what became of that file
    assay explain --run results --missed                            the same for every query that a run missed
    """
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
        "query": trace.query.text,
        "per": trace.per,
        **asdict(trace.waterfall()),
        "expect": None if lost is None else asdict(lost),
    }


def _waterfall(page: ResultPrinter, index: Index, trace: Trace) -> Iterator[str]:
    from assay.search.trace import translate_terms
    from assay.types import Hit

    question = trace.query
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


_MEASURE = "nDCG@{k}"
_RECORDED = "in the run"  # what the engine answered when it was asked for the record


@dataclass(frozen=True, slots=True)
class Miss:
    """A query without a relevant file among its first k, and the stage that lost the last one."""

    gold: str
    query: str
    form: str
    text: str
    expected: tuple[str, ...]
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageScore:
    """The measure over all queries, if the ranking had ended after a stage."""

    stage: str
    value: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What became of a run's queries."""

    engine: str
    per: str
    k: int
    measure: str
    queries: int  # phrasings that were asked; the measure is over the headline ones
    missed: tuple[Miss, ...]
    by_stage: Mapping[str, int]
    stages: tuple[StageScore, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Followed:
    """One query: what would have been answered after each stage, and what was; and why it was missed, if it was."""

    answers: Mapping[str, Ranking]
    miss: Miss | None


def diagnose(run: Run, engine: str | None, tell: Callable[[str], None]) -> Diagnosis:
    """Ask the builtin engine of a run again, stage by stage."""
    from assay.experiment.tracing import choose_explainable

    chosen = choose_explainable(run, engine)
    per, config = _settings(chosen)
    misses: list[Miss] = []
    after: dict[str, list[Ranking]] = {}
    notes: list[str] = []
    for gold in run.suite.golds:
        tell(f"{gold.name}: asking {chosen.name} again")
        place = _place(gold)
        notes += _changes(run, place)
        for one in _follow(chosen, place, config, per, run.k):
            misses += [one.miss] if one.miss else []
            for stage, answer in one.answers.items():
                after.setdefault(stage, []).append(answer)
    measure, stages = _measured(run, chosen, after)
    counts = dict(Counter(miss.stage for miss in misses).most_common())
    notes += _differs(stages, per)
    return Diagnosis(
        chosen.name, per, run.k, measure, len(chosen.rankings), tuple(misses), counts, stages, tuple(notes)
    )


def _settings(engine: EngineRun) -> tuple[Per, SearchConfig]:
    from assay.engines.builtin import BuiltinEngine
    from assay.experiment.tracing import rebuild_engine

    settings = cast(BuiltinEngine, rebuild_engine(engine)).settings
    return settings.per, settings.search


def _place(gold: GoldSet) -> PreparedGold:
    from assay.experiment.corpora import check_corpus_here, prepare

    check_corpus_here(gold)
    return prepare(gold, None, None, "report")


def _changes(run: Run, place: PreparedGold) -> list[str]:
    facts = run.header.corpora.get(place.gold.name)
    if facts is None or facts.digest == place.corpus.digest:
        return []
    return [f"The corpus of {place.gold.name} changed since the run: stages are those of today's files."]


def _follow(engine: EngineRun, place: PreparedGold, config: SearchConfig, per: Per, k: int) -> Iterator[_Followed]:
    from assay.search import Index

    index = Index.build(place.corpus, config)
    queries = {query.id: query for query in place.gold.queries}
    for ranking in engine.rankings:
        if ranking.gold == place.gold.name and ranking.query in queries:
            query = queries[ranking.query]
            trace = index.explain(query.forms[ranking.form], per=per, k=k)
            yield _Followed(_answers(index, trace, ranking, k), _miss(index, query, ranking, trace, k))


def _miss(index: Index, query: Query, ranking: Ranking, trace: Trace, k: int) -> Miss | None:
    from assay.search.trace import find_lost_stage

    wanted = tuple(dict.fromkeys(target.span.path for target in query.targets))
    if any(hit.path in wanted for hit in ranking.hits[:k]):
        return None
    text = query.forms[ranking.form]
    if ranking.status is not Status.OK:
        return Miss(ranking.gold, query.id, ranking.form, text, wanted, "failed", str(ranking.error or ranking.status))
    rows = [row for path in wanted for row in index.rows_of(path, trace.per)]
    lost = find_lost_stage(trace, rows, ", ".join(wanted), k)
    stage, reason = (lost.stage, lost.reason) if lost.stage else ("answer", f"{lost.reason} now, not in the run")
    return Miss(ranking.gold, query.id, ranking.form, text, wanted, stage, reason)


def _answers(index: Index, trace: Trace, ranking: Ranking, k: int) -> dict[str, Ranking]:
    from assay.search.results import rank_rows

    found = {}
    for stage in trace.stages:
        hits = tuple(_named(index, row, trace.per) for row in rank_rows(stage.scores)[:k].tolist())
        found[stage.name] = replace(ranking, hits=hits, tokens=(0,) * len(hits), status=Status.OK)
    return found | {_RECORDED: ranking}


def _named(index: Index, row: int, per: Per) -> Hit:
    if per == "file":
        return Hit(index.table.files.paths[row])
    chunks = index.table.chunks
    return Hit(index.table.files.paths[int(chunks.file[row])], int(chunks.start[row]), int(chunks.end[row]))


def _measured(run: Run, engine: EngineRun, after: Mapping[str, list[Ranking]]) -> tuple[str, tuple[StageScore, ...]]:
    import numpy as np

    from assay.scoring import parse_measure, score

    measure = parse_measure(_MEASURE.format(k=min(run.k, 10)))
    asked = {(one.gold, one.query) for one in next(iter(after.values()), [])}
    golds = tuple(
        replace(gold, queries=tuple(query for query in gold.queries if (gold.name, query.id) in asked))
        for gold in run.suite.golds
    )
    staged = tuple(replace(engine, name=name, rankings=tuple(rankings)) for name, rankings in after.items())
    scores = score(replace(run, suite=Suite(golds), engines=staged), [measure])
    headline = np.array([unit.headline for unit in scores.units], dtype=bool)
    means = [float(np.nanmean(scores.values[at, 0, headline])) for at in range(len(scores.engines))]
    return repr(measure), tuple(StageScore(name, mean) for name, mean in zip(scores.engines, means, strict=True))


def _differs(stages: tuple[StageScore, ...], per: str) -> list[str]:
    if len(stages) < 2 or per == "span" or abs(stages[-1].value - stages[-2].value) < 1e-9:
        return []
    return ["The last stage does not give what the run has: the engine or the corpus changed since."]


def document(found: Diagnosis, name: str, *, listed: bool) -> Document:
    """Say it for people."""
    from assay.report.render.document import Document, Heading, Paragraph, table

    missed = f"{len(found.missed)} of {found.queries} queries have no relevant file among the first {found.k}"
    blocks: list[Block] = [Paragraph(f"{found.engine}, per {found.per}: {missed}.")]
    blocks += [Paragraph(note, "warning") for note in found.notes]
    if found.missed:
        rows = [[stage, str(count)] for stage, count in found.by_stage.items()]
        blocks += [Heading("Where they were lost"), table(["stage", ">missed"], rows)]
    shown = [[one.stage, f"{one.value:.3f}"] for one in found.stages]
    note = "If the ranking had ended there; the headline phrasings, at file level."
    blocks += [Heading("After each stage"), table(["stage", f">{found.measure}"], shown, note)]
    if listed and found.missed:
        blocks += [Heading("Missed"), table(["query", "form", "stage", "reason", "expected"], _rows(found.missed))]
    return Document(f"What {name} missed", tuple(blocks))


def _rows(missed: tuple[Miss, ...]) -> list[list[Any]]:
    return [[miss.query, miss.form, miss.stage, miss.reason, ", ".join(miss.expected)] for miss in missed]
