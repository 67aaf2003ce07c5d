from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from assay.gold.split import SEALED, split_of
from assay.report.gate_history import GatedCommit
from assay.report.render.formatting import count
from assay.report.results_file import Results
from assay.report.scored_run import ScoredRun, failed_engines, rank_measure, real_engines
from assay.scoring import parse_measure
from assay.stats.config import DEFAULT
from assay.types import Ranking, Run, Span

if TYPE_CHECKING:
    from assay.experiment.tracing import Traces
    from assay.types import FloatArray

QueryKey = tuple[str, str]  # gold set and query
Sources = dict[str, dict[str, list[tuple[int, str]]]]  # gold index -> path -> first line and text of each excerpt
#: Bytes around an excerpt in the block: the name of its file, brackets, a number.
_OVERHEAD = 24
#: Excerpts that are compressed to estimate the ratio: some 200 kB of source.
_SAMPLE = 32
#: Traced queries by default: more than people read, some 60 kB of the page.
USUAL_TRACES = 40


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Size of report.html and how much of each query it shows."""

    max_bytes: int = 3_000_000  # of the file: small enough for mail, opens in a second
    source: bool = True  # False: no source at all
    around: int = 3  # lines before and after a span
    lines: int = 60  # of one excerpt: longer ones are read in an editor
    top: int = 3  # results of an engine whose source is shown: what people look at first
    error: int = 300  # characters of an error text; the records have all of it


DEFAULT_LIMITS = PageLimits()


class SourceTexts(Protocol):
    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        r"""Return a file of a gold set's corpus, split at `\n`; None if it is missing or has changed."""
        ...

    @property
    def notes(self) -> Sequence[str]: ...


class QueryExcerpts(NamedTuple):
    """Excerpts of one query, of which a page shows all or none."""

    query: QueryKey
    spans: tuple[Span, ...]  # targets and adversaries
    rankings: tuple[Ranking, ...] = ()  # whose first results are shown


@dataclass(frozen=True, slots=True)
class ExcerptPlan:
    """All excerpts that a page could show, most important first."""

    portions: tuple[QueryExcerpts, ...]
    limits: PageLimits

    def ranges(self, portion: QueryExcerpts) -> Iterator[tuple[tuple[str, str], range]]:
        """Yield the gold set, path and lines of each excerpt of a portion."""
        limits = self.limits
        hits = (hit.span for ranking in portion.rankings for hit in ranking.hits[: limits.top])
        for span in dict.fromkeys((*portion.spans, *hits)):
            start, end = 1, limits.lines
            if span.start is not None and span.end is not None:
                start = max(1, span.start - limits.around)
                end = min(span.end + limits.around, start + limits.lines - 1)
            yield (portion.query[0], span.path), range(start, end + 1)


def plan_excerpts(scored: ScoredRun, results: Results, limits: PageLimits) -> ExcerptPlan:
    """List the excerpts of a page, most important first.

    The order is: targets and compared engines of queries on which engines differ, other engines on these queries,
    targets of the other queries.
    """
    judged = tuple(dict.fromkeys((results.comparison.baseline, results.challenger, results.leader)))
    order = _differing_queries(scored, judged)
    first = _rankings_by_query(scored, judged)
    second = _rankings_by_query(scored, set(real_engines(scored.run)).difference(judged))
    targets = {
        key: tuple(target.span for target in (*query.targets, *(other.target for other in query.adversaries)))
        for key, query in scored.queries.items()
    }
    portions = [
        *(QueryExcerpts(key, targets[key], tuple(first.get(key, ()))) for key in order),
        *(QueryExcerpts(key, (), tuple(second[key])) for key in order if key in second),
        *(QueryExcerpts(key, targets[key]) for key in scored.queries if key not in set(order)),
    ]
    return ExcerptPlan(tuple(portions), limits)


def _differing_queries(scored: ScoredRun, judged: Collection[str]) -> list[QueryKey]:
    """List the queries on which engines differ on the primary measure, by the difference of the compared engines."""
    alive = [name for name in real_engines(scored.run) if name not in failed_engines(scored.run)]
    spread, compared = _spread(scored, alive), _spread(scored, [name for name in alive if name in judged])
    gaps: dict[QueryKey, tuple[float, float]] = {}
    for at, unit in enumerate(scored.scores.units):
        key, gap = (unit.gold, unit.query), (float(compared[at]), float(spread[at]))
        gaps[key] = max(gaps.get(key, gap), gap)
    differing = [key for key, gap in gaps.items() if gap[1] > DEFAULT.tie]
    return sorted(differing, key=lambda key: (-gaps[key][0], -gaps[key][1], key))


def _spread(scored: ScoredRun, names: Sequence[str]) -> FloatArray:
    if not names:
        return np.zeros(len(scored.scores.units))
    values = np.array([scored.values(name, scored.primary) for name in names])
    spread: FloatArray = np.nan_to_num(values.max(axis=0) - values.min(axis=0))
    return spread


def _rankings_by_query(scored: ScoredRun, names: Collection[str]) -> dict[QueryKey, list[Ranking]]:
    rankings: dict[QueryKey, list[Ranking]] = {}
    for engine in scored.run.engines:
        for ranking in engine.rankings if engine.name in names else ():
            if ranking.hits:
                rankings.setdefault((ranking.gold, ranking.query), []).append(ranking)
    return rankings


