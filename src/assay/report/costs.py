"""Time, memory, disk, API calls and tokens of each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from assay.report.render.document import Block, Heading, Paragraph, table
from assay.report.render.text import clip
from assay.report.results import EngineResources, Results, TimingConditions
from assay.report.scored_run import real_engines
from assay.types import EngineRun, Ranking, Resources, Run, Status


@dataclass(frozen=True, slots=True)
class Floors:
    """What is too little to be a measure of an engine."""

    index_seconds: float = 0.05  # below this an engine opens without an index to speak of: a ratio to it says nothing
    query_ms: float = 0.05  # below this the clock and the call are measured, not a search
    peak_bytes: int = (
        1_000_000  # no process is smaller: it ran inside ours and did not raise what that had taken before
    )


FLOORS = Floors()


@dataclass(frozen=True, slots=True)
class NoteLimits:
    """How much of what engines say of themselves is shown."""

    version: int = 40  # characters; some tools answer with a page


SHOWING = NoteLimits()


def spending(run: Run) -> tuple[EngineResources, ...]:
    """Add up what each engine took, and set its times in relation to the fastest that competes."""
    rows = [_spent(engine, limit_of(engine, run.header.timeout)) for engine in run.engines]
    if not run.header.timed:
        return tuple(map(_untimed, rows))
    real = [row for row in rows if row.engine in real_engines(run)]
    fastest = _least((_compared(row) for row in real), FLOORS.query_ms)
    readiest = _least((row.index_seconds for row in real), FLOORS.index_seconds)
    return tuple(
        replace(row, warm_ratio=_ratio(_compared(row), fastest), index_ratio=_ratio(row.index_seconds, readiest))
        if row in real
        else row
        for row in rows
    )


def _untimed(row: EngineResources) -> EngineResources:
    return EngineResources(
        engine=row.engine,
        version=row.version,
        startup_seconds=None,
        index_seconds=None,
        index_by_gold={},
        first_ms=None,
        warm_ms=None,
        warm_p95_ms=None,
        warm_queries=0,
        charged=row.charged,
        peak_bytes=None,
        index_bytes=None,
        calls=row.calls,
        tokens=row.tokens,
        limit_seconds=row.limit_seconds,
    )


def limit_of(engine: EngineRun, cap: float) -> float:
    """Give the seconds that a query of an engine had: those of the run, or its own where they are fewer."""
    own = engine.config.get("timeout")
    return min(cap, float(own)) if isinstance(own, int | float) and own > 0 else cap


def _compared(row: EngineResources) -> float | None:
    return None if row.mostly_failed else row.warm_ms


def conditions(run: Run) -> TimingConditions:
    """Say what the times were taken under; runs of older versions did not take turns and pinned nothing."""
    known = run.header.environment
    pinned = known.get("pinned")
    return TimingConditions(
        pinned=pinned if isinstance(pinned, int) else None,
        interleaved=bool(known.get("interleaved", "pinned" in known)),
        machine=", ".join(str(known[key]) for key in ("cpu", "os") if known.get(key)),
        cores=cores if isinstance(cores := known.get("cores"), int) else 0,
        alone=len(run.engines) == 1,
        in_flight={engine.name: engine.parallel for engine in run.engines if engine.parallel > 1},
    )


def _spent(engine: EngineRun, cap: float) -> EngineResources:
    first, warm = _first_and_warm(engine.rankings)
    failed = [ranking for ranking in engine.rankings if ranking.status != Status.OK]
    cost = [ranking.cost for ranking in engine.rankings if ranking.cost is not None]
    total = reduce(add, cost) if cost else None
    index = _index_seconds(engine)
    peaks = [taken.peak_bytes for taken in engine.resources.values()]
    return EngineResources(
        engine=engine.name,
        version=clip(engine.version, SHOWING.version),
        startup_seconds=_sum(r.startup_seconds for r in engine.resources.values()),
        index_seconds=_sum(index.values()),
        index_by_gold=index,
        first_ms=_quantile(first, 0.5, cap),
        warm_ms=_quantile(warm, 0.5, cap),
        warm_p95_ms=_quantile(warm, 0.95, cap),
        warm_queries=len(warm),
        charged=len(failed),
        peak_bytes=max((p for p in peaks if p is not None and p >= FLOORS.peak_bytes), default=None),
        index_bytes=_total_bytes(engine.resources),
        calls=None if total is None else total.calls,
        tokens=None if total is None else total.tokens,
        limit_seconds=cap,
        first_failed=_failures(first) * 2 > len(first),
        warm_failed=_failures(warm),
        answered_ms=_median_ms(ranking.seconds for ranking in warm if ranking.status == Status.OK),
        failed_ms=_median_ms(ranking.seconds for ranking in failed if _was_asked(engine, ranking)),
    )


def _first_and_warm(rankings: Iterable[Ranking]) -> tuple[list[Ranking], list[Ranking]]:
    first: dict[str, Ranking] = {}
    warm = []
    for ranking in rankings:
        if ranking.gold in first:
            warm.append(ranking)
        else:
            first[ranking.gold] = ranking
    return list(first.values()), warm


def _quantile(rankings: Sequence[Ranking], share: float, cap: float) -> float | None:
    seconds = [ranking.seconds if ranking.status == Status.OK else cap for ranking in rankings]
    return float(np.quantile(seconds, share)) * 1000 if seconds else None


def _failures(rankings: Iterable[Ranking]) -> int:
    return sum(ranking.status != Status.OK for ranking in rankings)


def _was_asked(engine: EngineRun, ranking: Ranking) -> bool:
    return ranking.gold in engine.index_seconds and ranking.seconds > 0


def _median_ms(seconds: Iterable[float]) -> float | None:
    known = list(seconds)
    return float(np.median(known)) * 1000 if known else None


def _index_seconds(engine: EngineRun) -> dict[str, float]:
    nothing = Resources()
    return {
        gold: max(0.0, seconds - (engine.resources.get(gold, nothing).startup_seconds or 0.0))
        for gold, seconds in engine.index_seconds.items()
    }


def _total_bytes(resources: Mapping[str, Resources]) -> int | None:
    sizes = [taken.index_bytes for taken in resources.values() if taken.index_bytes is not None]
    return sum(sizes) if sizes else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _least(values: Iterable[float | None], floor: float) -> float | None:
    return min((value for value in values if value is not None and value >= floor), default=None)


def _ratio(value: float | None, least: float | None) -> float | None:
    return None if value is None or least is None or value < least else value / least


_MEGABYTE = 1_000_000
#: From this ratio on nobody reads the tenths.
_WHOLE = 100


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table: its title, and what it says of an engine; `optional` ones go where nobody has them."""

    title: str
    text: Callable[[EngineResources], str]
    optional: bool = False


