from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from assay.cli.console import emit_blocks, info, pluralize
from assay.cli.options import default_results, default_set, load_one_set, read_results
from assay.clock import today
from assay.corpus import open_corpus, read_text
from assay.errors import AssayError, GoldError
from assay.experiment.spec.analysis_plan import analysis_plan_of
from assay.gold.anchors import content_digest, resolve
from assay.gold.build import query_hash
from assay.gold.review.acceptance import read_statuses
from assay.gold.review.items import ItemOrigin, ReviewItem, ReviewQueue, make_item
from assay.gold.review.votes import AGAINST
from assay.gold.split import refuse_sealed
from assay.report.render.document import Block, Heading, table
from assay.scoring import parse_measure
from assay.scoring.pooling import Judged, LabelPool, PoolCandidate, PoolConfig, TopTwoGap, pool
from assay.scoring.score import join_runs, restrict_run
from assay.stats import compare
from assay.stats.config import compare_options
from assay.syntax.text import line_bytes, split_lines
from assay.types import Corpus, GoldSet, Query, Run, Span, Suite, Target


def pool_command(args: Namespace) -> None:
    given = args.words[:1] if args.words and not Path(args.words[0]).is_dir() else []
    args.set = default_set(args, *given)
    args.results = args.words[len(given) :] or [default_results(args)]
    gold = load_one_set(Path(args.set))
    run = _load_run(args, gold)
    refuse_sealed(run.suite, "pooling")
    queue = ReviewQueue(Path(args.set))
    measure = parse_measure(args.measure or f"nDCG@{min(10, run.k)}")
    pooled = pool(run, measure, _rejected_spans(queue), PoolConfig(args.depth))
    listed = pooled.candidates[: args.limit]
    added = queue.add(_make_items(listed, run, gold)) if args.queue else None
    gap = pooled.contest
    verdicts = _verdicts(gap, run) if gap else {}
    gap_facts = ("first", "second", "gap", "least", "most", "labels")
    blocks: list[Block | str] = [*_pool_blocks(pooled, listed, verdicts)]
    if added:
        blocks.append(f"{added.new} queued for review; {added.known} were in the queue already.")
    data = {
        "schema": "assay/gold-pool/1",
        "measure": pooled.measure,
        "level": pooled.level,
        "depth": pooled.depth,
        "queries": pooled.queries,
        "unjudged": len(pooled.candidates),
        "bounds": [asdict(bounds) for bounds in pooled.bounds],
        "contest": {name: getattr(gap, name) for name in gap_facts} | {"verdicts": verdicts} if gap else None,
        "candidates": [{**asdict(candidate), "span": str(candidate.span)} for candidate in listed],
        "queued": None if added is None else {"new": added.new, "known": added.known},
    }
    emit_blocks(args, "Unjudged results", blocks, data)


def _load_run(args: Namespace, gold: GoldSet) -> Run:
    """Join the runs and restrict them to the queries of the set, with the labels that it has now."""
    run, left_out = join_runs({directory: read_results(directory) for directory in args.results})
    if left_out:
        info(args, f"{_count_queries(left_out)} left out: not the same in all runs")
    suite = _current_queries(gold, run)
    dropped = sum(len(one.queries) for one in run.suite.golds) - len(suite.golds[0].queries)
    if dropped:
        info(args, f"{_count_queries(dropped)} of the runs left out: removed from {args.set} or changed there")
    return restrict_run(run, suite)


def _count_queries(number: int) -> str:
    return pluralize(number, "query", "queries")


def _current_queries(gold: GoldSet, run: Run) -> Suite:
    """Return the queries of a run with the labels that the set has now; their phrasings must be the same."""
    ran = {query.id: query for one in run.suite.golds if one.name == gold.name for query in one.queries}

    def is_same(query: Query) -> bool:
        forms = ran[query.id].forms if query.id in ran else None
        return forms is not None and all(query.forms.get(form) == text for form, text in forms.items())

    queries = [query for query in gold.queries if is_same(query)]
    if not queries:
        raise GoldError(f"the runs used another set: {run.suite.name}", file=gold.source, hint="pass runs of this set")
    hashes = {query.id: run.hashes.get(f"{gold.name}/{query.id}") for query in queries}
    changed = tuple(query for query in queries if query_hash(query, gold.corpus) != hashes[query.id])
    now: dict[str, Query] = {}
    if changed:
        resolved = resolve(replace(gold, queries=changed), _open_corpus(gold), missing="report")
        now = {query.id: query for query in resolved.gold.queries}
    current = (now.get(query.id, replace(ran[query.id], tags=query.tags)) for query in queries)
    return Suite((replace(gold, queries=tuple(current)),))


