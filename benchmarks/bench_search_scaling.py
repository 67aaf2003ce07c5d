"""How time and memory grow with a repository, from 1,000 to 60,000 files: `python -m benchmarks search-scaling`.

ASSAY_BENCH_TREES may name a folder with a tree of each size (1000/, 4000/, ...), such as unpacked packages; else trees
are made of the standard library. The slope is that of a line through the logarithms of the figures and of the bytes of
source, since files of packages differ in size: 1 is linear. What does not grow (grammars, the interpreter) flattens it,
so the step from the second largest tree to the largest is held to the same bound. All times are of the processor: a
machine that others use slows the clock. ripgrep, which reads every file for every query, stands beside for scale.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.pages import Section, table
from benchmarks.search.running import Job, Runner
from benchmarks.search.trees import Tree, write_tree

QUERIES = ("where are temporary files removed", "parse arguments", "HTTPConnection", "retry after timeout error")
TITLES = (
    "files",
    "source, MB",
    "index, s",
    "index, MB",
    "re-open, s",
    "refresh after an edit, s",
    "query, ms",
    "ripgrep, ms",
)


@dataclass(frozen=True, slots=True)
class Setup:
    """The trees."""

    sizes: tuple[int, ...] = (1_000, 4_000, 16_000, 60_000)
    characters: int = 700  # of made files: small, so that the largest tree takes minutes
    greatest: float = 1.05  # slope of time; the room is for noise
    memory: float = 1.0  # slope


def main(setup: Setup = Setup()) -> Section:
    """Index, open, edit and ask trees of every size."""
    with TemporaryDirectory(prefix="assay-bench-") as name:
        runner = Runner(Path(name), Path(name))
        rows = [measured(runner, _tree(Path(name), size, setup), size) for size in setup.sizes]
    return section(rows, setup)


def section(rows: list[list[float]], setup: Setup = Setup()) -> Section:
    """Write the figures of all trees, and their slopes."""
    columns = np.array(rows)
    slopes = [_slope(columns[:, 1], column) for column in columns.T[2:]]
    steps = [_slope(columns[-2:, 1], column[-2:]) for column in columns.T[2:]]
    lines = table(TITLES, [[f"{int(row[0])}", *(f"{value:.3g}" for value in row[1:])] for row in rows] + [
        ["slope", "", *(f"{slope:.2f}" for slope in slopes)],
        ["slope of the last step", "", *(f"{slope:.2f}" for slope in steps)],
    ])  # fmt: skip
    for line in lines:
        print(line)
    greatest = [setup.greatest, setup.memory, setup.greatest, setup.greatest, setup.greatest]
    return Section(lines, all(max(pair) <= most for *pair, most in zip(slopes, steps, greatest, strict=False)))


def _tree(folder: Path, size: int, setup: Setup) -> str:
    if given := os.environ.get("ASSAY_BENCH_TREES"):
        return str(Path(given).absolute() / str(size))
    return str(write_tree(folder / str(size), Tree(size, setup.characters)))


def measured(runner: Runner, root: str, size: int) -> list[float]:
    """Index one tree, open it again, ask, and edit files; files are as before afterwards, but for their times."""
    built = runner.run(Job("assay", "keep", (root,)), watch=True)
    runner.run(Job("assay", "open", (root,)))  # fills the cache of file states, which leaves out new files
    opened = runner.run(Job("assay", "open", (root,)))
    asked = runner.run(Job("assay", "query", (root,), (QUERIES * 5,)))
    edited = runner.run(Job("assay", "refresh", (root,)))
    if not edited["found"]:
        raise RuntimeError("a refreshed index did not find what was added")
    query, refresh = 1e3 * statistics.median(asked["work"]), statistics.median(edited["work"])
    source = sum(path.stat().st_size for path in Path(root).rglob("*") if path.is_file()) / 1e6
    return [
        float(size),
        source,
        built["processor"],
        built["peak"],
        opened["processor"],
        refresh,
        query,
        _ripgrep_ms(root),
    ]


def _ripgrep_ms(root: str) -> float:
    """Count the lines with a word, in one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = Path(sys.executable).with_name("rg")
    subprocess.run([program, "-j1", "-c", "temporary", root], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _slope(sizes: np.ndarray, values: np.ndarray) -> float:
    """Fit a line to logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


if __name__ == "__main__":
    sys.exit(0 if main().passed else 1)
