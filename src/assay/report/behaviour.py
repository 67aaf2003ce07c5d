"""The sections on what engines did beside answering: what failed, which contracts broke, what they said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.report.pages.document import Block, Cell, Folded, Heading, Leaf, Table, table
from assay.report.results import Breach, EngineFacts, Mishap, Results, Spending
from assay.scoring import parse_measure


@dataclass(frozen=True, slots=True)
class Showing:
    """How much of what went wrong is shown."""

    kinds: int = 6  # of one engine's failures, and of its breaches: a glance; results.json holds them all


SHOWING = Showing()


def mishap_blocks(results: Results) -> list[Block]:
    """Show the queries that got no answer, and what was done about it."""
    return [Heading("Queries without an answer"), _mishap_table(results)] if results.mishaps else []


def breach_blocks(results: Results) -> list[Block]:
    """Show the contracts that were broken and survived."""
    return [Heading("Answers not as agreed"), _breach_table(results)] if results.breaches else []


def _mishap_table(results: Results) -> Table:
    """Show one row for each engine, kind and message."""
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
    """Write the time that a query had; some engines set themselves a shorter one."""
    usual = f"{results.header.timeout:g} s"
    own = [f"{row.engine} {row.limit_seconds:g} s" for row in results.spending if _is_shorter(row, results)]
    return ", ".join([usual, *own])


def _is_shorter(row: Spending, results: Results) -> bool:
    """Tell whether an engine that failed had less time than the run gave."""
    return bool(row.charged) and row.limit_seconds < results.header.timeout


def _mishap(mishap: Mishap) -> list[str | Cell]:
    """Write one row."""
    count, share = str(mishap.queries), f"{mishap.share:.0%}"
    return [mishap.engine, Cell(mishap.kind, "bad"), count, share, mishap.message or "nothing", mishap.first]


def _breach_table(results: Results) -> Table:
    """Show one row for each engine and kind."""
    rows = [
        _breach(b)
        for name in _names(results)
        for b in [b for b in results.breaches if b.engine == name][: SHOWING.kinds]
    ]
    note = f"Survived: what is certain was repaired, the rest was scored as it came. {_left(results, results.breaches)}"
    return table(["engine", "what", ">queries", ">times", "such as"], rows, note.strip())


def _breach(breach: Breach) -> list[str | Cell]:
    """Write one row."""
    times = f"{breach.times:,} of {breach.of:,}" if breach.of else "–"
    return [breach.engine, breach.kind, str(breach.queries), times, breach.example or "–"]


def _names(results: Results) -> list[str]:
    """List the engines in the order of the run."""
    return [facts.name for facts in results.engines]


def _left(results: Results, found: Iterable[Mishap | Breach]) -> str:
    """Say how many kinds are not shown."""
    engines = [item.engine for item in found]
    left = sum(max(0, engines.count(name) - SHOWING.kinds) for name in _names(results))
    return f"{left} more kinds are in results.json. " if left else ""


def _where_stderr(results: Results) -> str:
    """Point to what the engines that failed wrote to stderr."""
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


def _tie_range(facts: EngineFacts) -> str:
    """Write how much the order of tied results decides."""
    if facts.tie_range is None:
        return "–"
    low, mean, high = facts.tie_range
    return f"{low:.3f} … {mean:.3f} … {high:.3f}"


def stderr_blocks(results: Results) -> list[Block]:
    """Fold in what engines wrote to stderr."""
    if not results.stderr:
        return []
    leaves = tuple(Leaf(f"{said.engine} on {said.gold}", said.text) for said in results.stderr)
    names = ", ".join(dict.fromkeys(said.engine for said in results.stderr))
    elsewhere = f"{names}: the end of what they wrote is in report.html, and in the first line of their records."
    return [Heading("What engines wrote to stderr"), Folded(leaves, elsewhere)]
