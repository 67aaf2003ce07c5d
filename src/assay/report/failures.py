from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from assay.report.render.document import Block, Cell, Heading, Paragraph, drop_empty_columns, table
from assay.report.render.formatting import SHOWN, clip, shape, strip_control
from assay.report.results_file import ContractViolation, PathMismatch, QueryFailure, Results, StderrTail
from assay.scoring import parse_measure
from assay.types import EngineRun, Run, Status

_Finding = TypeVar("_Finding", QueryFailure, ContractViolation)

NOT_OPENED = "could not be opened"
#: Kinds of failures; those that leave nothing to measure first.
_KINDS = (NOT_OPENED, *(str(status) for status in (Status.CRASH, Status.TIMEOUT, Status.ERROR)))
#: A note of the harness on one ranking: "3 of 10 paths not in the corpus, e.g. x".
_COUNTED = re.compile(r"(\d+) of (\d+) (.+)", re.DOTALL)
_EXAMPLE = ", e.g. "
#: Kinds of failures and violations shown per engine; results.json has all.
SHOWN_KINDS = 6


def query_failures(run: Run) -> tuple[QueryFailure, ...]:
    every: list[QueryFailure] = []
    for engine in run.engines:
        opened = _opened_sets(engine, timed=run.header.timed)
        failures: dict[tuple[str, str], QueryFailure] = {}
        for ranking in engine.rankings:
            if ranking.status == Status.OK:
                continue
            kind = str(ranking.status) if ranking.gold in opened else NOT_OPENED
            message = clip(ranking.error or "", SHOWN.message)
            key = (kind, shape(message))
            first = f"{ranking.gold}/{ranking.query} ({ranking.form})"
            known = failures.get(key) or QueryFailure(engine.name, kind, 0, 0.0, message, first)
            number = known.queries + 1
            failures[key] = replace(known, queries=number, share=number / len(engine.rankings))
        every += sorted(failures.values(), key=lambda f: (_KINDS.index(f.kind), -f.queries, f.message, f.first))
    return tuple(every)


def _opened_sets(engine: EngineRun, *, timed: bool) -> Collection[str]:
    """Return the gold sets on which the engine was opened; without times, those without one error on all queries."""
    if engine.index_seconds or timed:
        return engine.index_seconds.keys()
    errors: dict[str, set[str | None]] = {}
    for ranking in engine.rankings:
        errors.setdefault(ranking.gold, set()).add(None if ranking.status == Status.OK else ranking.error or "")
    return {gold for gold, known in errors.items() if None in known or len(known) > 1}


def contract_violations(run: Run) -> tuple[ContractViolation, ...]:
    every: list[ContractViolation] = []
    for engine in run.engines:
        violations: dict[str, ContractViolation] = {}
        for note in (note for ranking in engine.rankings for note in ranking.notes):
            text, _, example = note.partition(_EXAMPLE)
            counted = _COUNTED.fullmatch(text)
            kind = clip(counted[3] if counted else text, SHOWN.message)
            times, of = (int(counted[1]), int(counted[2])) if counted else (0, 0)
            new = ContractViolation(engine.name, kind, 0, 0, 0, clip(example, SHOWN.example))
            known = violations.get(shape(kind), new)
            violations[shape(kind)] = replace(
                known, queries=known.queries + 1, times=known.times + times, of=known.of + of
            )
        every += sorted(violations.values(), key=lambda violation: (-violation.queries, violation.kind))
    return tuple(every)


def path_mismatches(run: Run) -> tuple[PathMismatch, ...]:
    """Return each engine and gold set whose results contain no path of the corpus."""
    mismatches = []
    for engine in run.engines:
        for gold in run.suite.golds:
            paths = [hit.path for ranking in engine.rankings if ranking.gold == gold.name for hit in ranking.hits]
            known = run.lines[gold.name]
            if not paths or any(path in known for path in paths):
                continue
            similar = next(_similar_paths(paths, known), None)
            returned, there = similar or (paths[0], next(iter(known), ""))
            examples = (clip(returned, SHOWN.example), clip(there, SHOWN.example))
            cause = clip(_mismatch_cause(returned, there), SHOWN.message)
            mismatches.append(PathMismatch(engine.name, gold.name, len(paths), *examples, cause))
    return tuple(mismatches)


def _similar_paths(paths: Iterable[str], known: Iterable[str]) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    for path in dict.fromkeys(paths):
        for there in by_name.get(path.rpartition("/")[2], ()):
            if path.endswith(f"/{there}") or there.endswith(f"/{path}"):
                yield path, there


