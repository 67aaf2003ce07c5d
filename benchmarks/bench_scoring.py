"""Scoring against ir_measures (pytrec_eval underneath) on the same rankings: 1,250 queries × 20 engines × 6 measures.

Both get their data in memory in the form they like best, made outside the clock: Assay a `Run`, ir_measures
dictionaries of qrels and scores. Repeats alternate between the two, so that a busy machine slows both. The values are
compared too.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import ir_measures
import numpy as np
import pytrec_eval

from assay.scoring import RR, nDCG, score
from assay.scoring.measures import AP, Hit, P, R
from assay.types import CorpusSpec, EngineRun, GoldSet, Query, Ranking, Run, Scores, Span, Suite, Target
from assay.types import Hit as Result

OURS = (nDCG @ 10, RR @ 10, P @ 5, R @ 10, AP @ 10, Hit @ 5)
THEIRS = (
    ir_measures.nDCG @ 10,
    ir_measures.RR @ 10,
    ir_measures.P @ 5,
    ir_measures.R @ 10,
    ir_measures.AP @ 10,
    ir_measures.Success @ 5,
)

Qrels = dict[str, dict[str, int]]
Scored = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the issue's claim; k and the pool as in a usual run."""

    queries: int = 1250
    engines: int = 20
    k: int = 10
    pool: int = 40  # paths an engine draws from for one query; a quarter hit rate or so
    targets: int = 4


@dataclass(frozen=True, slots=True)
class Data:
    """The same rankings in both forms."""

    run: Run
    qrels: Qrels
    scored: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds of each repeat."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    trec: tuple[float, ...]
    worst_difference: float


def build(size: Size, rng: np.random.Generator) -> Data:
    """Draw graded targets and rankings without ties or repetitions, the part both cover."""
    paths = [f"src/package_{i % 7}/module_{i}.py" for i in range(size.pool)]
    qrels: Qrels = {}
    for number in range(size.queries):
        wanted = rng.choice(size.pool, size=int(rng.integers(1, size.targets + 1)), replace=False)
        qrels[f"q{number}"] = {paths[i]: int(rng.integers(1, 3)) for i in wanted}
    scored = tuple(
        {
            query: {paths[i]: 1.0 - rank / 100 for rank, i in enumerate(rng.permutation(size.pool)[: size.k])}
            for query in qrels
        }
        for _ in range(size.engines)
    )
    return Data(make_run(size, qrels, scored), qrels, scored)


def make_run(size: Size, qrels: Qrels, scored: tuple[Scored, ...]) -> Run:
    """Put the rankings into Assay's records."""
    queries = tuple(
        Query(query, {"human": query}, tuple(Target(Span(path), grade) for path, grade in targets.items()))
        for query, targets in qrels.items()
    )
    engines = tuple(
        EngineRun(f"engine{number}", tuple(ranking(query, hits) for query, hits in answers.items()))
        for number, answers in enumerate(scored)
    )
    return Run(Suite((GoldSet("bench", CorpusSpec("path", "."), queries),)), size.k, engines)


def ranking(query: str, hits: dict[str, float]) -> Ranking:
    return Ranking("bench", query, "human", tuple(Result(path, score=value) for path, value in hits.items()))


def theirs(data: Data) -> list[list[ir_measures.Metric]]:
    """Score every engine with one evaluator, which keeps the qrels between engines."""
    evaluator = ir_measures.evaluator(THEIRS, data.qrels)
    return [list(evaluator.iter_calc(scored)) for scored in data.scored]


def trec(data: Data) -> list[object]:
    """Score with the C code alone, without ir_measures around it and with RR uncut: for orientation, not a claim."""
    names = {"ndcg_cut_10", "recip_rank", "P_5", "recall_10", "map_cut_10", "success_5"}
    evaluator = pytrec_eval.RelevanceEvaluator(data.qrels, names)
    return [evaluator.evaluate(scored) for scored in data.scored]


def ours(data: Data) -> Scores:
    return score(data.run, OURS)


def timed(work: Callable[[Data], object], data: Data) -> float:
    begin = time.process_time()
    work(data)
    return time.process_time() - begin


def compare(scores: Scores, metrics: list[list[ir_measures.Metric]]) -> float:
    """The largest difference between the two, over every single value."""
    column = {str(measure): index for index, measure in enumerate(THEIRS)}
    unit = {unit.query: index for index, unit in enumerate(scores.units)}
    return max(
        float(abs(scores.values[engine, column[str(metric.measure)], unit[metric.query_id]] - metric.value))
        for engine, row in enumerate(metrics)
        for metric in row
    )


def measure(size: Size, repeats: int, seed: int) -> Outcome:
    """Alternate between the two, after one warm-up each."""
    data = build(size, np.random.default_rng(seed))
    difference = compare(ours(data), theirs(data))
    a, b, c = [], [], []
    for _ in range(repeats):
        a.append(timed(ours, data))
        b.append(timed(theirs, data))
        c.append(timed(trec, data))
    return Outcome(tuple(a), tuple(b), tuple(c), difference)


def spread(values: tuple[float, ...] | list[float]) -> str:
    return f"median {statistics.median(values):.3f} (least {min(values):.3f}, greatest {max(values):.3f})"


def peak_megabytes() -> float:
    """The process's peak resident memory, both libraries and all data included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main(repeats: int = 9, seed: int = 0, size: Size = Size()) -> dict[str, object]:
    """Time both, print and return the figures."""
    outcome = measure(size, repeats, seed)
    ratios = [a / b for a, b in zip(outcome.ours, outcome.theirs, strict=True)]
    figures: dict[str, object] = {
        "work": f"{size.queries} queries × {size.engines} engines × {len(OURS)} measures, {repeats} repeats",
        "assay, processor seconds": spread(outcome.ours),
        "ir_measures, processor seconds": spread(outcome.theirs),
        "pytrec_eval's C code alone, RR uncut, processor seconds": spread(outcome.trec),
        "ratio to ir_measures (at most 1.0)": spread(ratios),
        "largest difference between values (at most 1e-12)": f"{outcome.worst_difference:.1e}",
        "peak memory, MB (below 1000)": round(peak_megabytes()),
        "passed": statistics.median(ratios) <= 1.0 and outcome.worst_difference <= 1e-12 and peak_megabytes() < 1000,
    }
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


if __name__ == "__main__":
    sys.exit(0 if main()["passed"] else 1)
