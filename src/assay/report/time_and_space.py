"""The section on what engines took: every time beside those of its peers in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.report.pages.document import Block, Heading, Paragraph, table
from assay.report.results import Conditions, Results, Spending
from assay.report.spending import FLOORS

_MEGABYTE = 1_000_000
#: From this ratio on nobody reads the tenths.
_WHOLE = 100


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table: its title, and what it says of an engine; `optional` ones go where nobody has them."""

    title: str
    text: Callable[[Spending], str]
    optional: bool = False


def spending_blocks(results: Results) -> list[Block]:
    """Show what each engine took, and what that was measured under."""
    if not results.header.timed:
        return _untimed(results)
    columns = [c for c in _COLUMNS if not c.optional or any(c.text(row) not in ("", "–") for row in results.spending)]
    rows = [[row.engine, *(column.text(row) for column in columns)] for row in results.spending]
    notes = " ".join(_footnotes(results))
    blocks: list[Block] = [Heading("Time and space"), table(["engine", *(c.title for c in columns)], rows, notes)]
    if len(results.header.corpora) > 1:
        blocks.append(_by_gold(results))
    return [*blocks, Paragraph(_under(results.conditions), "quiet")]


def _untimed(results: Results) -> list[Block]:
    """Say why there are no times; what engines say of themselves holds all the same."""
    told = [c for c in _COLUMNS if c.optional and any(c.text(row) not in ("", "–") for row in results.spending)]
    rows = [[row.engine, *(column.text(row) for column in told)] for row in results.spending]
    blocks: list[Block] = [Heading("Time and space"), Paragraph(NO_TIMES)]
    return [*blocks, table(["engine", *(c.title for c in told)], rows)] if told else blocks


#: What stands in the place of times that cannot be compared.
NO_TIMES = (
    "Cells ran side by side or were taken from earlier work: times are not comparable, so none are shown. "
    "timings.json has what was taken, where it was."
)


def _number(value: float | None, digits: int = 1) -> str:
    """Write a number that may not have been measured."""
    return "–" if value is None else f"{value:,.{digits}f}"


def _megabytes(size: int | None) -> str:
    """Write a size in megabytes."""
    return _number(None if size is None else size / _MEGABYTE)


def _times(ratio: float | None) -> str:
    """Write a ratio to the fastest."""
    return "–" if ratio is None else f"{ratio:,.{1 if ratio < _WHOLE else 0}f}×"


def _first(row: Spending) -> str:
    """Write the time of the first query; the cap of one that failed would look like a measure."""
    return _FAILED if row.first_failed else _number(row.first_ms)


def _warm(row: Spending) -> str:
    """Write the median; where most queries failed, that of the others."""
    if not row.mostly_failed:
        return _number(row.warm_ms)
    return _FAILED if row.answered_ms is None else f"{_FAILED} ({_number(row.answered_ms)} answered)"


_FAILED = "failed"
_COLUMNS = (
    _Column("version", lambda row: row.version or "–", optional=True),
    _Column(">start-up s", lambda row: _number(row.startup_seconds, 2)),
    _Column(">cold index s", lambda row: _number(row.index_seconds, 2)),
    _Column(">ratio", lambda row: _times(row.index_ratio)),
    _Column(">first ms", _first),
    _Column(">warm ms", _warm),
    _Column(">ratio", lambda row: _times(row.warm_ratio)),
    _Column(">p95 ms", lambda row: _FAILED if row.mostly_failed else _number(row.warm_p95_ms)),
    _Column(">memory MB", lambda row: _megabytes(row.peak_bytes)),
    _Column(">index MB", lambda row: _megabytes(row.index_bytes)),
    _Column(">calls", lambda row: _number(row.calls, 0), optional=True),
    _Column(">tokens", lambda row: _number(row.tokens, 0), optional=True),
)


def _footnotes(results: Results) -> Iterable[str]:
    """Say how to read the numbers, and why some are missing."""
    rows = results.spending
    several = len(results.header.corpora) > 1
    first = "each corpus (the median of them)" if several else "the corpus"
    yield f"first: the first query on {first}; warm: the median of all others, p95 their 95th percentile."
    yield "memory: the highest ever taken; 1 MB is 1,000,000 bytes."
    charged = [_charged(row) for row in rows if row.charged]
    if charged:
        yield (
            "A query that failed counts in median and p95 with all the time it had; where most failed, “failed” stands "
            f"there, with the median of those that were answered. Failed: {'; '.join(charged)}."
        )
    yield (
        "ratio: to the fastest engine of this run that competes; openings under "
        f"{FLOORS.index_seconds * 1000:g} ms, queries under {FLOORS.query_ms:g} ms and medians of failures "
        "are not compared."
    )
    yield (
        "cold index: on a fresh copy of the corpus at a path that no cache has seen; a tool that keeps an index by "
        "content elsewhere, as in the home folder, may still find it there."
    )
    if several:
        yield "Start-up, index time and index size are sums over gold sets, memory is the highest."
    yield from _missing(rows)


def _charged(row: Spending) -> str:
    """Say how many queries of an engine failed, what each had and what it really took."""
    took = "none was asked" if row.failed_ms is None else f"they took {row.failed_ms:,.1f} ms in the median"
    return f"{row.engine} {row.charged} (limit {row.limit_seconds:g} s; {took})"


def _missing(rows: Iterable[Spending]) -> Iterable[str]:
    """Say why there are dashes, column by column."""
    rows = list(rows)
    if any(row.startup_seconds is None for row in rows):
        yield "– under start-up: no server is started, or its start is not told apart from its index."
    if any(row.index_seconds is None for row in rows):
        yield "– under cold index: the engine could not be opened."
    if any(row.warm_ms is None for row in rows):
        yield "– under warm: no second query was asked."
    if any(row.peak_bytes is None for row in rows):
        yield (
            "– under memory: nothing to measure, as for an engine inside Assay's own process that did not raise its "
            "peak, or a server that somebody else started."
        )
    if any(row.index_bytes is None for row in rows):
        yield "– under index: it is kept in memory, or where Assay does not look."
    billed = ({row.calls is None for row in rows}, {row.tokens is None for row in rows})
    if any(len(told) > 1 for told in billed):
        yield "– under calls and tokens: the engine does not say; what the others are billed is their own word."


def _by_gold(results: Results) -> Block:
    """Show the cold index corpus by corpus."""
    names = list(results.header.corpora)
    rows = [[row.engine, *(_number(row.index_by_gold.get(name), 2) for name in names)] for row in results.spending]
    return table(["engine", *(f">{name}" for name in names)], rows, "Cold index by gold set, in seconds.")


def _under(conditions: Conditions) -> str:
    """Say what the times were taken under."""
    cores = f" ({conditions.cores} cores)" if conditions.cores else ""
    threads = "1 thread" if conditions.pinned == 1 else f"{conditions.pinned} threads"
    sentences = [
        f"Each engine was pinned to {threads}." if conditions.pinned else "Threads were not pinned.",
        f"Machine: {conditions.machine}{cores}." if conditions.machine else "",
        "" if conditions.alone else _TURNS[conditions.interleaved],
        *(
            f"{name} had up to {count} questions in flight, after the others: its times are those of a busy engine."
            for name, count in conditions.in_flight.items()
        ),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


_TURNS = {
    True: "Engines took turns, question by question.",
    False: "Engines were asked one after the other, so what changed on the machine meanwhile is part of the times.",
}
