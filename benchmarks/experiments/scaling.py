"""What a second worker is worth: real cells on a Dask cluster of one and of two workers, on loopback.

The cells are bound to the processor: each visit indexes a repository and asks it, with nothing kept from before. The
processes of a repetition are new, so that no worker knows anything; they have joined before the clock starts. One and
two workers take turns, so that whatever else the machine does hits both.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.experiment.cluster import DaskExecutor
from assay.experiment.corpora import load_suite
from assay.experiment.execution import execute_spec
from assay.experiment.run_plan import ExecutionOptions
from assay.experiment.spec import Spec
from benchmarks.experiments.loopback import loopback
from benchmarks.pages import Section, Unavailable, table
from benchmarks.search.trees import Tree, write_tree

GOLD = """\
assay: 1
name: {name}
corpus: {{path: {name}}}
queries:
"""
QUERY = """\
  - id: query{number}
    retrieval: {{primary: ["{path}"]}}
    cognitive: {{human: where is {words} handled}}
"""


@dataclass(frozen=True, slots=True)
class Setup:
    """The work."""

    repositories: int = 8
    files: int = 60
    characters: int = 4_000  # a file
    queries: int = 12
    repeats: int = 5
    wanted: float = 1.5  # times faster with two workers


def main(setup: Setup = Setup()) -> Section:
    """Time one and two workers in turns."""
    if (os.cpu_count() or 1) < 2:
        raise Unavailable("two workers need two processors")
    with TemporaryDirectory(prefix="assay-bench-") as name:
        spec = lay_out(Path(name), setup)
        pairs = [_pair(spec, Path(name), number) for number in range(setup.repeats)]
    ratios = [one / two for one, two in pairs]
    ratio = statistics.median(ratios)
    rows = [
        ("cells", f"{setup.repositories} repositories of {setup.files} files × 2 variants, {setup.queries} queries"),
        ("one worker, s", _spread([one for one, _ in pairs])),
        ("two workers, s", _spread([two for _, two in pairs])),
        ("times faster with two", _spread(ratios)),
        (f"median of {setup.repeats} (at least {setup.wanted})", f"{ratio:.2f} ({_met(ratio >= setup.wanted)})"),
    ]
    lines = table(("figure", "value"), rows)
    for line in lines:
        print(line)
    return Section(lines, ratio >= setup.wanted)


def lay_out(folder: Path, setup: Setup) -> Spec:
    """Write repositories and gold sets; each tree is another."""
    golds = []
    for number in range(setup.repositories):
        name = f"repository{number}"
        root = write_tree(folder / name, Tree(setup.files, setup.characters, seed=number))
        gold = folder / f"{name}.yaml"
        gold.write_text(GOLD.format(name=name) + "".join(_queries(root, setup.queries)), encoding="utf-8")
        golds.append(str(gold))
    engines: dict[str, Mapping[str, Any]] = {"plain": {"kind": "builtin"}}
    engines["without"] = {"kind": "builtin", "search": {"without": ["stem"]}}
    return Spec(gold=tuple(golds), engines=engines, baseline="plain", references=False, times=False)


def _queries(root: Path, count: int) -> list[str]:
    """Ask for files by the longest names in them."""
    paths = sorted(root.rglob("*.py"))[:: max(1, len(list(root.rglob("*.py"))) // count)][:count]
    found = []
    for number, path in enumerate(paths):
        words = sorted(set(path.read_text("utf-8").split()), key=lambda word: (-len(word), word))
        plain = [word for word in words if word.isidentifier()][:3]
        found.append(QUERY.format(number=number, path=path.relative_to(root).as_posix(), words=" ".join(plain)))
    return found


def _pair(spec: Spec, folder: Path, number: int) -> tuple[float, float]:
    """Time one worker and two, in an order that changes."""
    order = (1, 2) if number % 2 == 0 else (2, 1)
    seconds = {count: _timed(spec, folder / f"try{number}-{count}", count) for count in order}
    return seconds[1], seconds[2]


def _timed(spec: Spec, folder: Path, count: int) -> float:
    """Run all cells on new workers with an empty cache; give the seconds."""
    folder.mkdir()
    suite = load_suite(spec)
    own = {"ASSAY_CACHE_DIR": str(folder / "cache"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with loopback(folder, count, own) as cluster, closing(DaskExecutor(cluster.address)) as executor:
        cluster.settle()
        begin = time.perf_counter()
        execute_spec(spec, suite, options=ExecutionOptions(folder / "out", executor, fresh=True))
        return time.perf_counter() - begin


def _spread(values: list[float]) -> str:
    """Write a median with its range."""
    return f"median {statistics.median(values):.2f} (least {min(values):.2f}, greatest {max(values):.2f})"


def _met(met: bool) -> str:
    """Say whether a target was met."""
    return "met" if met else "missed"