def estimate_fitting(plan: ExcerptPlan, texts: SourceTexts, size: int) -> int:
    """Estimate how many portions fit into `size` compressed bytes.

    The compression ratio is that of the first portions: compressing all source would be slow.
    """
    packer, covered, raw, packed = zlib.compressobj(6), dict[tuple[str, str], set[int]](), 0, 0
    for number, portion in enumerate(plan.portions):
        parts = []
        for file, lines in plan.ranges(portion):
            known = covered.setdefault(file, set())
            parts += [_join_lines(texts.lines(*file) or (), part) for part in join_runs(sorted({*lines} - known))]
            known.update(lines)
        text = ("\n" * _OVERHEAD).join(parts)
        raw += len(text)
        if number < _SAMPLE:
            packed += len(packer.compress(text.encode("utf-8", "surrogatepass")))
            packed += len(packer.flush(zlib.Z_SYNC_FLUSH))
            ratio = packed / max(raw, 1)
        if raw * ratio > size:
            return number
    return len(plan.portions)


def join_runs(lines: Iterable[int]) -> Iterator[range]:
    """Join consecutive numbers of a sorted sequence to ranges."""
    start = end = 0
    for line in lines:
        if line != end:
            if end:
                yield range(start, end)
            start = line
        end = line + 1
    if end:
        yield range(start, end)


def _join_lines(lines: Sequence[str], part: range) -> str:
    return "\n".join(lines[part.start - 1 : part.stop - 1])


def read_excerpts(plan: ExcerptPlan, number: int, texts: SourceTexts, golds: Sequence[str]) -> Sources:
    """Read the excerpts of the first portions; overlapping and adjacent excerpts are joined."""
    covered: dict[tuple[str, str], set[int]] = {}
    for portion in plan.portions[:number]:
        for file, part in plan.ranges(portion):
            covered.setdefault(file, set()).update(part)
    sources: Sources = {}
    for (gold, path), numbers in sorted(covered.items()):
        lines = texts.lines(gold, path) or ()
        last = len(lines) if lines and lines[-1] else len(lines) - 1  # no line follows the last newline
        parts = [(part.start, _join_lines(lines, part)) for part in join_runs(sorted(n for n in numbers if n <= last))]
        if parts:
            sources.setdefault(str(golds.index(gold)), {})[path] = parts
    return sources


#: Traces queries of a run: (run, queries as gold, query and form, engine, most, cheap=...).
Tracer = Callable[..., "Traces"]


@dataclass(frozen=True, slots=True)
class PagePlan:
    """Settings of report.html, with functions that provide source texts and traces."""

    limits: PageLimits = DEFAULT_LIMITS
    traces: int = USUAL_TRACES  # queries
    cheap: bool = True  # no traces that need a new index of a large corpus
    texts: Callable[[Run], SourceTexts] | None = None
    tracer: Tracer | None = None
    history: tuple[GatedCommit, ...] = ()  # the trend of the gate


class TraceSelection(NamedTuple):
    """The traced engine and its queries as gold, query and form, most important first."""

    engine: str
    queries: tuple[tuple[str, str, str], ...]
    sealed: int  # queries left out


def make_traces(scored: ScoredRun, rival: str, page: PagePlan) -> Traces | None:
    """Trace the most important queries of a run; None without a tracer or a built-in engine that succeeded.

    `rival` is the engine that a traced baseline is compared with.
    """
    chosen = select_traced(scored, rival)
    if chosen is None or page.tracer is None:
        return None
    traces = page.tracer(scored.run, chosen.queries, chosen.engine, max(page.traces, 0), cheap=page.cheap)
    return replace(traces, notes=tuple(_trace_notes(chosen, traces, page.traces)))


def select_traced(scored: ScoredRun, rival: str) -> TraceSelection | None:
    """Select the best built-in engine and order its queries: misses, regressions, others; None without an engine."""
    dead = failed_engines(scored.run)
    names = [e.name for e in scored.run.engines if e.config.get("kind") == "builtin" and e.name not in dead]
    if not names:
        return None
    sign = 1.0 if parse_measure(scored.primary).higher_is_better else -1.0

    def gain(name: str) -> float:
        values = scored.values(name, scored.primary)[list(scored.headline)]
        return sign * float(np.nanmean(values)) if np.isfinite(values).any() else 0.0

    best = max(names, key=gain)  # of equals the first declared
    against = scored.plan.baseline if best != scored.plan.baseline else rival
    units = [scored.scores.units[at] for at in _trace_order(scored, best, against, sign)]
    kept = [unit for unit in units if split_of(scored.queries[unit.gold, unit.query]) != SEALED]
    return TraceSelection(best, tuple((unit.gold, unit.query, unit.form) for unit in kept), len(units) - len(kept))


def _trace_order(scored: ScoredRun, engine: str, against: str, sign: float) -> list[int]:
    values, others = (sign * scored.values(name, scored.primary) for name in (engine, against))
    is_found = scored.values(engine, rank_measure(scored.primary, scored.run.k)) > 0
    headline = set(scored.headline)

    def key(at: int) -> tuple[bool, int, float, float, int]:
        value, loss = float(values[at]), float(others[at] - values[at])
        group = 0 if not is_found[at] else 1 if loss > 0 else 2
        # NaN, where a measure does not apply, cannot be ordered
        return (at not in headline, group, -loss if loss == loss else 0.0, value if value == value else np.inf, at)

    return sorted(range(len(scored.scores.units)), key=key)


def _trace_notes(chosen: TraceSelection, traces: Traces, most: int) -> Iterator[str]:
    made, total = len(traces.made), len(chosen.queries)
    yield from traces.notes
    if most <= 0 or made < total:
        wanted = USUAL_TRACES if most <= 0 else total
        yield (
            f"Traces of {chosen.engine}: {made:,} of {count(total, 'query', 'queries')}; "
            f"`assay report DIR --traces {wanted}` adds more."
        )
    if chosen.sealed:
        yield f"{count(chosen.sealed, 'sealed query has', 'sealed queries have')} no trace."
