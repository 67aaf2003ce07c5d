"""What 10,000 repositories × 100 variants cost whoever coordinates them: `python -m benchmarks scale`.

The code that plans, sends, keeps, puts together and writes is the real one, at 0.3 %, 1 % and 3 % of the repositories;
only the workers are made up: they answer at once, with cells of a realistic size, through the same packing that a
cluster's messages have. Each size is a process of its own, so that its memory is its own. What does not need
simulating, the artefacts of one repository, is measured on one.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from assay.digests import digest_of
from assay.experiment.cell_cache import CellResult, CorpusSnapshot, ResultCache
from assay.experiment.cluster import pack, unpack
from assay.experiment.corpora import load_suite
from assay.experiment.execution import assemble, execute, execute_spec
from assay.experiment.executors import SerialExecutor
from assay.experiment.records import write_run
from assay.experiment.run_plan import ExecutionOptions, make_plan
from assay.experiment.spec import Spec
from assay.experiment.worker import CellTask, CorpusAccess
from assay.store.store import Store
from assay.types import CorpusInfo, CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Span, Suite, Target
from benchmarks.experiments import scaling
from benchmarks.pages import Section, table

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setup:
    """The size of things."""

    repositories: int = 10_000
    variants: int = 100
    queries: int = 10  # of one repository; 100,000 in all
    k: int = 10
    megabytes: float = 5.0  # of source in one repository, for the artefacts; a common size for a library
    shares: tuple[float, ...] = (0.003, 0.01, 0.03)  # of the repositories; 3 % takes some ten minutes
    greatest: float = 1.1  # slope; 1 is linear, the room is for noise


class Simulated:
    """An executor whose workers answer at once; what would go through a scheduler is packed as if it did."""

    width = 125  # a hundred workers
    shares_disk = False

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.messages = 0
        self.sent = 0
        self.received = 0

    def submit(self, function: Callable[..., T], /, *args: object) -> Future[T]:
        """Pack, answer, pack, unpack."""
        packed = pack((function, args))
        task = args[0]
        answer = pack(snapshot(task, self._setup) if isinstance(task, CorpusAccess) else cells(task, self._setup))
        self.messages += 1
        self.sent += len(packed)
        self.received += len(answer)
        return SerialExecutor().submit(lambda: unpack(answer))

    def close(self) -> None:
        """Nothing was started."""


def main(setup: Setup = Setup()) -> Section:
    """Simulate every share, fit the growth, and say what the whole would be."""
    rows = [_apart(round(setup.repositories * share)) for share in setup.shares]
    names = [name for name in rows[0] if name != "repositories"]
    sizes = [row["repositories"] for row in rows]
    slopes = {name: _slope(sizes, [row[name] for row in rows]) for name in names}
    lines = list(table(
        ("figure", *(f"{size:,.0f} × {setup.variants}" for size in sizes), "slope",
         f"{setup.repositories:,} × {setup.variants}, if linear"),
        [_line(name, rows, slopes[name], setup) for name in names],
    ))  # fmt: skip
    lines += table(("artefact", "bytes a byte of source", "in all"), artefacts(setup))
    for line in lines:
        print(line)
    return Section(tuple(lines), all(slopes[name] <= setup.greatest for name in names))


def _line(name: str, rows: list[dict[str, float]], slope: float, setup: Setup) -> list[str]:
    """Write one figure: as measured, its growth, and what ten times the largest would be."""
    last = rows[-1]
    whole = last[name] * setup.repositories / last["repositories"]
    return [name, *(_plain(row[name]) for row in rows), f"{slope:.2f}", _plain(whole)]


def _plain(value: float) -> str:
    """Write a number with three digits that mean something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _apart(repositories: int) -> dict[str, float]:
    """Simulate a share in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.experiments.simulated", str(repositories)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _slope(sizes: list[float], values: list[float]) -> float:
    """Fit a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def simulate(repositories: int, setup: Setup) -> dict[str, float]:
    """Plan, run, put together and write a share; tell what each took."""
    spec, suite = _spec(setup), Suite(tuple(_gold(number, setup) for number in range(repositories)))
    base = _peak()
    clock = [time.perf_counter()]
    plan = make_plan(spec, suite)
    clock.append(time.perf_counter())
    executor = Simulated(setup)
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        os.environ["ASSAY_CACHE_DIR"] = str(folder / "cache")  # of the rates of this run
        cached = ResultCache(folder, permanent=Store(folder / "kept"))
        results = execute(plan, plan.cells, ExecutionOptions(executor=executor, cache=cached))
        clock.append(time.perf_counter())
        run = assemble(plan.summary(results.conditions), results)
        clock.append(time.perf_counter())
        write_run(run, folder / "out")
        clock.append(time.perf_counter())
        written, kept = _bytes(folder / "out"), _bytes(folder / "kept")
    plan_s, run_s, join_s, write_s = np.diff(clock)
    return {
        "repositories": repositories,
        "cells": len(results.cells),
        "messages to workers": executor.messages,
        "sent, MB": executor.sent / 1e6,
        "received, MB": executor.received / 1e6,
        "kept cells, MB": kept / 1e6,
        "records, MB": written / 1e6,
        "memory, MB": _peak() - base,
        "planning, s": float(plan_s),
        "sending, receiving and keeping, s": float(run_s),
        "putting together, s": float(join_s),
        "writing, s": float(write_s),
    }


