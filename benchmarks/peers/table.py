"""One run of Assay's own harness with everybody, and the table of it.

Every engine has a copy of the same files, the same k and the same processors, and they take turns question by
question. Quality is by file.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.engines import FullEngine, make_engine
from assay.engines.presets import load_preset, tool_version
from assay.errors import AssayError
from assay.experiment.execution import run
from assay.experiment.interleaved import Progress
from assay.report.analysis import analyze
from assay.report.results_file import EngineResources, Results
from assay.stats.records import ComparisonRow
from assay.types import AnalysisPlan, Suite
from benchmarks.pages import Section, difference_text, mean_text, table
from benchmarks.peers.entries import OURS, SUBSTITUTED, Entry, everybody
from benchmarks.peers.sets import Asked
from benchmarks.quality.sources import say

MEASURE = "nDCG@10"
#: Beside the peers, in every table: what chance and the answers themselves reach.
REFERENCES = (Entry("random", "the floor", {"kind": "random"}), Entry("oracle", "the ceiling", {"kind": "oracle"}))
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Setup:
    """How long anybody may take."""

    query: float = 60.0
    index: float = 3600.0  # ChunkHound takes minutes for the standard library
    max_timeouts: int = 3  # time-outs in a row: the rest is known then


def measure(asked: Asked, setup: Setup = Setup()) -> Section:
    """Ask everybody and write the table."""
    busy = f"The load of the machine was {os.getloadavg()[0]:.1f} before it began: what others did is in the times."
    with TemporaryDirectory(prefix="assay-bench-", ignore_cleanup_errors=True) as name, everybody(Path(name)) as field:
        rows = (*field.entries, *REFERENCES)
        engines = {entry.name: made for entry in rows if (made := _made(entry, asked.suite)) is not None}
        seen = run(
            engines,
            asked.suite,
            timeout=setup.query,
            index_timeout=setup.index,
            max_timeouts=setup.max_timeouts,
            missing="report",
            failed="report",
            progress=_tell,
        )
        results = analyze(seen, AnalysisPlan((MEASURE,), OURS))
        before = _paragraphs([_head(results), busy, *asked.notes, *field.notes])
        after = _paragraphs([*_trouble(results), *SUBSTITUTED])
        return Section((*before, *_table(results, rows), *after))


def _made(entry: Entry, suite: Suite) -> FullEngine | None:
    """Make an engine; one that cannot be made is said aloud and left out."""
    try:
        return make_engine(entry.settings, suite=suite)
    except AssayError as problem:
        say(f"{entry.name} is left out: {problem}")
        return None


def _tell(progress: Progress) -> None:
    """Say who is indexing, and now and then how far the questions are."""
    if progress.step == "index" or (progress.step == "search" and progress.done in (1, progress.total)):
        print(f"  {progress.gold}: {progress.engine} {progress.step} {progress.done}", file=sys.stderr, flush=True)


def _head(results: Results) -> str:
    """Say what was asked, and under what."""
    corpora, under = results.header.corpora.values(), results.conditions
    where = f"{len(corpora)} repositories" if len(corpora) > 1 else "one corpus"
    files = sum(facts.files for facts in corpora)
    return (
        f"{results.queries} queries, {files} files, {where}; {MEASURE} by file with its interval at 95 %, "
        f"{results.comparison.means[0].label}. {under.machine}, {under.cores} cores; every engine had {under.pinned} "
        "of them, and they took turns, question by question. Cold index: from nothing to the first "
        "question, the start of a server included; over several repositories its sum, and memory the highest."
    )


def _table(results: Results, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Write a row an engine."""
    means = {row.engine: row for row in results.comparison.means}
    compared = {row.engine: row for row in results.comparison.rows}
    spent = {row.engine: row for row in results.spending}
    rows = [
        (
            entry.name,
            entry.by,
            _number_of(spent[entry.name].version or _version(entry)),
            mean_text(means[entry.name]),
            "" if entry in REFERENCES else _compared(compared.get(entry.name)),
            *_spent(spent[entry.name]),
        )
        for entry in entries
        if entry.name in means
    ]
    header = ("engine", "adapter", "version", MEASURE, f"minus {OURS}", "cold index s", "warm query ms", "95 % ms",
              "memory MB", "index MB")  # fmt: skip
    return table(header, rows)


def _number_of(version: str) -> str:
    """Take the number out of what a tool says of its version."""
    found = re.search(r"\d+(?:\.\d+)+", version)
    return found[0] if found else "–"


def _version(entry: Entry) -> str:
    """Ask the tool of a preset."""
    name = entry.settings.get("preset")
    return tool_version(load_preset(name)) if isinstance(name, str) else ""


def _compared(row: ComparisonRow | None) -> str:
    """Write the difference with its interval."""
    return "" if row is None else difference_text(row)


def _spent(row: EngineResources) -> tuple[str, ...]:
    """Write what an engine took; the start of a server is part of getting ready."""
    cold = None if row.index_seconds is None else (row.startup_seconds or 0.0) + row.index_seconds
    return (
        _number(cold, 1),
        _number(row.warm_ms, 1),
        _number(row.warm_p95_ms, 1),
        _number(None if row.peak_bytes is None else row.peak_bytes / _MEGABYTE, 0),
        _number(None if row.index_bytes is None else row.index_bytes / _MEGABYTE, 1),
    )


def _number(value: float | None, digits: int) -> str:
    """Write a number that may not have been measured."""
    return "–" if value is None else f"{value:,.{digits}f}"


def _trouble(results: Results) -> list[str]:
    """Say who failed, and how often."""
    return [f"{m.engine}: {m.queries} queries without an answer ({m.kind})." for m in results.failed_queries]


def _paragraphs(texts: Sequence[str]) -> list[str]:
    """Put an empty line after each text."""
    return [line for text in texts for line in (text, "")]
