"""Speed and memory of the reference engine beside semble 0.7.0: `python -m benchmarks search`.

Same machine, same run, same files: the visible repositories, of which only the files stay that both engines read. Each
figure comes from a fresh process; the engines take turns, round by round, because a shared machine slows whichever
runs; ratios are of runs of one round. semble has two index workers (it uses them from 200 files on) and random weights
of the size of its own. Neither imports nor the loading of semble's model count, the loading of grammars does. Start-up
is measured from a shell, beside the interpreter alone and with numpy. Where others use the machine, seconds of the
processor are the figures to read: a busy machine slows the clock of both engines, but not alike.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.pages import Section, table
from benchmarks.search.running import Job, Ratio, Runner, spread
from benchmarks.search.staging import Staged, stage
from benchmarks.search.standin import write_model


@dataclass(frozen=True, slots=True)
class Setup:
    """How often, and what is wanted: at most these times the peer's figure."""

    rounds: int = 3
    starts: int = 11  # of each command
    index: float = 0.5
    memory: float = 0.8
    query: float = 0.5
    late: float = 0.15  # the query that 95 of 100 are faster than
    reopen: float = 0.5
    search: float = 1.8  # `assay search`, of `import numpy`
    help: float = 40.0  # ms of `assay --help` beyond those of an interpreter


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table: a figure of both, and how they compare."""

    what: str
    peer: str
    ours: str
    theirs: str
    text: str
    value: float
    target: float

    @classmethod
    def ratio(cls, what: str, peer: str, ours: Sequence[float], theirs: Sequence[float], target: float) -> Line:
        """Compare repetition by repetition."""
        digits = 0 if "MB" in what else 2
        ratio = Ratio(tuple(ours), tuple(theirs))
        return cls(what, peer, spread(ours, digits), spread(theirs, digits), ratio.text(), ratio.median, target)

    @property
    def met(self) -> bool:
        """Whether the value is as wanted."""
        return self.value <= self.target

    def cells(self) -> tuple[str, ...]:
        """Write the row."""
        wanted = f"{self.target:g} ({'met' if self.met else 'missed'})"
        return (self.what, self.peer, self.ours, self.theirs, self.text, wanted)


Runs = Mapping[str, Sequence[dict[str, Any]]]
Figure = Callable[[dict[str, Any]], float]


def take_turns(runner: Runner, engines: Sequence[str], job: Job, rounds: int, *, watch: bool = False) -> Runs:
    """Let engines do a job in turn."""
    found: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine in engines:
            found[engine].append(runner.run(Job(engine, job.task, job.roots, job.queries), watch=watch))
    return found


def compare(what: str, runs: Runs, figure: Figure, target: float, ours: str = "assay") -> Line:
    """Compare a figure of Assay with semble's; `figure` reads it from a run."""
    mine, peer = ([figure(run) for run in runs[engine]] for engine in (ours, "semble"))
    return Line.ratio(what, "semble", mine, peer, target)


def measure(runner: Runner, staged: Staged, setup: Setup) -> list[Line]:
    """Index, open and ask, both engines."""
    both, engines = ("assay", "semble"), ("assay", "assay-span", "semble")
    built = take_turns(runner, both, Job("", "index", staged.roots, staged.queries), setup.rounds, watch=True)
    take_turns(runner, both, Job("", "keep", staged.roots), 1)
    opened = take_turns(runner, both, Job("", "open", staged.roots), setup.rounds)
    asked = take_turns(runner, engines, Job("", "query", staged.roots, staged.queries), setup.rounds, watch=True)
    return [
        compare("cold index, s", built, lambda run: sum(run["seconds"]), setup.index),
        compare("cold index, processor s", built, lambda run: run["processor"], setup.index),
        *(
            compare(f"query per {per}, {what} {unit}", asked, partial(figure, key=key), target, engine)
            for per, engine in (("file", "assay"), ("span", "assay-span"))
            for unit, key in (("ms", "seconds"), ("processor ms", "work"))
            for what, figure, target in (("median", median_ms, setup.query), ("95 %", late_ms, setup.late))
        ),
        compare("unchanged re-open, s", opened, lambda run: sum(run["seconds"]), setup.reopen),
        compare("peak memory of indexing, MB", built, lambda run: run["peak"], setup.memory),
        compare("peak memory of opening and asking, MB", asked, lambda run: run["peak"], setup.memory),
    ]


def median_ms(run: dict[str, Any], key: str) -> float:
    """Give the middle query."""
    return 1e3 * float(statistics.median(run[key]))


def late_ms(run: dict[str, Any], key: str) -> float:
    """Give the query that 95 of 100 are faster than."""
    return 1e3 * float(sorted(run[key])[int(0.95 * len(run[key]))])


def start(runner: Runner, root: str, query: str, setup: Setup) -> list[Line]:
    """Start commands from a shell, in turn; by the clock and by the processor."""
    scripts = Path(sys.executable).parent
    commands = {
        "bare": [sys.executable, "-c", "pass"],
        "numpy": [sys.executable, "-c", "import numpy"],
        "help": [str(scripts / "assay"), "--help"],
        "search": [str(scripts / "assay"), "search", query, root],
    }
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["ASSAY_INDEX_DIR"] = str(runner.folder / "cache-assay")
    clock: dict[str, list[float]] = {name: [] for name in commands}
    processor: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(setup.starts + 1):
        for name, command in commands.items():
            before, begin = _children(), time.perf_counter()
            subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if turn:  # the first one compiles, and fills the cache
                clock[name].append(1e3 * (time.perf_counter() - begin))
                processor[name].append(1e3 * (_children() - before))
    lines = []
    for unit, spent in (("ms", clock), ("processor ms", processor)):
        lines.append(Line.ratio(f"assay search, {unit}", "import numpy", spent["search"], spent["numpy"], setup.search))
        more = [a - b for a, b in zip(spent["help"], spent["bare"], strict=True)]
        shown = spread(spent["help"], 0), spread(spent["bare"], 0), f"{spread(more, 0)} more"
        lines.append(Line(f"assay --help, {unit}", "python -c pass", *shown, statistics.median(more), setup.help))
    return lines


def _children() -> float:
    """Return the CPU seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(setup: Setup = Setup()) -> Section:
    """Run everything."""
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        runner = Runner(folder, write_model(folder / "model"))
        staged = stage(folder / "staged", runner)
        lines = measure(runner, staged, setup)
        lines += start(runner, staged.roots[0], staged.queries[0][0], setup)
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
