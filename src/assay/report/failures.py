"""Failed queries, contract violations, paths outside the corpus, engine stderr."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.report.render.document import Block, Cell, Collapsible, Heading, Preformatted, Table, table
from assay.report.render.text import SHOWN, clip, shape, strip_control
from assay.report.results import (
    ContractViolation,
    EngineResources,
    EngineSummary,
    PathMismatch,
    QueryFailure,
    Results,
    StderrTail,
)
from assay.scoring import parse_measure
from assay.types import EngineRun, Ranking, Run, Status

NOT_OPENED = "could not be opened"
#: In this order: what is nearest to "nothing was measured" first.
_KINDS = (NOT_OPENED, *(str(status) for status in (Status.CRASH, Status.TIMEOUT, Status.ERROR)))
#: How the harness counts what it survived in one answer: "3 of 10 paths not in the corpus, e.g. x".
_COUNTED = re.compile(r"(\d+) of (\d+) (.+)", re.DOTALL)
_EXAMPLE = ", e.g. "


def query_failures(run: Run) -> tuple[QueryFailure, ...]:
    """Count the queries that got no answer, by engine, kind and message."""
    return tuple(mishap for engine in run.engines for mishap in _mishaps(engine, _opened(engine, run)))


def _opened(engine: EngineRun, run: Run) -> frozenset[str]:
    if engine.index_seconds or run.header.timed:
        return frozenset(engine.index_seconds)
    said: dict[str, set[str | None]] = {}
    for ranking in engine.rankings:
        said.setdefault(ranking.gold, set()).add(None if ranking.status == Status.OK else ranking.error or "")
    return frozenset(gold for gold, errors in said.items() if None in errors or len(errors) > 1)


def _mishaps(engine: EngineRun, opened: frozenset[str]) -> list[QueryFailure]:
    found: dict[tuple[str, str], QueryFailure] = {}
    for ranking in engine.rankings:
        if ranking.status == Status.OK:
            continue
        kind = _kind(ranking, opened)
        message = clip(ranking.error or "", SHOWN.message)
        key = (kind, shape(message))
        asked = f"{ranking.gold}/{ranking.query} ({ranking.form})"
        known = found.get(key) or QueryFailure(engine.name, kind, 0, 0.0, message, asked)
        count = known.queries + 1
        found[key] = replace(known, queries=count, share=count / len(engine.rankings))
    return sorted(found.values(), key=lambda m: (_KINDS.index(m.kind), -m.queries, m.message, m.first))


def _kind(ranking: Ranking, opened: frozenset[str]) -> str:
    return str(ranking.status) if ranking.gold in opened else NOT_OPENED


def contract_violations(run: Run) -> tuple[ContractViolation, ...]:
    """Count the broken contracts that were survived, by engine and kind, the most frequent first."""
    return tuple(breach for engine in run.engines for breach in _breaches(engine))


def _breaches(engine: EngineRun) -> list[ContractViolation]:
    found: dict[str, ContractViolation] = {}
    for ranking in engine.rankings:
        for note in ranking.notes:
            said, _, example = note.partition(_EXAMPLE)
            counted = _COUNTED.fullmatch(said)
            kind = clip(counted[3] if counted else said, SHOWN.message)
            known = found.get(shape(kind)) or ContractViolation(
                engine.name, kind, 0, 0, 0, clip(example, SHOWN.example)
            )
            times, of = (int(counted[1]), int(counted[2])) if counted else (0, 0)
            found[shape(kind)] = replace(known, queries=known.queries + 1, times=known.times + times, of=known.of + of)
    return sorted(found.values(), key=lambda b: (-b.queries, b.kind))


def path_mismatches(run: Run) -> tuple[PathMismatch, ...]:
    """Find the engines that name no file of a corpus at all: they look at another tree, or name it otherwise."""
    return tuple(
        _stray(run, engine.name, gold.name, paths)
        for engine in run.engines
        for gold in run.suite.golds
        if (paths := _paths(engine, gold.name)) and not any(path in run.lines[gold.name] for path in paths)
    )


def _paths(engine: EngineRun, gold: str) -> list[str]:
    return [hit.path for ranking in engine.rankings if ranking.gold == gold for hit in ranking.hits]


def _stray(run: Run, engine: str, gold: str, paths: Sequence[str]) -> PathMismatch:
    pair = next(_alike(paths, run.lines[gold]), None)
    returned, there = pair or (paths[0], next(iter(run.lines[gold]), ""))
    cause = clip(_cause(returned, there), SHOWN.message)
    return PathMismatch(engine, gold, len(paths), clip(returned, SHOWN.example), clip(there, SHOWN.example), cause)


def _alike(paths: Iterable[str], known: Iterable[str]) -> Iterator[tuple[str, str]]:
    by_name: dict[str, list[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    for path in dict.fromkeys(paths):
        for there in by_name.get(path.rpartition("/")[2], ()):
            if path.endswith(f"/{there}") or there.endswith(f"/{path}"):
                yield path, there


def _cause(returned: str, there: str) -> str:
    if returned.startswith("/"):
        return "its paths are absolute and lie outside the corpus, as if it searched another copy"
    if there and returned.endswith(f"/{there}"):
        return f"its paths begin with {returned.removesuffix(there)}, as if its root were a folder above the corpus"
    if there.endswith(f"/{returned}"):
        return f"its paths lack {there.removesuffix(returned)}, as if its root were a folder inside the corpus"
    return "nothing in them is alike, as if it searched another tree or returned something else than paths"


def stray_sentence(found: PathMismatch) -> str:
    """Say it so that nobody takes the score for a measure of its search."""
    return (
        f"No path of {found.engine} exists in the corpus of {found.gold} ({found.results} results): it is scored as if "
        f"it had found nothing. It returned {found.returned}, the corpus has {found.there}: {found.cause}. "
        "Paths are compared exactly: let it name files from the corpus root."
    )


def stderr_tails(run: Run) -> tuple[StderrTail, ...]:
    """Take the end of what engines wrote to stderr."""
    return tuple(
        StderrTail(engine.name, gold, strip_control(text[-SHOWN.stderr :]).strip("\n"))
        for engine in run.engines
        for gold, text in engine.stderr.items()
        if text.strip()
    )


@dataclass(frozen=True, slots=True)
class FailureLimits:
    """How much of what went wrong is shown."""

    kinds: int = 6  # of one engine's failures, and of its breaches: a glance; results.json holds them all


SHOWING = FailureLimits()


def mishap_blocks(results: Results) -> list[Block]:
    """Show the queries that got no answer, and what was done about it."""
    return [Heading("Queries without an answer"), _mishap_table(results)] if results.mishaps else []


def breach_blocks(results: Results) -> list[Block]:
    """Show the contracts that were broken and survived."""
    return [Heading("Answers not as agreed"), _breach_table(results)] if results.breaches else []


def _mishap_table(results: Results) -> Table:
    rows = [
        _mishap(m)
        for name in _names(results)
        for m in [m for m in results.mishaps if m.engine == name][: SHOWING.kinds]
    ]
    left = _left(results, results.mishaps)
    worst = ", ".join(f"{name} {parse_measure(name).worst:g}" for name in results.measures)
    note = (
        f"A query without an answer takes the worst value of every measure ({worst}) and is charged all the time it "
        f"had ({_limits(results)}). {left}{_where_stderr(results)}"
    )
    columns = ["engine", "how", ">queries", ">share", "the first said", "on"]
    return table(columns, rows, note.strip())


def _limits(results: Results) -> str:
    usual = f"{results.header.timeout:g} s"
    own = [f"{row.engine} {row.limit_seconds:g} s" for row in results.spending if _is_shorter(row, results)]
    return ", ".join([usual, *own])


def _is_shorter(row: EngineResources, results: Results) -> bool:
    return bool(row.charged) and row.limit_seconds < results.header.timeout


def _mishap(mishap: QueryFailure) -> list[str | Cell]:
    count, share = str(mishap.queries), f"{mishap.share:.0%}"
    return [mishap.engine, Cell(mishap.kind, "bad"), count, share, mishap.message or "nothing", mishap.first]


def _breach_table(results: Results) -> Table:
    rows = [
        _breach(b)
        for name in _names(results)
        for b in [b for b in results.breaches if b.engine == name][: SHOWING.kinds]
    ]
    note = f"Survived: what is certain was repaired, the rest was scored as it came. {_left(results, results.breaches)}"
    return table(["engine", "what", ">queries", ">times", "such as"], rows, note.strip())


def _breach(breach: ContractViolation) -> list[str | Cell]:
    times = f"{breach.times:,} of {breach.of:,}" if breach.of else "–"
    return [breach.engine, breach.kind, str(breach.queries), times, breach.example or "–"]


def _names(results: Results) -> list[str]:
    return [facts.name for facts in results.engines]


def _left(results: Results, found: Iterable[QueryFailure | ContractViolation]) -> str:
    engines = [item.engine for item in found]
    left = sum(max(0, engines.count(name) - SHOWING.kinds) for name in _names(results))
    return f"{left} more kinds are in results.json. " if left else ""


def _where_stderr(results: Results) -> str:
    failed = {mishap.engine for mishap in results.mishaps}
    there = any(said.engine in failed for said in results.stderr)
    return "What they wrote to stderr is in report.html." if there else ""


def behaviour_blocks(results: Results) -> list[Block]:
    """Show the rest of how engines behaved: failures, duplicates, ties, what is to be known of them."""
    rows: list[list[str | Cell]] = [
        [
            f.name,
            Cell(f"{f.failed} of {f.asked}", "bad") if f.failed else "0",
            f"{f.distinct:.1f}",
            f"{f.tie_rate:.0%}",
            _tie_range(f),
            "; ".join(f.notes),
        ]
        for f in results.engines
    ]
    columns = ["engine", ">failed", f">distinct files of {results.k}", ">queries with ties"]
    columns += [">primary over shuffled ties", "notes"]
    return [Heading("How the engines behaved"), table(columns, rows)]


def _tie_range(facts: EngineSummary) -> str:
    if facts.tie_range is None:
        return "–"
    low, mean, high = facts.tie_range
    return f"{low:.3f} … {mean:.3f} … {high:.3f}"


def stderr_blocks(results: Results) -> list[Block]:
    """Fold in what engines wrote to stderr."""
    if not results.stderr:
        return []
    leaves = tuple(Preformatted(f"{said.engine} on {said.gold}", said.text) for said in results.stderr)
    names = ", ".join(dict.fromkeys(said.engine for said in results.stderr))
    elsewhere = f"{names}: the end of what they wrote is in report.html, and in the first line of their records."
    return [Heading("What engines wrote to stderr"), Collapsible(leaves, elsewhere)]
