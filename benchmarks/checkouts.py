"""Compare the speed of two checkouts: `python -m benchmarks.checkouts OLD [NEW] [--rounds N] [--only NAME]`.

Each measurement is a fresh process that imports one checkout and uses only its public API, so the checkouts may differ
in every module. Processes alternate between the two, and the ratio new/old is taken within a round: its geometric mean
and a 95% t interval of the log ratios.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from assay.stats.distributions import t_quantile

POINT_LIMIT: Final = 1.05
INTERVAL_LIMIT: Final = 1.10
#: About 400 files of the standard library; sources that every machine has.
PACKAGES: Final = (  # noqa: SIM905
    "asyncio concurrent ctypes distutils email encodings http idlelib importlib json lib2to3 logging multiprocessing "
    "tkinter unittest urllib wsgiref xml"
).split()

_HEAD = """
import sys, time, assay
def timed(work, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter(); work(); times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 4]  # the lower quartile: interruptions only add time
"""

#: Programs that print seconds; argv[1] is the corpus.
WORKLOADS: Final = {
    "index": "print(timed(lambda: assay.Index.build(sys.argv[1], workers=1), 1))",
    "query": """
index = assay.Index.build(sys.argv[1])
queries = ["parse an email header", "open a socket with a timeout", "class HTTPConnection", "json decoder error",
           "run a coroutine until complete", "where are log records formatted", "quote a url", "find a module spec",
           "shared memory lock", "skip a test when a condition holds"]
def work():
    for query in queries:
        index.search(query, 10)
work()
print(timed(work, 30))
""",
    "scoring": """
from benchmarks.bench_scoring import OURS, Size, build
import numpy as np
run = build(Size(queries=600, engines=10), np.random.default_rng(0)).run
assay.score(run, OURS)
print(timed(lambda: assay.score(run, OURS), 5))
""",
    "statistics": """
from benchmarks.bench_stats import Setup, make_scores
from assay.stats import all_pairs
scores = make_scores(Setup(engines=10, queries=600, repositories=40))
all_pairs(scores, "nDCG@10")
print(timed(lambda: all_pairs(scores, "nDCG@10"), 5))
""",
}


def compare(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the speed of two checkouts of Assay.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1])
    parser.add_argument("--rounds", type=int, default=12, help="processes per checkout and workload [default: 12]")
    parser.add_argument("--only", choices=WORKLOADS, help="run one workload")
    options = parser.parse_args(arguments)
    if options.rounds < 2:
        parser.error("--rounds: expected at least 2, because the interval needs a spread")
    passed = True
    print("| workload | old (s) | new (s) | new/old (95% CI) | |\n|---|--:|--:|--:|---|")
    with TemporaryDirectory() as scratch:
        corpus = Path(scratch, "corpus")
        for package in PACKAGES:
            source = Path(sysconfig.get_path("stdlib"), package)
            if source.is_dir():
                shutil.copytree(
                    source, corpus / package, ignore=shutil.ignore_patterns("__pycache__", "test*", "*.pyc")
                )
        for name in [options.only] if options.only else WORKLOADS:
            rounds = []
            for number in range(options.rounds + 1):
                order = (options.old, options.new) if number % 2 else (options.new, options.old)
                times = {checkout: measure(checkout, WORKLOADS[name], corpus, Path(scratch)) for checkout in order}
                rounds.append((times[options.old], times[options.new]))
            passed &= report(name, rounds[1:])  # the first round compiles bytecode
    return 0 if passed else 1


def measure(checkout: Path, workload: str, corpus: Path, scratch: Path) -> float:
    cache = scratch / f"cache-{os.urandom(4).hex()}"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{checkout.resolve() / 'src'}{os.pathsep}{checkout.resolve()}",
        "ASSAY_CACHE_DIR": str(cache),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", _HEAD + workload, str(corpus)]
    finished = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"error: the workload failed in {checkout}:\n{finished.stderr}")
    return float(finished.stdout.split()[-1])


def report(name: str, rounds: list[tuple[float, float]]) -> bool:
    logs = [math.log(new / old) for old, new in rounds]
    mean = statistics.fmean(logs)
    half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    point, low, high = (math.exp(value) for value in (mean, mean - half, mean + half))
    passed = point <= POINT_LIMIT and high < INTERVAL_LIMIT
    old, new = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(
        f"| {name} | {old:.3f} | {new:.3f} | {point:.3f} ({low:.3f} to {high:.3f}) | {'met' if passed else 'missed'} |",
        flush=True,
    )
    return passed


if __name__ == "__main__":
    sys.exit(compare())
