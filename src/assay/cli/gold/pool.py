from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit, info, pluralize
from assay.errors import AssayError, ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.review.items import AddedItems, ReviewItem, ReviewQueue
    from assay.report.render.document import Block, Document
    from assay.scoring.pooling import Judged, LabelPool, PoolCandidate, TopTwoGap
    from assay.types import GoldSet, Query, Run, Span, Suite, Target


def pool_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("set", metavar="SET", help="the gold file")
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="folders that `assay run` wrote")
    parser.add_argument("--depth", type=int, default=10, metavar="N", help="ranks to look at (10)")
    parser.add_argument("--most", type=int, default=50, metavar="N", help="results to list or queue (50)")
    parser.add_argument("--measure", metavar="M", help="what a label could change (nDCG at 10, or at the runs' k)")
    parser.add_argument("--queue", action="store_true", help="put them into the review queue")


def pool_command(args: argparse.Namespace) -> int:
    """List unjudged results by expected impact.

    assay gold pool gold.yaml results                       from the engines of one run
    assay gold pool gold.yaml results other-results --measure 'nDCG(level=lines)@10'
    assay gold pool gold.yaml results --queue               and put them into the review queue of the set

    A label that is added because an engine returned the place is marked: `assay score --without-pooled` leaves it out.
    """
    from assay.gold.review.items import ReviewQueue
    from assay.gold.split import refuse_sealed
    from assay.scoring import parse_measure
    from assay.scoring.pooling import PoolConfig, pool

    if args.most < 1:
        raise ConfigError(f"--most {args.most}", hint="at least 1")
    gold = _gold(Path(args.set))
    run = _run(args, gold)
    refuse_sealed(run.suite, "pooling")
    queue = ReviewQueue(Path(args.set))
    measure = parse_measure(args.measure or f"nDCG@{min(10, run.k)}")
    found = pool(run, measure, _judged(queue), PoolConfig(args.depth))
    listed = found.candidates[: args.most]
    added = queue.add(_items(listed, run, gold)) if args.queue else None
    emit(args, _document(found, listed, run, added), _data(found, listed, run, added))
    return 0


def _gold(path: Path) -> GoldSet:
    from assay.gold import load_gold

    if not path.is_file():
        raise GoldError(
            "is a folder" if path.is_dir() else "there is no such file", file=path, hint="name one gold file"
        )
    golds = load_gold(path).golds
    if len(golds) != 1:
        raise GoldError(f"holds {len(golds)} sets", file=path, hint="name one set")
    return golds[0]


def _run(args: argparse.Namespace, gold: GoldSet) -> Run:
    from assay.cli.options import read_results
    from assay.scoring.runs import join_runs, restrict_run

    run, left_out = join_runs({folder: read_results(folder) for folder in args.results})
    if left_out:
        info(args, f"left out, not the same in all runs: {_queries(left_out)}")
    suite, dropped = _todays(gold, run)
    if dropped:
        info(args, f"left out, not in {args.set} or asking something else there: {_queries(dropped)} of the runs")
    return restrict_run(run, suite)


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"


def _todays(gold: GoldSet, run: Run) -> tuple[Suite, int]:
    """Give the queries of a run as the set has them now: labels may have come since, questions must be the same."""
    from assay.gold import query_hash
    from assay.types import Suite

    ran = {query.id: query for one in run.suite.golds if one.name == gold.name for query in one.queries}
    asked = [query for query in gold.queries if query.id in ran and _same_forms(query, ran[query.id])]
    if not asked:
        raise GoldError("the runs are of another set", file=gold.source, hint=f"they are of {run.suite.name}")
    changed = [q for q in asked if query_hash(q, gold.corpus) != run.hashes.get(f"{gold.name}/{q.id}")]
    now = _resolved(gold, changed)
    queries = [now.get(query.id, replace(ran[query.id], tags=query.tags)) for query in asked]
    total = sum(len(one.queries) for one in run.suite.golds)
    return Suite((replace(gold, queries=tuple(queries)),)), total - len(queries)


def _same_forms(one: Query, other: Query) -> bool:
    return all(one.forms.get(form) == text for form, text in other.forms.items())


def _resolved(gold: GoldSet, changed: list[Query]) -> dict[str, Query]:
    from assay.corpus import open_corpus
    from assay.gold import resolve

    if not changed:
        return {}
    base = Path(gold.source).parent if gold.source else None
    found = resolve(replace(gold, queries=tuple(changed)), open_corpus(gold.corpus, base=base), missing="report")
    return {query.id: query for query in found.gold.queries}


def _judged(queue: ReviewQueue) -> Judged:
    from assay.gold.review.acceptance import read_statuses
    from assay.gold.review.votes import AGAINST

    wrong: dict[str, list[Span]] = {}
    for standing in read_statuses(queue) if queue.path.is_file() else ():
        if standing.item.kind == "target" and standing.value in AGAINST:
            wrong.setdefault(standing.item.query.id, []).append(standing.item.target.span)
    return lambda _, query, span: any(span.common_lines(other) > 0 for other in wrong.get(query, ()))


