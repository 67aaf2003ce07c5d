"""How should files be cut? At equal token budgets, by line measures: `python -m benchmarks chunking`.

On synthetic sets (`assay gold synth`: names, documentation sentences, keywords) of every repository of the visible half
and on octocode's. Twice: the engine as shipped, whose names and scopes only units by syntax have, and its words alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

import numpy as np

from assay.corpus import open_corpus
from assay.experiment.execution import run
from assay.gold import load_gold
from assay.gold.code_index import SampleSize
from assay.gold.synth import synthesize, write_sets
from assay.scoring import score
from assay.search.config import STAGES
from assay.syntax.text import BYTES_PER_TOKEN
from assay.types import EngineRun, GoldSet, Hit, Ranking, Run, Scores, Suite
from benchmarks.pages import Section, difference_text, table
from benchmarks.quality.measuring import Fleet, by_repository, chosen, differences, housed, joined
from benchmarks.quality.octocode import PARTS
from benchmarks.quality.sources import octocode, visible
from benchmarks.quality.variants import Changes, Shelves, Variant, make, variant

AST = "ast"
KINDS = ("symbol", "doc", "keyword")
#: 60: enough results of 500 characters, or of small functions, to fill the largest budget.
DEPTH = 60
BUDGETS = (1000, 2000, 4000)
MEASURES = ("SpanR(iou=0.3)@10", *(f"RecallAtTokens({budget})" for budget in BUDGETS))
#: Asked of rankings that were cut at a budget, so that everything returned is inside it.
LINES = (f"LineR@{DEPTH}", f"LineP@{DEPTH}")
DRAW = SampleSize(count=25)  # of each kind in each repository: the repositories are what there should be many of

#: What is the words' own doing: no signal, no growth over neighbours; names and paths are still fields.
WORDS: Final[Changes] = MappingProxyType({"without": STAGES, "growth.times": 1.0})
WAYS: Final[Mapping[str, Changes]] = MappingProxyType({"as shipped": {}, "words alone": WORDS})


def _windows(kind: str, size: int, overlap: int = 0) -> Changes:
    """Cut by something that is not syntax."""
    return {"index.chunks.kind": kind, "index.chunks.size": size, "index.chunks.overlap": overlap}


CHUNKINGS: Final[Mapping[str, Changes]] = MappingProxyType(
    {
        AST: {},
        "lines 25": _windows("lines", 25),
        "lines 50": _windows("lines", 50),
        "lines 100": _windows("lines", 100),
        "tokens 512": _windows("tokens", 512),
        "tokens 1024": _windows("tokens", 1024),
        "characters 500/100": _windows("characters", 500, 100),
        "characters 1500/200": _windows("characters", 1500, 200),
        "characters 3000/300": _windows("characters", 3000, 300),
    }
)


def variants() -> tuple[Variant, ...]:
    """Make every chunking both ways; those of one chunking share an index."""
    return tuple(
        variant(_name(chunking, way), {**changes, **more})
        for chunking, changes in CHUNKINGS.items()
        for way, more in WAYS.items()
    )


def _name(chunking: str, way: str) -> str:
    """Name a variant."""
    return f"{chunking}, {way}"


#: Scores by the budget that rankings were cut at; "" for whole rankings. The queries are the same in all of them.
Tables = Mapping[str, Scores]


def main() -> Section:
    """Make the sets, ask them, and octocode's."""
    here = visible()
    parts = [replace(octocode(p.gold, include=p.include, exclude=p.exclude), name=p.name) for p in PARTS[:2]]
    with TemporaryDirectory(prefix="assay-bench-") as folder, Fleet((*here.golds, *parts)) as fleet:
        sent = {gold.name: (folder,) for gold in here.golds}
        found = fleet.map(ask_synthetic, sent) | fleet.map(ask_chunkings, {gold.name: () for gold in parts})
    synthetic = {key: joined([found[gold.name][key] for gold in here.golds]) for key in found[parts[0].name]}
    return section(synthetic, {gold.name: found[gold.name] for gold in parts}, here.notes)


def ask_synthetic(gold: GoldSet, folder: str) -> Tables:
    """Make the synthetic sets of a repository and ask every chunking."""
    files = write_sets(
        synthesize(open_corpus(gold.corpus), name=gold.name, kinds=KINDS, wanted=DRAW), Path(folder, gold.name)
    )
    golds = [load_gold(file).golds[0] for file in files]
    # All of them on the copy without the comments that became questions: its lines are the same, and it is one index.
    copies = [one.corpus for one in golds if one.provenance["synthetic"] != "symbol"]
    return _asked(Suite(tuple(replace(one, corpus=copies[0] if copies else one.corpus) for one in golds)), gold.name)


