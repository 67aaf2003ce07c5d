from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from assay.report.render.document import Block, Heading, Paragraph, drop_empty_columns, table
from assay.report.render.formatting import clip
from assay.report.results_file import EngineResources, Results, TimingConditions
from assay.report.scored_run import real_engines
from assay.types import EngineRun, Ranking, Resources, Run, Status

#: Values too small to measure an engine: it opened without building an index; clock and call, not a search; no
#: process is smaller, so the engine ran in ours without raising its peak.
_LEAST_INDEX_SECONDS, _LEAST_QUERY_MS, _LEAST_PEAK_BYTES = 0.05, 0.05, 1_000_000
#: Characters of a version; some tools print a page.
_VERSION_LENGTH = 40


def measure_costs(run: Run) -> tuple[EngineResources, ...]:
    """Return the resources of each engine, in timed runs with ratios to the fastest competing engine."""
    rows = [_costs(engine, limit_of(engine, run.header.timeout), timed=run.header.timed) for engine in run.engines]
    if not run.header.timed:
        return tuple(rows)
    real = set(real_engines(run))
    warm = {row.engine: None if row.mostly_failed else row.warm_ms for row in rows}
    fastest = _least((warm[name] for name in real), _LEAST_QUERY_MS)
    quickest = _least((row.index_seconds for row in rows if row.engine in real), _LEAST_INDEX_SECONDS)
    for at, row in enumerate(rows):
        if row.engine in real:
            ratios = _ratio(warm[row.engine], fastest), _ratio(row.index_seconds, quickest)
            rows[at] = replace(row, warm_ratio=ratios[0], index_ratio=ratios[1])
    return tuple(rows)


def limit_of(engine: EngineRun, cap: float) -> float:
    """Return the query timeout of an engine in seconds, at most `cap`."""
    own = engine.config.get("timeout")
    return min(cap, float(own)) if isinstance(own, int | float) and own > 0 else cap


def timing_conditions(run: Run) -> TimingConditions:
    """Return the conditions under which the times of a run were measured."""
    known = run.header.environment
    pinned, cores = known.get("pinned"), known.get("cores")
    return TimingConditions(
        pinned=pinned if isinstance(pinned, int) else None,
        interleaved=bool(known.get("interleaved", "pinned" in known)),
        machine=", ".join(str(known[key]) for key in ("cpu", "os") if known.get(key)),
        cores=cores if isinstance(cores, int) else 0,
        alone=len(run.engines) == 1,
        in_flight={engine.name: engine.parallel for engine in run.engines if engine.parallel > 1},
    )


def _costs(engine: EngineRun, cap: float, *, timed: bool) -> EngineResources:
    golds = {ranking.gold: ranking for ranking in reversed(engine.rankings)}
    first = [ranking for ranking in engine.rankings if golds[ranking.gold] is ranking]
    warm = [ranking for ranking in engine.rankings if golds[ranking.gold] is not ranking]
    failed = [ranking for ranking in engine.rankings if ranking.status != Status.OK]
    costs = [ranking.cost for ranking in engine.rankings if ranking.cost is not None]
    total = reduce(add, costs) if costs else None
    untimed = EngineResources(
        engine=engine.name,
        version=clip(engine.version, _VERSION_LENGTH),
        charged=len(failed),
        calls=None if total is None else total.calls,
        tokens=None if total is None else total.tokens,
        limit_seconds=cap,
    )
    if not timed:
        return untimed
    index = {
        gold: max(0.0, seconds - (engine.resources.get(gold, Resources()).startup_seconds or 0.0))
        for gold, seconds in engine.index_seconds.items()
    }
    resources = engine.resources.values()
    startups = [used.startup_seconds for used in resources if used.startup_seconds is not None]
    sizes = [used.index_bytes for used in resources if used.index_bytes is not None]
    peaks = [used.peak_bytes for used in resources if (used.peak_bytes or 0) >= _LEAST_PEAK_BYTES]
    asked = (ranking for ranking in failed if ranking.gold in engine.index_seconds and ranking.seconds > 0)
    return replace(
        untimed,
        startup_seconds=sum(startups) if startups else None,
        index_seconds=sum(index.values()) if index else None,
        index_by_gold=index,
        first_ms=_quantile(first, 0.5, cap),
        warm_ms=_quantile(warm, 0.5, cap),
        warm_p95_ms=_quantile(warm, 0.95, cap),
        warm_queries=len(warm),
        peak_bytes=max(filter(None, peaks), default=None),
        index_bytes=sum(sizes) if sizes else None,
        first_failed=sum(ranking.status != Status.OK for ranking in first) * 2 > len(first),
        warm_failed=sum(ranking.status != Status.OK for ranking in warm),
        answered_ms=_median_ms(ranking for ranking in warm if ranking.status == Status.OK),
        failed_ms=_median_ms(asked),
    )


def _quantile(rankings: Sequence[Ranking], share: float, cap: float) -> float | None:
    seconds = [ranking.seconds if ranking.status == Status.OK else cap for ranking in rankings]
    return float(np.quantile(seconds, share)) * 1000 if seconds else None


def _median_ms(rankings: Iterable[Ranking]) -> float | None:
    seconds = [ranking.seconds for ranking in rankings]
    return float(np.median(seconds)) * 1000 if seconds else None


def _least(values: Iterable[float | None], floor: float) -> float | None:
    return min((value for value in values if value is not None and value >= floor), default=None)