def _spec(setup: Setup) -> Spec:
    """Declare the variants: one engine at as many weights."""
    weights = [round(0.01 * number, 2) for number in range(setup.variants)]
    engines = {f"w{weight}": {"kind": "builtin", "search": {"stem": {"files": weight}}} for weight in weights}
    return replace(Spec(), engines=engines, baseline="w0.0", references=False, times=False, k=setup.k)


def _gold(number: int, setup: Setup) -> GoldSet:
    """Make up a gold set of questions as long as people's."""
    name = f"repository{number:05}"
    queries = tuple(
        Query(
            id=f"{name}-{query:03}",
            forms={"human": f"where is the {query}th of the things that {name} does with its connections handled"},
            targets=(Target(Span(_path(random.Random(f"{number}/{query}")), 10, 30), 3),),
        )
        for query in range(setup.queries)
    )
    return GoldSet(name, CorpusSpec("git", f"https://example.org/{name}.git"), queries, {}, None)


def _path(draw: random.Random) -> str:
    """Make up a path, of a thousand in a repository."""
    number = draw.randrange(1000)
    # One string for each file, as engines take them from their index; each with its own would be another's memory.
    return sys.intern(f"source/package{number % 20:02}/part{number % 7}/module_{number:04}.py")


@cache
def _lines(path: str) -> tuple[int, ...]:
    """Make up the bytes of a file's lines."""
    draw = random.Random(path)
    return tuple(draw.choice((1, draw.randrange(10, 100))) for _ in range(300))


def snapshot(access: CorpusAccess, setup: Setup) -> CorpusSnapshot:
    """Say what a worker would have seen there."""
    gold = access.gold
    lines = {target.span.path: _lines(target.span.path) for query in gold.queries for target in query.targets}
    facts = CorpusInfo(gold.name, "0" * 40, digest_of(gold.name), 1000, {}, (), ())
    return CorpusSnapshot(gold, facts, lines, round(setup.megabytes * 1e6), len(gold.queries), digest_of(gold.name))


def cells(task: Any, setup: Setup) -> Mapping[str, CellResult]:  # noqa: ANN401 (from a signature of anything)
    """Answer as engines would: variants of one engine find much the same."""
    assert isinstance(task, CellTask)
    return {name: _cell(name, task.access.gold, setup) for name in task.names}


def _cell(name: str, gold: GoldSet, setup: Setup) -> CellResult:
    """Make up one cell."""
    rankings = []
    for query in gold.queries:
        draw = random.Random(query.id)
        own = random.Random(f"{name}/{query.id}")
        hits = tuple(
            Hit(_path(draw), start := draw.randrange(1, 280), start + 20, round(own.random(), 6))
            for _ in range(setup.k)
        )
        rankings.append(Ranking(gold.name, query.id, "human", hits=hits, tokens=(150,) * setup.k))
    lines = {hit.path: _lines(hit.path) for ranking in rankings for hit in ranking.hits}
    engine = EngineRun(name, tuple(rankings), config={"kind": "builtin", "version": "0.1.0"}, date="2026-01-01")
    return CellResult(engine, lines)


def artefacts(setup: Setup) -> list[tuple[str, str, str]]:
    """Index one real repository and see what is kept of it, beside its source."""
    small = scaling.Setup(repositories=1, files=300, queries=3)
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        spec = scaling.lay_out(folder, small)
        os.environ["ASSAY_CACHE_DIR"] = str(folder / "cache")
        execute_spec(spec, load_suite(spec), options=ExecutionOptions(folder / "out", SerialExecutor()))
        source = _bytes(folder / "repository0")
        usage = Store().usage()
    whole = setup.repositories * setup.megabytes * 1e6
    rows = [
        (one.kind, f"{one.bytes / source:.2f}", f"{whole * one.bytes / source / 1e9:,.0f} GB")
        for one in usage
        if one.kind != "cells"  # they are above: two variants here, a hundred there
    ]
    return [("source", "1", f"{whole / 1e9:,.0f} GB"), *rows]


def _bytes(folder: Path) -> int:
    """Add up the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _peak() -> float:
    """Give the most memory that this process ever had, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    print(json.dumps(simulate(int(sys.argv[1]), Setup())))
