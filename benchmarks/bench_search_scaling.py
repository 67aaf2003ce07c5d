"""How time and memory grow with a repository, from 1,000 to 60,000 files: `python -m benchmarks search-scaling`.

The slope of a line through the logarithms: 1 is linear. What does not grow (grammars, the interpreter) flattens it, so
the step from the second largest tree to the largest is held to the same bound, of all figures the least kind. Seconds
of processor stand beside those of the clock: a machine that others use slows the clock alone.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.pages import Section, table
from benchmarks.search.running import Job, Runner
from benchmarks.search.trees import Tree, write_tree

QUERIES = ("where are temporary files removed", "parse arguments", "HTTPConnection", "retry after timeout error")


@dataclass(frozen=True, slots=True)
class Setup:
    """The trees."""

    sizes: tuple[int, ...] = (1_000, 4_000, 16_000, 60_000)
    characters: int = 700  # small files, so that the largest tree takes minutes
    greatest: float = 1.05  # slope; the room is for noise


def main(setup: Setup = Setup()) -> Section:
    """Build trees of every size, index and ask them."""
    with TemporaryDirectory(prefix="assay-bench-") as name:
        runner = Runner(Path(name), Path(name))
        rows = [_measured(runner, Path(name), Tree(size, setup.characters)) for size in setup.sizes]
    columns = np.array(rows)
    titles = ("files", "index, s", "index, processor s", "index, MB", "re-open, s", "query, ms")
    slopes = [_slope(columns[:, 0], column) for column in columns.T[1:]]
    steps = [_slope(columns[-2:, 0], column[-2:]) for column in columns.T[1:]]
    lines = table(titles, [[f"{int(row[0])}", *(f"{value:.3g}" for value in row[1:])] for row in rows] + [
        ["slope (at most 1.05)", *(f"{slope:.2f}" for slope in slopes)],
        ["slope of the last step (at most 1.05)", *(f"{slope:.2f}" for slope in steps)],
    ])  # fmt: skip
    for line in lines:
        print(line)
    return Section(lines, max(*slopes, *steps) <= setup.greatest)


def _measured(runner: Runner, folder: Path, tree: Tree) -> list[float]:
    """Index one tree, open it again and ask."""
    root = str(write_tree(folder / str(tree.files), tree))
    built = runner.run(Job("assay", "index", (root,)), watch=True)
    runner.run(Job("assay", "keep", (root,)))
    opened = runner.run(Job("assay", "open", (root,)))
    asked = runner.run(Job("assay", "query", (root,), (QUERIES * 5,)))
    query = 1e3 * statistics.median(asked["seconds"])
    return [float(tree.files), sum(built["seconds"]), built["processor"], built["peak"], sum(opened["seconds"]), query]


def _slope(sizes: np.ndarray, values: np.ndarray) -> float:
    """Fit a line to logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


if __name__ == "__main__":
    sys.exit(0 if main().passed else 1)