def _mismatch_cause(returned: str, there: str) -> str:
    if returned.startswith("/"):
        return "its paths are absolute and outside the corpus; it may search another copy"
    if there and returned.endswith(f"/{there}"):
        return f"its paths begin with {returned.removesuffix(there)}; its root may be above the corpus root"
    if there.endswith(f"/{returned}"):
        return f"its paths lack {there.removesuffix(returned)}; its root may be inside the corpus"
    return "no path is similar; the engine may search another directory or not return paths"


def mismatch_text(mismatch: PathMismatch) -> str:
    return (
        f"No path of {mismatch.engine} exists in the corpus of {mismatch.gold} ({mismatch.results} results), so no "
        f"result matches. It returned {mismatch.returned}, the corpus has {mismatch.there}: {mismatch.cause}. Paths "
        "must be relative to the corpus root."
    )


def stderr_tails(run: Run) -> tuple[StderrTail, ...]:
    return tuple(
        StderrTail(engine.name, gold, strip_control(text[-SHOWN.stderr :]).strip("\n"))
        for engine in run.engines
        for gold, text in engine.stderr.items()
        if text.strip()
    )


def failure_blocks(results: Results) -> list[Block]:
    if not results.failed_queries:
        return []
    shown, left = _shown(results, results.failed_queries)
    rows: list[list[str | Cell]] = [
        [f.engine, Cell(f.kind, "bad"), str(f.queries), f"{f.share:.0%}", f.message or "–", f.first] for f in shown
    ]
    worst = ", ".join(f"{name} {parse_measure(name).worst:g}" for name in results.measures)
    timeout = results.header.timeout
    own = [row for row in results.spending if row.charged and row.limit_seconds < timeout]
    limits = [f"{timeout:g} s", *(f"{row.engine} {row.limit_seconds:g} s" for row in own)]
    failed = {failure.engine for failure in results.failed_queries}
    stderr = any(tail.engine in failed for tail in results.stderr)
    note = (
        f"Failed queries get the worst value of every measure ({worst}) and count as the timeout "
        f"({', '.join(limits)}). {left}{'report.html has the stderr of these engines.' if stderr else ''}"
    )
    columns = ["Engine", "Error", ">Queries", ">Share", "First message", "Example"]
    return [Heading("Failed queries"), table(columns, rows, note.strip())]


def violation_blocks(results: Results) -> list[Block]:
    if not results.contract_violations:
        return []
    shown, left = _shown(results, results.contract_violations)
    rows = [
        [v.engine, v.kind, str(v.queries), f"{v.times:,} of {v.of:,}" if v.of else "–", v.example or "–"] for v in shown
    ]
    note = f"Repaired where the intent is certain, otherwise scored as returned. {left}"
    columns = ["Engine", "Violation", ">Queries", ">Results", "Example"]
    return [Heading("Contract violations"), table(columns, rows, note.strip())]


def _shown(results: Results, findings: Sequence[_Finding]) -> tuple[list[_Finding], str]:
    """Return the first findings of each engine and a sentence on the number of the others."""
    shown: list[_Finding] = []
    for engine in results.engines:
        shown += [finding for finding in findings if finding.engine == engine.name][:SHOWN_KINDS]
    left = len(findings) - len(shown)
    return shown, f"results.json has {left} more kinds. " if left else ""


def behavior_blocks(results: Results) -> list[Block]:
    rows: list[list[str | Cell]] = []
    for facts in results.engines:
        ties = "–" if facts.tie_range is None else " … ".join(f"{value:.3f}" for value in facts.tie_range)
        failed = Cell(f"{facts.failed} of {facts.asked}", "bad") if facts.failed else "0"
        notes = "; ".join(facts.notes)
        rows.append([facts.name, failed, f"{facts.distinct:.1f}", f"{facts.tie_rate:.0%}", ties, notes])
    columns = ["Engine", ">Failed", f">Distinct files of {results.k}", ">Queries with ties"]
    columns += [">Primary measure over shuffled ties", "Notes"]
    return [Heading("Failures, duplicates and ties"), drop_empty_columns(table(columns, rows))]


def stderr_blocks(results: Results) -> list[Block]:
    if not results.stderr:
        return []
    names = ", ".join(dict.fromkeys(tail.engine for tail in results.stderr))
    text = f"report.html has the last lines of {names}."
    return [Heading("Engine stderr"), Paragraph(text, "quiet")]
