"""What each engine took: start-up, index, queries cold and warm, memory, disk, calls and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from assay.report.case import real_engines
from assay.report.pages.texts import clip
from assay.report.results import Conditions, Spending
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
class Showing:
    """How much of what engines say of themselves is shown."""

    version: int = 40  # characters; some tools answer with a page


SHOWING = Showing()


def spending(run: Run) -> tuple[Spending, ...]:
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


def _untimed(row: Spending) -> Spending:
    """Leave out what was measured beside others: what remains is what the engine says itself, and what failed."""
    return Spending(
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


def _compared(row: Spending) -> float | None:
    """Give the time that is compared; one that is what failures are charged says nothing of speed."""
    return None if row.mostly_failed else row.warm_ms


def conditions(run: Run) -> Conditions:
    """Say what the times were taken under; runs of older versions did not take turns and pinned nothing."""
    known = run.header.environment
    pinned = known.get("pinned")
    return Conditions(
        pinned=pinned if isinstance(pinned, int) else None,
        interleaved=bool(known.get("interleaved", "pinned" in known)),
        machine=", ".join(str(known[key]) for key in ("cpu", "os") if known.get(key)),
        cores=cores if isinstance(cores := known.get("cores"), int) else 0,
        alone=len(run.engines) == 1,
        in_flight={engine.name: engine.parallel for engine in run.engines if engine.parallel > 1},
    )


def _spent(engine: EngineRun, cap: float) -> Spending:
    """Add up what one engine took; a query that failed is charged all the time it had."""
    first, warm = _first_and_warm(engine.rankings)
    failed = [ranking for ranking in engine.rankings if ranking.status != Status.OK]
    cost = [ranking.cost for ranking in engine.rankings if ranking.cost is not None]
    total = reduce(add, cost) if cost else None
    index = _index_seconds(engine)
    peaks = [taken.peak_bytes for taken in engine.resources.values()]
    return Spending(
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
    """Part the first query on each corpus, which may load what later ones find loaded, from the others."""
    first: dict[str, Ranking] = {}
    warm = []
    for ranking in rankings:
        if ranking.gold in first:
            warm.append(ranking)
        else:
            first[ranking.gold] = ranking
    return list(first.values()), warm


def _quantile(rankings: Sequence[Ranking], share: float, cap: float) -> float | None:
    """Give a quantile of the times in milliseconds."""
    seconds = [ranking.seconds if ranking.status == Status.OK else cap for ranking in rankings]
    return float(np.quantile(seconds, share)) * 1000 if seconds else None


def _failures(rankings: Iterable[Ranking]) -> int:
    """Count the queries that failed."""
    return sum(ranking.status != Status.OK for ranking in rankings)


def _was_asked(engine: EngineRun, ranking: Ranking) -> bool:
    """Tell whether a query was put at all: not to an engine that did not open, nor to one that was given up."""
    return ranking.gold in engine.index_seconds and ranking.seconds > 0


def _median_ms(seconds: Iterable[float]) -> float | None:
    """Give the median in milliseconds; none of nothing."""
    known = list(seconds)
    return float(np.median(known)) * 1000 if known else None


def _index_seconds(engine: EngineRun) -> dict[str, float]:
    """Take the start-up out of the opening, corpus by corpus."""
    nothing = Resources()
    return {
        gold: max(0.0, seconds - (engine.resources.get(gold, nothing).startup_seconds or 0.0))
        for gold, seconds in engine.index_seconds.items()
    }


def _total_bytes(resources: Mapping[str, Resources]) -> int | None:
    """Add up the sizes of the indexes that could be measured."""
    sizes = [taken.index_bytes for taken in resources.values() if taken.index_bytes is not None]
    return sum(sizes) if sizes else None


def _sum(values: Iterable[float | None]) -> float | None:
    """Add up what was measured; nothing where nothing was."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _least(values: Iterable[float | None], floor: float) -> float | None:
    """Find the smallest time that is long enough to be compared with."""
    return min((value for value in values if value is not None and value >= floor), default=None)


def _ratio(value: float | None, least: float | None) -> float | None:
    """Give a time in multiples of the smallest; one below what is compared has none."""
    return None if value is None or least is None or value < least else value / least
