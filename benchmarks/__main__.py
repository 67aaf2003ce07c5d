"""Run benchmarks in this process and write what was seen to benchmarks/RESULTS.md.

    python -m benchmarks                  the short ones (`make bench`)
    python -m benchmarks quality          every one of the group
    python -m benchmarks halves signals   these; the sections of the others stay as they are

Speed is a ratio against a peer in the same run; absolute times say how long to wait, nothing more.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Final

from assay.errors import closest_match
from assay.experiment.run_plan import environment
from assay.files import write_atomic
from benchmarks.pages import Section, Unavailable, figures_section

RESULTS = Path(__file__).parent / "RESULTS.md"


@dataclass(frozen=True, slots=True)
class Bench:
    """A module whose `main()` gives a section, or figures to make one of."""

    name: str
    module: str
    title: str
    group: str
    long: bool = False  # minutes; run by name, or with its group

    def run(self) -> Section:
        """Run it; imported only now, because most need what others do not."""
        found = import_module(self.module).main()
        return found if isinstance(found, Section) else figures_section(found)


BENCHES: Final = (
    Bench("scoring", "benchmarks.bench_scoring", "Scoring beside ir_measures", "harness"),
    Bench("run-files", "benchmarks.bench_run_files", "Scoring beside pytrec_eval, ranx and ir_measures", "harness"),
    Bench("stats", "benchmarks.bench_stats", "All-pairs statistics beside scipy", "harness"),
    Bench("report", "benchmarks.report.page", "The report of 20 engines × 1,250 queries", "harness"),
    Bench("demo", "benchmarks.report.demo", "`assay demo`, first and again", "harness"),
    Bench("visible", "benchmarks.quality.visible", "Files: semble's visible half", "quality"),
    Bench("octocode", "benchmarks.quality.octocode", "Lines: octocode's sets", "quality"),
    Bench("karta", "benchmarks.quality.karta", "Karta's sweep", "quality"),
    Bench("halves", "benchmarks.quality.halves", "Files: tuned on one half, scored on the other", "quality", long=True),
    Bench("signals", "benchmarks.quality.signals", "Ledger of signals", "quality", long=True),
    Bench("static", "benchmarks.quality.static", "Meaning beside words", "quality", long=True),
    Bench("semantic", "benchmarks.quality.semantic", "A contextual encoder beside the default", "quality", long=True),
    Bench("tries", "benchmarks.quality.tries", "Ledger of what was tried with meaning", "quality", long=True),
    Bench("chunking", "benchmarks.quality.chunking", "Chunking", "quality", long=True),
    Bench("lint", "benchmarks.gold.lint", "Published gold sets, linted", "gold", long=True),
    Bench("reanchor", "benchmarks.gold.reanchor", "Anchors moved through four months of octocode", "gold", long=True),
    Bench("peers-library", "benchmarks.peers.on_library", "Peers on the standard library", "peers", long=True),
    Bench("peers-repositories", "benchmarks.peers.on_repositories", "Peers on five repositories", "peers", long=True),
    Bench("embedders", "benchmarks.bench_embedders", "Embedders beside the static model", "speed", long=True),
    Bench("sweep", "benchmarks.experiments.sweep", "A sweep beside one variant", "experiments"),
    Bench("cluster", "benchmarks.experiments.scaling", "One worker of a cluster and two", "experiments"),
    Bench("scale", "benchmarks.experiments.simulated", "10,000 repositories × 100 variants", "experiments", long=True),
    Bench("search", "benchmarks.bench_search", "Speed and memory beside semble 0.7.0", "speed", long=True),
    Bench("search-scaling", "benchmarks.bench_search_scaling", "Growth from 1,000 to 60,000 files", "speed", long=True),
)


def main(names: Sequence[str]) -> int:
    """Run, write after each, and say whether every target was met."""
    passed = True
    for bench in choose(names):
        print(f"{bench.name} ...", file=sys.stderr, flush=True)
        begin, before = time.perf_counter(), os.getloadavg()[0]
        try:
            section = bench.run()
        except Unavailable as problem:
            print(f"!! {bench.name} was not run: {problem}", file=sys.stderr, flush=True)
            continue
        load = f"Load of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after."
        write(bench.title, replace(section, lines=(*section.lines, "", load)))
        passed = passed and section.passed
        print(f"{bench.name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return 0 if passed else 1


def choose(names: Sequence[str]) -> list[Bench]:
    """List the benchmarks that names and groups stand for; without a name, the short ones."""
    known = {bench.name for bench in BENCHES} | {bench.group for bench in BENCHES}
    for name in names:
        if name not in known:
            near = closest_match(name, sorted(known)) or sorted(known)
            raise SystemExit(f"no benchmark {name!r}; there is {', '.join(near)}")
    return [b for b in BENCHES if (b.name in names or b.group in names if names else not b.long)]


def write(title: str, section: Section) -> None:
    """Put a section in its place; what was not run stays."""
    sections = read(RESULTS.read_text("utf-8") if RESULTS.exists() else "")
    sections[title] = "\n".join(section.lines).strip()
    on = environment()
    head = f"# Benchmarks\n\nPython {on['python']}, {on['cpu']}, {on['cores']} cores. Made by `make bench`.\n"
    parts = [f"## {title}\n\n{sections[title]}\n" for title in _ordered(sections)]
    write_atomic(RESULTS, "\n".join([head, *parts]))


def read(text: str) -> dict[str, str]:
    """Read the sections there are, by title."""
    found = {}
    for part in f"\n{text}".split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        found[title.strip()] = body.strip()
    return found


def _ordered(sections: Mapping[str, str]) -> Iterable[str]:
    """Give the titles in the order of the benchmarks, others after them."""
    known = [bench.title for bench in BENCHES]
    return [t for t in known if t in sections] + [t for t in sections if t not in known]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
