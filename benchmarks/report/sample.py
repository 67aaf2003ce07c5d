"""A run of made-up rankings over real source: engines that find the answer the more often, the later they come."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.corpus import read_text
from assay.syntax.text import estimate_tokens, line_bytes
from assay.types import (
    PRIMARY,
    SECONDARY,
    Adversary,
    AnalysisPlan,
    Corpus,
    CorpusInfo,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Run,
    RunMetadata,
    Span,
    Suite,
    Target,
)

_CATEGORIES = ("architecture", "semantic", "symbol")
#: nDCG first; two others over the same ranks, and what asks for line lengths.
_MEASURES = ("nDCG@10", "RR@10", "Hit@5", "R@10", "RecallAtTokens(2000)")

Lines = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is; the default is the size that reports are promised for."""

    engines: int = 20
    queries: int = 1250
    golds: int = 10
    k: int = 10
    pool: int = 60  # places that engines draw from for one query, beside its answers
    least_lines: int = 40  # of a file that can be asked for
    seed: int = 0


def make_run(corpus: Corpus, size: Size) -> Run:
    """Make a run; the same one for the same corpus and size."""
    rng = random.Random(size.seed)
    lines = {file.path: line_bytes(read_text(corpus, file.path)) for file in corpus.files if file.path.endswith(".py")}
    files = [path for path, sizes in lines.items() if len(sizes) > size.least_lines]
    pools: dict[tuple[str, str], list[Span]] = {}
    golds = tuple(_gold(corpus, f"set{number}", files, lines, pools, size, rng) for number in range(size.golds))
    engines = tuple(_engine(number, pools, lines, size, rng) for number in range(size.engines))
    facts = {gold.name: CorpusInfo(f"repository {gold.name}", None, corpus.digest, len(files)) for gold in golds}
    plan = AnalysisPlan(_MEASURES, engines[0].name)
    hashes = {f"{gold.name}/{query.id}": f"{gold.name}-{query.id}" for gold in golds for query in gold.queries}
    header = RunMetadata("0", "2026-01-01", "made up", facts, analysis_plan=plan)
    return Run(Suite(golds), size.k, engines, _named(golds, engines, lines), hashes, header)


def _gold(
    corpus: Corpus,
    name: str,
    files: Sequence[str],
    lines: Lines,
    pools: dict[tuple[str, str], list[Span]],
    size: Size,
    rng: random.Random,
) -> GoldSet:
    """Make a gold set, and the places that engines draw from."""
    queries = []
    for number in range(size.queries // size.golds):
        query = _query(number, name, files, lines, rng)
        first, second = (target.span for target in query.targets)
        others = [_somewhere(path, lines, rng) for path in rng.choices(files, k=size.pool)]
        pools[name, query.id] = [first, second, *others]
        queries.append(query)
    return GoldSet(name, corpus.spec, tuple(queries))


def _query(number: int, gold: str, files: Sequence[str], lines: Lines, rng: random.Random) -> Query:
    """Make a query with two answers, and now and then an adversary."""
    right, beside, wrong = (_somewhere(rng.choice(files), lines, rng) for _ in range(3))
    traps = (Adversary(Target(wrong), "sibling", "strong", "the same words"),) if number % 3 == 0 else ()
    tags = {"category": _CATEGORIES[number % 3], "difficulty": "hard" if number % 4 == 0 else "standard"}
    text = f"where is thing number {number} of {gold} decided and what follows from it"
    targets = (Target(right, PRIMARY), Target(beside, SECONDARY))
    return Query(f"q{number:04}", {"human": text}, targets, traps, tags=tags)


def _somewhere(path: str, lines: Lines, rng: random.Random) -> Span:
    """Choose some lines of a file."""
    start = rng.randrange(1, len(lines[path]) - 30)
    return Span(path, start, start + rng.randrange(5, 29))


def _engine(
    number: int, pools: Mapping[tuple[str, str], Sequence[Span]], lines: Lines, size: Size, rng: random.Random
) -> EngineRun:
    """Make the answers of one engine."""
    rankings = [_ranking(number, gold, query, pool, lines, size, rng) for (gold, query), pool in pools.items()]
    seconds = {gold: 1.0 for gold, _ in pools}
    return EngineRun(f"engine-{number:02}", tuple(rankings), config={"kind": "made up"}, index_seconds=seconds)


def _ranking(
    engine: int, gold: str, query: str, pool: Sequence[Span], lines: Lines, size: Size, rng: random.Random
) -> Ranking:
    """Draw a ranking: chance that all engines share, chance of its own, and a bonus for answers."""
    shared, bonus = random.Random(f"{gold}/{query}"), 0.24 + engine * 0.003
    worth = [bonus * max(0, 2 - place) + shared.random() * 0.6 + rng.random() * 0.5 for place in range(len(pool))]
    best = sorted(range(len(pool)), key=lambda place: -worth[place])[: size.k]
    hits = tuple(
        Hit(pool[at].path, pool[at].start, pool[at].end, round(1 - rank * 0.03 - rng.random() * 0.02, 6))
        for rank, at in enumerate(best)
    )
    tokens = tuple(estimate_tokens(sum(lines[hit.path][(hit.start or 1) - 1 : hit.end])) for hit in hits)
    return Ranking(gold, query, "human", hits, tokens, seconds=0.01 + rng.random() * 0.01 * (engine + 1))


def _named(golds: Sequence[GoldSet], engines: Sequence[EngineRun], lines: Lines) -> dict[str, Lines]:
    """Keep the line lengths of files that somebody names, as a run does."""
    used = {hit.path for engine in engines for ranking in engine.rankings for hit in ranking.hits}
    for query in (query for gold in golds for query in gold.queries):
        used |= {target.span.path for target in (*query.targets, *(one.target for one in query.adversaries))}
    kept = {path: lines[path] for path in sorted(used)}
    return {gold.name: kept for gold in golds}