def spending_blocks(results: Results) -> list[Block]:
    """Show what each engine took, and what that was measured under."""
    if not results.header.timed:
        return _untimed_time_and_space(results)
    columns = [c for c in _COLUMNS if not c.optional or any(c.text(row) not in ("", "–") for row in results.spending)]
    rows = [[row.engine, *(column.text(row) for column in columns)] for row in results.spending]
    notes = " ".join(_footnotes(results))
    blocks: list[Block] = [Heading("Time and space"), table(["engine", *(c.title for c in columns)], rows, notes)]
    if len(results.header.corpora) > 1:
        blocks.append(_by_gold(results))
    return [*blocks, Paragraph(_under(results.conditions), "quiet")]


def _untimed_time_and_space(results: Results) -> list[Block]:
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
    return "–" if value is None else f"{value:,.{digits}f}"


def _megabytes(size: int | None) -> str:
    return _number(None if size is None else size / _MEGABYTE)


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:,.{1 if ratio < _WHOLE else 0}f}×"


def _first(row: EngineResources) -> str:
    return _FAILED if row.first_failed else _number(row.first_ms)


def _warm(row: EngineResources) -> str:
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


def _charged(row: EngineResources) -> str:
    took = "none was asked" if row.failed_ms is None else f"they took {row.failed_ms:,.1f} ms in the median"
    return f"{row.engine} {row.charged} (limit {row.limit_seconds:g} s; {took})"


def _missing(rows: Iterable[EngineResources]) -> Iterable[str]:
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
    names = list(results.header.corpora)
    rows = [[row.engine, *(_number(row.index_by_gold.get(name), 2) for name in names)] for row in results.spending]
    return table(["engine", *(f">{name}" for name in names)], rows, "Cold index by gold set, in seconds.")


def _under(conditions: TimingConditions) -> str:
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
