"""`assay report` over 20 engines × 1,250 queries: seconds from the start of the process to its end, and bytes.

The records are written outside the clock. The source of the standard library is in the page as far as 3 MB go.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.corpus import open_corpus
from assay.experiment.records import write_run
from assay.types import CorpusSpec
from benchmarks.report.sample import Size, make_run


@dataclass(frozen=True, slots=True)
class Target:
    """What issue 8 asks for."""

    seconds: float = 5.0
    bytes: int = 3_000_000
    repeats: int = 3  # the best of them counts: a busy machine is not slower work


def main() -> dict[str, object]:
    """Make the report several times."""
    target, size = Target(), Size()
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        write_run(make_run(open_corpus(CorpusSpec("stdlib")), size), results)
        seconds = min(_timed(results) for _ in range(target.repeats))
        made = (results / "report.html").stat().st_size
    return {
        "engines × queries": f"{size.engines} × {size.queries:,}",
        "seconds, records to page": f"{seconds:.2f} (target: under {target.seconds:.0f})",
        "bytes": f"{made:,} (target: {target.bytes:,} at most)",
        "passed": seconds < target.seconds and made <= target.bytes,
    }


def _timed(results: Path) -> float:
    """Time one command."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "assay", "report", str(results), "--quiet"]
    subprocess.run(command, check=True, capture_output=True, cwd=results.parent)
    return time.perf_counter() - begin