def _items(listed: tuple[PoolCandidate, ...], run: Run, gold: GoldSet) -> list[ReviewItem]:
    from assay.clock import today
    from assay.gold.review.items import ItemOrigin, make_item

    target = _anchoring(gold, run)
    queries = {query.id: query for gold in run.suite.golds for query in gold.queries}
    revisions = {name: facts.revision or "" for name, facts in run.header.corpora.items()}
    return [
        make_item(
            "target",
            replace(queries[one.query], targets=(target(one.span),), adversaries=(), rationale=None),
            ItemOrigin("pool", "unjudged results", tuple(sorted({returned.engine for returned in one.returned}))),
            on=today(),
            commit=revisions.get(one.gold, ""),
        )
        for one in listed
    ]


def _anchoring(gold: GoldSet, run: Run) -> Callable[[Span], Target]:
    from assay.corpus import open_corpus, read_text
    from assay.gold.anchors import content_digest
    from assay.syntax.text import split_lines
    from assay.syntax.tokens import line_bytes
    from assay.types import Target

    base = Path(gold.source).parent if gold.source else None
    try:
        corpus = open_corpus(gold.corpus, base=base)
    except AssayError:
        return Target
    sizes = run.lines.get(gold.name, {})
    texts: dict[str, str] = {}

    def anchored(span: Span) -> Target:
        if span.start is None or span.end is None or span.path not in corpus.hashes:
            return Target(span)
        if span.path not in texts:
            texts[span.path] = read_text(corpus, span.path)
        same = sizes.get(span.path) == line_bytes(texts[span.path])  # as the run saw the file
        lines = split_lines(texts[span.path])[span.start - 1 : span.end]
        return Target(span, digest=content_digest(lines) if same else None)

    return anchored


def _data(found: LabelPool, listed: tuple[PoolCandidate, ...], run: Run, added: AddedItems | None) -> dict[str, object]:
    contest = found.contest
    return {
        "schema": "assay/gold-pool/1",
        "measure": found.measure,
        "level": found.level,
        "depth": found.depth,
        "queries": found.queries,
        "unjudged": len(found.candidates),
        "bounds": [asdict(bounds) for bounds in found.bounds],
        "contest": None if contest is None else _contest_data(contest, run),
        "candidates": [{**asdict(one), "span": str(one.span)} for one in listed],
        "queued": None if added is None else {"new": added.new, "known": added.known},
    }


def _contest_data(contest: TopTwoGap, run: Run) -> dict[str, object]:
    names = ("first", "second", "gap", "least", "most", "labels")
    return {name: getattr(contest, name) for name in names} | {"verdicts": _verdicts(contest, run)}


def _verdicts(contest: TopTwoGap, run: Run) -> dict[str, str]:
    from assay.experiment.spec.model import analysis_plan_of
    from assay.stats import compare
    from assay.stats.config import settings_of

    claim = analysis_plan_of(run)
    found = {}
    for name, scores in contest.scenes.items():
        made = compare(
            scores,
            baseline=contest.second,
            primary=scores.measures[0],
            **settings_of(claim),
        )
        found[name] = made.rows[0].claim
    return found


def _document(found: LabelPool, listed: tuple[PoolCandidate, ...], run: Run, added: AddedItems | None) -> Document:
    from assay.report.render.document import Document, Heading, Paragraph, table

    many = f"{pluralize(len(found.candidates), 'result')} of {_queries(found.queries)}, at {found.level} level"
    note = f"(first {pluralize(found.depth, 'rank')}, headline phrasings)"
    blocks: list[Block] = [Paragraph(f"Judged by nobody: {many} {note}.")]
    rows = [[b.engine, f"{b.now:.3f}", f"{b.all_right:.3f}", str(b.unjudged)] for b in found.bounds]
    note = "now: every unjudged result is wrong; all right: every one of the pool is a primary answer."
    blocks.append(table(["engine", f">{found.measure} now", ">all right", ">unjudged"], rows, note))
    blocks += _contest_blocks(found.contest, run) if found.contest else []
    names = [bounds.engine for bounds in found.bounds]
    if listed:
        columns = ["query", "place", "returned by", ">changes the gap", *(f">{name}" for name in names)]
        note = "What grade 2 would change, and in brackets grade 1. Largest change of the gap first."
        blocks += [Heading("Worth judging first"), table(columns, [_row(one, names) for one in listed], note)]
    if added:
        blocks.append(Paragraph(f"{added.new} queued for review; in the queue already: {added.known}."))
    return Document("Unjudged results", tuple(blocks))


def _contest_blocks(contest: TopTwoGap, run: Run) -> list[Block]:
    from assay.report.render.document import Heading, Paragraph, table

    said = _verdicts(contest, run)
    gaps = {"now": contest.gap, "least": contest.least, "most": contest.most}
    rows = [[name, f"{gap:+.3f}", said[name]] for name, gap in gaps.items()]
    needed = "One label is" if contest.labels == 1 else f"{contest.labels} labels are"
    turn = f"{needed} enough to turn the order." if contest.labels is not None else _SAFE
    title = f"{contest.first} against {contest.second}"
    return [Heading(title), table(["labels", ">gap", "verdict"], rows), Paragraph(turn)]


_SAFE = "No way to label these results was found that turns the order."


def _row(one: PoolCandidate, names: list[str]) -> list[str]:
    by = ", ".join(f"{returned.engine} #{returned.rank}" for returned in one.returned)
    first, *others = one.effects
    gap = f"{first.gap:+.4f}" + "".join(f" ({other.gap:+.4f})" for other in others)
    changes = [
        f"{first.changes[name]:+.4f}" + "".join(f" ({other.changes[name]:+.4f})" for other in others) for name in names
    ]
    return [one.query, str(one.span), by, gap, *changes]