def ask_chunkings(gold: GoldSet) -> Tables:
    """Ask every chunking a set that somebody wrote."""
    return _asked(Suite((gold,)), gold.name)


def _asked(suite: Suite, home: str) -> Tables:
    """Run and score, with rankings cut at each budget beside the whole ones."""
    shelf = Shelves()
    made = run({one.name: make(one, "span", shelf) for one in variants()}, suite, k=DEPTH, missing="report")
    tables = {"": score(made, MEASURES)}
    tables |= {str(budget): score(cut_at(made, budget), LINES) for budget in BUDGETS}
    homes = {gold.name: home for gold in made.suite.golds}
    return {key: housed(scores, homes) for key, scores in tables.items()}


def cut_at(made: Run, budget: int) -> Run:
    """Cut every ranking where a token budget ends, at the last line that fits, as RecallAtTokens reads it."""
    return replace(made, engines=tuple(_cut_engine(engine, made, budget) for engine in made.engines))


def _cut_engine(engine: EngineRun, made: Run, budget: int) -> EngineRun:
    """Cut the rankings of one engine."""
    rankings = tuple(_cut_ranking(ranking, made.lines[ranking.gold], budget) for ranking in engine.rankings)
    return replace(engine, rankings=rankings)


def _cut_ranking(ranking: Ranking, lines: Mapping[str, tuple[int, ...]], budget: int) -> Ranking:
    """Keep what fits; tokens are counted anew from what is left."""
    return replace(ranking, hits=tuple(_fitting(ranking, lines, budget)), tokens=())


def _fitting(ranking: Ranking, lines: Mapping[str, tuple[int, ...]], budget: int) -> Iterator[Hit]:
    """Read in rank order until the budget is used up."""
    for hit, tokens in zip(ranking.hits, ranking.tokens, strict=True):
        if tokens <= budget:
            yield hit
        else:
            start = hit.start or 1
            sums = list(accumulate(lines[hit.path][start - 1 : hit.end]))
            whole = bisect_right(sums, budget * BYTES_PER_TOKEN)
            if whole:
                yield hit._replace(start=start, end=start + whole - 1)
        budget -= tokens
        if budget <= 0:
            return


def section(synthetic: Tables, written: Mapping[str, Tables], notes: Sequence[str]) -> Section:
    """Write what was seen."""
    macro = _macro(synthetic)
    lines = [
        f"Spans, {DEPTH} results asked for, cut at the budget at the last line that fits. The value of {AST}, and the "
        "paired difference of each other chunking from it with its 95 % interval, not adjusted.",
        "",
        f"Synthetic sets ({', '.join(KINDS)}): {len(synthetic[''].units)} queries that the code of "
        f"{len(macro[''].units)} repositories asks about itself; each repository counts once, intervals by repository. "
        "octocode's: over queries, on that repository only.",
        "",
        *notes,
        "",
    ]
    for way in WAYS:
        lines += _titled(f"Synthetic, {way}", macro, way)
    for kind in KINDS:
        lines += _titled(f"Synthetic, {kind} alone, as shipped", _macro(_of_kind(synthetic, kind)), "as shipped")
    for name, tables in written.items():
        for way in WAYS:
            lines += _titled(f"octocode's {name}, {way}", tables, way)
    return Section(tuple(lines))


def _macro(tables: Tables) -> Tables:
    """Let each repository count once."""
    return {key: by_repository(scores) for key, scores in tables.items()}


def _of_kind(tables: Tables, kind: str) -> Tables:
    """Keep the queries of one kind."""
    return {key: chosen(scores, lambda unit: unit.tags["synthetic"] == kind) for key, scores in tables.items()}


def _titled(title: str, tables: Tables, way: str) -> tuple[str, ...]:
    """Write one table: a line a chunking, a column a measure."""
    columns = [column for key, scores in tables.items() for column in _columns(scores, key, way)]
    rows = [(chunking, *(cells[at] for _, cells in columns)) for at, chunking in enumerate(CHUNKINGS)]
    return (f"### {title}", "", *table(("chunking", *(label for label, _ in columns)), rows))


def _columns(scores: Scores, budget: str, way: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Write the measures of one budget: the mean of the baseline, then the differences of the others from it."""
    baseline, *others = (_name(chunking, way) for chunking in CHUNKINGS)
    found = differences(scores, others, baseline)
    for at, measure in enumerate(scores.measures):
        mean = f"{np.nanmean(scores.values[scores.engines.index(baseline), at]):.3f}"
        label = f"{measure.partition('@')[0]}, {budget} tokens" if budget else measure
        yield label, [mean, *(difference_text(found[other, measure]) for other in others)]
