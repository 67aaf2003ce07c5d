"""Run every benchmark in this process and write what was seen to benchmarks/RESULTS.md.

Speed is a ratio against a peer in the same run; absolute times say how long to wait, nothing more.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from assay.experiment.environment import environment
from assay.files import write_atomic
from benchmarks import bench_scoring, bench_stats

RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> int:
    """Run, write, and say whether every target was met."""
    parts: dict[str, Mapping[str, object]] = {
        "Scoring beside ir_measures": bench_scoring.main(),
        "All-pairs statistics beside scipy": bench_stats.main(),
    }
    on = environment()
    lines = ["# Benchmarks", "", f"Python {on['python']}, {on['cpu']}, {on['cores']} cores. Made by `make bench`.", ""]
    for title, figures in parts.items():
        lines += [f"## {title}", "", "| figure | value |", "|---|---|"]
        lines += [f"| {name} | {value} |" for name, value in figures.items()]
        lines += [""]
    write_atomic(RESULTS, "\n".join(lines))
    return 0 if all(figures["passed"] for figures in parts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
