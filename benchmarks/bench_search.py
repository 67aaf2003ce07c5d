"""Speed and memory of the reference engine beside semble 0.7.0: `python -m benchmarks search`.

Same machine, same run, same files: the visible repositories, of which only the files stay that both engines read. Each
figure comes from a fresh process; the engines take turns, round by round, because a shared machine slows whichever
runs; ratios are of runs of one round. semble has two index workers (it uses them from 200 files on) and random weights
of the size of its own; "words alone" is semble with its dense part patched out. Neither imports nor the loading of
semble's model count, the loading of grammars does.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.pages import Section, table
from benchmarks.search.running import Job, Ratio, Runner, spread
from benchmarks.search.staging import Staged, stage
from benchmarks.search.standin import write_model
from benchmarks.search.trees import Tree, write_tree

PEERS = {"semble": "semble", "semble-bm25": "its words alone"}
#: The large repository of the issue, with files of the size of its visible ones.
LARGE = Tree(files=6_000, characters=4_000)


@dataclass(frozen=True, slots=True)
class Setup:
    """How often, and what is wanted: at most these times the peer's figure."""

    rounds: int = 5
    watched: int = 2  # rounds with an eye on the memory
    refreshes: int = 2  # processes that build the large repository and edit it
    index: tuple[float, float] = (0.6, 0.9)  # of semble with its dense part, of its words alone
    query: float = 0.5
    reopen: float = 0.5
    refresh: float = 0.05
    memory: float = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a figure of both, and how they compare."""

    what: str
    peer: str
    ours: str
    theirs: str
    ratio: Ratio
    target: float

    @property
    def met(self) -> bool:
        """Whether the ratio is as wanted."""
        return self.ratio.median <= self.target

    def cells(self) -> tuple[str, ...]:
        """Write the row."""
        wanted = f"{self.target:g} ({'met' if self.met else 'missed'})"
        return (self.what, self.peer, self.ours, self.theirs, self.ratio.text(), wanted)


Runs = Mapping[str, Sequence[dict[str, Any]]]
Figure = Callable[[dict[str, Any]], float]


def take_turns(runner: Runner, engines: Sequence[str], job: Job, rounds: int, *, watch: bool = False) -> Runs:
    """Let engines do a job in turn."""
    found: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            found[engine].append(runner.run(Job(engine, job.task, job.roots, job.queries), watch=watch))
    return found


def compare(what: str, runs: Runs, figure: Figure, targets: Sequence[float], ours: str = "assay") -> list[Line]:
    """Put a figure of ours beside both peers'; `figure` reads it from a run."""
    values = {engine: tuple(figure(run) for run in seen) for engine, seen in runs.items()}
    digits = 0 if "MB" in what else 2
    return [
        Line(what, label, spread(values[ours], digits), spread(values[peer], digits),
             Ratio(values[ours], values[peer]), target)
        for (peer, label), target in zip(PEERS.items(), targets, strict=True)
    ]  # fmt: skip


def measure(runner: Runner, staged: Staged, setup: Setup) -> list[Line]:
    """Index, open and ask, both engines."""
    everything = Job("", "index", staged.roots, staged.queries)
    both, engines = ("assay", *PEERS), ("assay", "assay-span", *PEERS)
    built = take_turns(runner, both, everything, setup.rounds)
    take_turns(runner, both, Job("", "keep", staged.roots), 1)
    opened = take_turns(runner, both, Job("", "open", staged.roots), setup.rounds)
    asked = take_turns(runner, engines, Job("", "query", staged.roots, staged.queries), setup.rounds)
    heavy = take_turns(runner, both, everything, setup.watched, watch=True)
    light = take_turns(runner, both, Job("", "query", staged.roots, staged.queries), setup.watched, watch=True)
    return [
        *compare("cold index, s", built, lambda run: sum(run["seconds"]), setup.index),
        *compare("cold index with imports, s", built, lambda run: sum(run["seconds"]) + run["imports"], setup.index),
        *compare("cold index, processor s", built, lambda run: run["processor"], setup.index),
        *compare("query per file, median ms", asked, median_ms, (setup.query,) * 2),
        *compare("query per file, 95 % ms", asked, late_ms, (setup.query,) * 2),
        *compare("query per span, median ms", asked, median_ms, (setup.query,) * 2, "assay-span"),
        *compare("query per span, 95 % ms", asked, late_ms, (setup.query,) * 2, "assay-span"),
        *compare("unchanged re-open, s", opened, lambda run: sum(run["seconds"]), (setup.reopen,) * 2),
        *compare("peak memory of indexing, MB", heavy, lambda run: run["peak"], (setup.memory,) * 2),
        *compare("peak memory of opening and asking, MB", light, lambda run: run["peak"], (setup.memory,) * 2),
    ]


def median_ms(run: dict[str, Any]) -> float:
    """Give the middle query."""
    return 1e3 * float(statistics.median(run["seconds"]))


def late_ms(run: dict[str, Any]) -> float:
    """Give the query that 95 of 100 are faster than."""
    return 1e3 * float(sorted(run["seconds"])[int(0.95 * len(run["seconds"]))])


def refresh(runner: Runner, root: Path, setup: Setup) -> Line:
    """Edit files of a large repository, one at a time, and open it again in the same process."""
    runs = [
        runner.run(Job("assay", "refresh", (str(write_tree(root / str(n), LARGE)),))) for n in range(setup.refreshes)
    ]
    if not all(run["found"] for run in runs):
        raise RuntimeError("a refreshed index did not find what was added")
    edits, builds = [statistics.median(run["seconds"]) for run in runs], [run["build"] for run in runs]
    what = f"refresh after one edit among {LARGE.files} files, s"
    return Line(
        what, "our own full build", spread(edits, 3), spread(builds), Ratio(tuple(edits), tuple(builds)), setup.refresh
    )


def main(setup: Setup = Setup()) -> Section:
    """Run everything."""
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        runner = Runner(folder, write_model(folder / "model"))
        staged = stage(folder / "staged", runner)
        lines = [*measure(runner, staged, setup), refresh(runner, folder / "large", setup)]
    asked = sum(map(len, staged.queries))
    head = (
        f"{len(staged.roots)} repositories, {staged.files} files that both read ({staged.left_out} that only one reads"
        f" are left out), {asked} queries, {setup.rounds} rounds; median (least to greatest).",
        *staged.notes,
        "",
    )
    rows = table(("figure", "beside", "assay", "peer", "ratio", "at most"), [line.cells() for line in lines])
    for line in (*head, *rows):
        print(line)
    return Section((*head, *rows), all(line.met for line in lines))


if __name__ == "__main__":
    sys.exit(0 if main().passed else 1)
