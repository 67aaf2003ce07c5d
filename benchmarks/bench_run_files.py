"""Score many rankings beside pytrec_eval and ranx in memory, and run files beside ir_measures.

In memory, each tool gets its own form of the same rankings, in batches of ten runs to bound memory. ranx is measured
if it is installed: its compiler, numba, is no dependency of the project. Files are scored by the commands of both.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pytrec_eval

from assay.scoring import RR, nDCG, score
from assay.scoring.measures import AP
from benchmarks.bench_scoring import Data, Size, build
from benchmarks.pages import Section, Unavailable, median_text, most_text, table, timed_command

OURS = (nDCG @ 10, RR @ 10, AP @ 100)


@dataclass(frozen=True, slots=True)
class Setup:
    """The sizes and targets of issue 25."""

    runs: int = 50
    batch: int = 10
    queries: int = 2000
    hits: int = 100
    rounds: int = 3  # of the files
    ranx: float = 0.5
    trec: float = 1.0
    files: float = 1.5


def main(setup: Setup = Setup()) -> Section:
    memory, files = score_in_memory(setup), score_files(setup)
    work = f"{setup.runs} runs × {setup.queries:,} queries × {setup.hits} hits in memory, assay"
    rows = [(work, median_text(memory["assay"]), "")]
    passed = True
    for name, most in (("pytrec_eval", setup.trec), ("ranx", setup.ranx)):
        if name in memory:
            ratios = [a / b for a, b in zip(memory["assay"], memory[name], strict=True)]
            rows.append((f"the same, {name}", median_text(memory[name]), most_text(ratios, most)))
            passed = passed and median(ratios) <= most
        else:
            rows.append((f"the same, {name}", "not installed", ""))
    ratios = [a / b for a, b in zip(files["assay"], files["ir_measures"], strict=True)]
    rows.append(
        ("five run files of 200,000 lines, assay score", median_text(files["assay"]), most_text(ratios, setup.files))
    )
    rows.append(("the same, ir_measures", median_text(files["ir_measures"]), ""))
    lines = ("Processor seconds, interleaved; median (least to most).", "", *table(("work", "seconds", "ratio"), rows))
    print("\n".join(lines))
    return Section(lines, passed and median(ratios) <= setup.files)


def score_in_memory(setup: Setup) -> dict[str, list[float]]:
    """Return the processor seconds of each batch of runs; compilation is outside the clock."""
    spent: dict[str, list[float]] = {}
    for number in range(setup.runs // setup.batch):
        size = Size(setup.queries, setup.batch, setup.hits, pool=3 * setup.hits)
        data = build(size, np.random.default_rng(number))
        work: dict[str, Callable[[], object]] = {
            "assay": partial(score, data.run, OURS),
            "pytrec_eval": partial(_trec, data),
        }
        work |= {"ranx": _ranx(data)} if find_spec("ranx") else {}
        for call in work.values() if number == 0 else ():
            call()
        for name, call in work.items():
            begin = time.process_time()
            call()
            spent.setdefault(name, []).append(time.process_time() - begin)
    return spent


def _trec(data: Data) -> object:
    evaluator = pytrec_eval.RelevanceEvaluator(data.qrels, {"ndcg_cut_10", "recip_rank", "map_cut_100"})
    return [evaluator.evaluate(scored) for scored in data.scored]


def _ranx(data: Data) -> Callable[[], object]:
    ranx = import_module("ranx")
    qrels, runs = ranx.Qrels(data.qrels), [ranx.Run(scored) for scored in data.scored]
    return lambda: [ranx.evaluate(qrels, run, ["ndcg@10", "mrr@10", "map@100"]) for run in runs]


def score_files(setup: Setup) -> dict[str, list[float]]:
    """Return the processor seconds of each round for all five files; ir_measures reads one at a time."""
    other = Path(sys.executable).with_name("ir_measures")
    if not other.exists():
        raise Unavailable("ir_measures is not installed")
    spent: dict[str, list[float]] = {"assay": [], "ir_measures": []}
    with TemporaryDirectory(prefix="assay-bench-") as name:
        directory = Path(name)
        names = write_files(
            directory, build(Size(setup.queries, 5, setup.hits, 3 * setup.hits), np.random.default_rng(0))
        )
        assay = [sys.executable, "-m", "assay", "score", *names, "--qrels", "q.qrels"]
        for _ in range(setup.rounds):
            spent["assay"].append(timed_command(assay, directory, {"PYTHONPATH": os.pathsep.join(sys.path)}).cpu)
            each = [[str(other), "q.qrels", run, "nDCG@10 RR@10 AP@100 R@100"] for run in names]
            spent["ir_measures"].append(sum(timed_command(command, directory).cpu for command in each))
    return spent


def write_files(directory: Path, data: Data) -> list[str]:
    """Write the judgments as q.qrels and each run as a TREC file; return the names of the runs."""
    judged = (f"{query} 0 {path} {grade}\n" for query, grades in data.qrels.items() for path, grade in grades.items())
    (directory / "q.qrels").write_text("".join(judged), "utf-8")
    names = [f"run{number}.trec" for number in range(len(data.scored))]
    for name, scored in zip(names, data.scored, strict=True):
        lines = (f"{query} {line}\n" for query, hits in scored.items() for line in _lines(hits))
        (directory / name).write_text("".join(lines), "utf-8")
    return names


def _lines(hits: Mapping[str, float]) -> list[str]:
    return [f"Q0 {path} {rank} {value:.6f} bench" for rank, (path, value) in enumerate(hits.items(), 1)]


if __name__ == "__main__":
    sys.exit(0 if main().passed else 1)