def _ratio(value: float | None, least: float | None) -> float | None:
    return None if value is None or least is None or value < least else value / least


_MEGABYTE = 1_000_000
#: Ratios from here on are written without tenths.
_WHOLE = 100
_FAILED = "failed"
#: Columns that are left out if no engine has a value.
_OPTIONAL = ("Version", ">API calls", ">Tokens")
#: Replaces times that cannot be compared.
NO_TIMES = (
    "Engines ran concurrently or results came from the cache, so times are not comparable. "
    "timings.json has the recorded times."
)


def cost_blocks(results: Results) -> list[Block]:
    rows, timed = results.spending, results.header.timed
    cells = [_cells(row) for row in rows]
    titles = [title for title, _ in cells[0]] if cells else []
    shown = [
        at
        for at, title in enumerate(titles)
        if (any(row[at][1] not in ("", "–") for row in cells) if title in _OPTIONAL else timed)
    ]
    lines = [[row.engine, *(of_row[at][1] for at in shown)] for row, of_row in zip(rows, cells, strict=True)]
    columns = ["Engine", *(titles[at] for at in shown)]
    blocks: list[Block] = [Heading("Time and memory")]
    if not timed:
        return [*blocks, Paragraph(NO_TIMES), *([table(columns, lines)] if shown else [])]
    shown_table = drop_empty_columns(table(columns, lines, " ".join(_footnotes(results))))
    if any(cell.text == "–" for row in shown_table.rows for cell in row):
        shown_table = replace(shown_table, note=f"{shown_table.note} –: not measured.")
    blocks.append(shown_table)
    golds = list(results.header.corpora)
    if len(golds) > 1:
        lines = [[row.engine, *(_number(row.index_by_gold.get(gold), 2) for gold in golds)] for row in rows]
        blocks.append(table(["Engine", *(f">{gold}" for gold in golds)], lines, "Index time by gold set, in seconds."))
    return [*blocks, Paragraph(conditions_text(results.conditions), "quiet")]


def _cells(row: EngineResources) -> tuple[tuple[str, str], ...]:
    warm = _number(row.warm_ms)
    if row.mostly_failed:
        warm = _FAILED if row.answered_ms is None else f"{_FAILED} ({_number(row.answered_ms)} answered)"
    return (
        ("Version", row.version or "–"),
        (">Startup (s)", _number(row.startup_seconds, 2)),
        (">Index (s)", _number(row.index_seconds, 2)),
        (">Ratio", _times(row.index_ratio)),
        (">First query (ms)", _FAILED if row.first_failed else _number(row.first_ms)),
        (">Median (ms)", warm),
        (">Ratio", _times(row.warm_ratio)),
        (">p95 (ms)", _FAILED if row.mostly_failed else _number(row.warm_p95_ms)),
        (">Peak memory (MB)", _number(row.peak_bytes, scale=_MEGABYTE)),
        (">Index (MB)", _number(row.index_bytes, scale=_MEGABYTE)),
        (">API calls", _number(row.calls, 0)),
        (">Tokens", _number(row.tokens, 0)),
    )


def _number(value: float | None, digits: int = 1, scale: int = 1) -> str:
    return "–" if value is None else f"{value / scale:,.{digits}f}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:,.{1 if ratio < _WHOLE else 0}f}×"


def _footnotes(results: Results) -> Iterator[str]:
    several = len(results.header.corpora) > 1
    first = "each corpus (median over corpora)" if several else "the corpus"
    yield f"First query: on {first}; median and p95: of the other queries. 1 MB is 1,000,000 bytes."
    charged = []
    for row in results.spending:
        took = "none was sent" if row.failed_ms is None else f"median time {row.failed_ms:,.1f} ms"
        charged += [f"{row.engine} {row.charged} (timeout {row.limit_seconds:g} s; {took})"] if row.charged else []
    if charged:
        yield (
            "Failed queries count as the timeout; “failed” replaces the median of an engine that failed on most "
            f"queries. Failed queries: {'; '.join(charged)}."
        )
    yield (
        "Ratio: relative to the fastest competing engine; omitted for index times below "
        f"{_LEAST_INDEX_SECONDS * 1000:g} ms, query times below {_LEAST_QUERY_MS:g} ms and medians of failed queries."
    )
    yield (
        "Index: built from a fresh copy of the corpus at a new path; a tool that caches by content, such as in the "
        "home directory, may reuse its cache."
    )
    if several:
        yield "Startup, index time and index size are sums over gold sets; memory is the maximum."


def conditions_text(conditions: TimingConditions) -> str:
    cores = f" ({conditions.cores} cores)" if conditions.cores else ""
    threads = "1 thread" if conditions.pinned == 1 else f"{conditions.pinned} threads"
    order = (
        "Queries were interleaved across engines."
        if conditions.interleaved
        else "Engines ran one after the other, so changes of the machine's load affect their times."
    )
    sentences = [
        f"Each engine was pinned to {threads}." if conditions.pinned else "Threads were not pinned.",
        f"Machine: {conditions.machine}{cores}." if conditions.machine else "",
        "" if conditions.alone else order,
        *(
            f"{name} had up to {number} queries in flight, after the others: its times are those of a loaded engine."
            for name, number in conditions.in_flight.items()
        ),
    ]
    return " ".join(sentence for sentence in sentences if sentence)