def _open_corpus(gold: GoldSet) -> Corpus:
    return open_corpus(gold.corpus, base=Path(gold.source).parent if gold.source else None)


def _rejected_spans(queue: ReviewQueue) -> Judged:
    """Return a predicate: whether reviewers rejected a span as target of a query."""
    rejected: dict[str, list[Span]] = {}
    for status in read_statuses(queue) if queue.path.is_file() else ():
        if status.item.kind == "target" and status.value in AGAINST:
            rejected.setdefault(status.item.query.id, []).append(status.item.target.span)
    return lambda _, query, span: any(span.common_lines(other) > 0 for other in rejected.get(query, ()))


def _make_items(candidates: tuple[PoolCandidate, ...], run: Run, gold: GoldSet) -> list[ReviewItem]:
    anchor = _anchoring(gold, run)
    queries = {query.id: query for gold in run.suite.golds for query in gold.queries}
    revisions = {name: facts.revision or "" for name, facts in run.header.corpora.items()}
    return [
        make_item(
            "target",
            replace(queries[candidate.query], targets=(anchor(candidate.span),), adversaries=(), rationale=None),
            ItemOrigin("pool", "unjudged results", tuple(sorted({hit.engine for hit in candidate.returned}))),
            on=today(),
            commit=revisions.get(candidate.gold, ""),
        )
        for candidate in candidates
    ]


def _anchoring(gold: GoldSet, run: Run) -> Callable[[Span], Target]:
    """Return a function that makes a target from a span, with a content hash if the file is unchanged since the run."""
    try:
        corpus = _open_corpus(gold)
    except AssayError:
        return Target
    sizes = run.lines.get(gold.name, {})
    read = cache(lambda path: read_text(corpus, path))

    def anchor(span: Span) -> Target:
        if span.start is None or span.end is None or span.path not in corpus.hashes:
            return Target(span)
        text = read(span.path)
        if sizes.get(span.path) != line_bytes(text):
            return Target(span)
        return Target(span, digest=content_digest(split_lines(text)[span.start - 1 : span.end]))

    return anchor


def _verdicts(gap: TopTwoGap, run: Run) -> dict[str, str]:
    """Return the verdict on the two best engines under each assumption about unjudged results."""
    settings = compare_options(analysis_plan_of(run))
    verdicts = {}
    for name, scores in gap.scenes.items():
        comparison = compare(scores, baseline=gap.second, primary=scores.measures[0], **settings)
        verdicts[name] = comparison.rows[0].summary
    return verdicts


def _pool_blocks(
    pooled: LabelPool, listed: tuple[PoolCandidate, ...], verdicts: dict[str, str]
) -> Iterator[Block | str]:
    results = f"{pluralize(len(pooled.candidates), 'unjudged result')} of {_count_queries(pooled.queries)}"
    yield f"{results} by {pooled.level}, in the first {pluralize(pooled.depth, 'rank')}, headline phrasings."
    rows = [[b.engine, f"{b.now:.3f}", f"{b.all_right:.3f}", str(b.unjudged)] for b in pooled.bounds]
    note = "Now: unjudged results count as irrelevant. If all are relevant: those of the pool count as primary targets."
    yield table(["Engine", f">{pooled.measure} now", ">If all are relevant", ">Unjudged"], rows, note)
    if gap := pooled.contest:
        yield Heading(f"{gap.first} against {gap.second}")
        gaps = {"now": gap.gap, "least": gap.least, "most": gap.most}
        rows = [[name, f"{value:+.3f}", verdicts[name]] for name, value in gaps.items()]
        yield table(["Unjudged results", ">Difference", "Verdict"], rows)
        if gap.labels is None:
            yield "No labels of these results were found to reverse the order."
        else:
            labels = "One label is" if gap.labels == 1 else f"{gap.labels} labels are"
            yield f"{labels} enough to reverse the order."
    if listed:
        names = [bounds.engine for bounds in pooled.bounds]
        yield Heading("Results to judge first")
        columns = ["Query", "Result", "Returned by", ">Change of the difference", *(f">{name}" for name in names)]
        note = "Changes if the result gets grade 2, and in parentheses grade 1; largest change of the difference first."
        yield table(columns, [_candidate_row(candidate, names) for candidate in listed], note)


def _candidate_row(candidate: PoolCandidate, names: list[str]) -> list[str]:
    engines = ", ".join(f"{hit.engine} #{hit.rank}" for hit in candidate.returned)
    columns = [[effect.gap for effect in candidate.effects]]
    columns += [[effect.changes[name] for effect in candidate.effects] for name in names]
    changes = [f"{first:+.4f}" + "".join(f" ({other:+.4f})" for other in others) for first, *others in columns]
    return [candidate.query, str(candidate.span), engines, *changes]
