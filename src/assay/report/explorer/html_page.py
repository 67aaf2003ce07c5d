from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from assay.gold.split import SEALED, split_of
from assay.report.family import competing_engines, failed_engines
from assay.report.scored_run import rank_measure
from assay.scoring import parse_measure
from assay.stats.config import DEFAULT
from assay.types import Ranking, Run, Span

if TYPE_CHECKING:
    from assay.types import FloatArray

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from html import escape
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.browser.bundle import CompressedBlock, compress, page, remaining_bytes
from assay.errors import ConfigError
from assay.experiment.records.codec import dump
from assay.experiment.records.directory import PAGE
from assay.experiment.spec import Spec
from assay.experiment.spec.assay_toml import locate_error, read_table
from assay.processes.forks import forked
from assay.report.comparison_text import card, headline
from assay.report.explorer.page_data import PageLimits, pack_rankings, page_measures, queries, summary, trace_data
from assay.report.gate_history import GatedCommit
from assay.report.render.formatting import count, plain, strip_control
from assay.report.results_file import Results
from assay.report.scored_run import ScoredRun, pick
from assay.settings import setting, setting_errors
from assay.store.kinds import parse_size

if TYPE_CHECKING:
    from assay.experiment.tracing import Traces

QueryKey = tuple[str, str]  # gold set and query
Sources = dict[str, dict[str, list[tuple[int, str]]]]  # gold index -> path -> first line and text of each excerpt
#: Bytes around an excerpt in the block: the name of its file, brackets, a number.
_OVERHEAD = 24
#: Excerpts that are compressed to estimate the ratio: some 200 kB of source.
_SAMPLE = 32
#: Traced queries by default: more than people read, some 60 kB of the page.
USUAL_TRACES = 40
DEFAULT_LIMITS = PageLimits()


class SourceTexts(Protocol):
    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        r"""Return a file of a gold set's corpus, split at `\n`; None if it is missing or has changed."""
        ...

    @property
    def notes(self) -> Sequence[str]: ...


SCRIPT = "explorer/main.js"
STYLES = ("base.css", "explorer.css")
#: Share of the portions that seemed to fit, for the next try after a page that was too large.
_LESS = 0.97
_KILOBYTE, _MEGABYTE = 1_000, 1_000_000
#: Sizes from here on are written in megabytes.
_LARGE = 100_000


class TooSmallError(ConfigError):
    """A page that cannot be as small as requested."""


@dataclass(frozen=True, slots=True)
class HtmlReport:
    data: bytes
    left_out: tuple[str, ...]


def build_page(
    scored: ScoredRun,
    results: Results,
    *,
    texts: SourceTexts | None,
    traces: Traces | None = None,
    limits: PageLimits = DEFAULT_LIMITS,
    live: Mapping[str, Any] | None = None,
    history: Sequence[GatedCommit] = (),
) -> HtmlReport:
    """Build the page of a run.

    A page above the size limit is built without scores, then without traces. Source excerpts are added as far as they
    fit.
    """
    with forked(partial(_pack, scored, limits, scores=True)) as packed:
        draft = _Draft(scored, results, texts if limits.source else None, traces, limits, live, history, packed)
        least = 0
        for scores, traced in ((True, True), (False, True), (False, False)):
            made = draft.fit(scores=scores, traced=traced)
            if len(made.data) <= limits.max_bytes:
                return made
            least = len(made.data)
    raise TooSmallError(
        f"report.html needs at least {_size_text(least)}, the maximum size is {_size_text(limits.max_bytes)}",
        hint=f"use `assay report DIR --max-size {_size_text(least)}`",
    )


class _Draft:
    """The blocks of a page; those that do not change between tries are made once."""

    def __init__(
        self,
        scored: ScoredRun,
        results: Results,
        texts: SourceTexts | None,
        traces: Traces | None,
        limits: PageLimits,
        live: Mapping[str, Any] | None,
        history: Sequence[GatedCommit],
        packed: Callable[[], CompressedBlock],
    ) -> None:
        self._scored, self._results, self._limits, self._live = scored, results, limits, live
        self._packed = packed
        self._texts, self._trace_notes = texts, traces.notes if traces else ()
        self._plan = plan_excerpts(scored, results, limits)
        self._facts = summary(scored, results, limits) | ({"history": plain(history)} if history else {})
        self._queries = _json(queries(scored))
        self._values = compress(pick(scored.scores, measures=page_measures(scored)).values.astype("<f4").tobytes())
        self._traces = _json(trace_data(scored, traces)) if traces and traces.made else None

    def fit(self, *, scores: bool, traced: bool) -> HtmlReport:
        bare = self._make(0, scores=scores, traced=traced)
        free = self._limits.max_bytes - len(bare.data)
        size = remaining_bytes(free, "sources")
        portions = estimate_fitting(self._plan, self._texts, size) if self._texts and size else 0
        while portions:
            made = self._make(portions, scores=scores, traced=traced)
            if len(made.data) <= self._limits.max_bytes:
                return made
            portions = int(portions * min(free / (len(made.data) - len(bare.data)), 1) * _LESS)
        return bare

    def _make(self, portions: int, *, scores: bool, traced: bool) -> HtmlReport:
        golds = [gold.name for gold in self._scored.run.suite.golds]
        sources = read_excerpts(self._plan, portions, self._texts, golds) if self._texts and portions else {}
        left_out = list(self._omissions(portions, scores=scores, traced=traced))
        facts = {**self._facts, "left_out": [{"block": block, "text": text} for block, text in left_out]}
        data = {
            "summary": _json({**facts, "live": self._live}),
            "queries": self._queries,
            "values": self._values,
            "rankings": self._with_scores if scores else self._without_scores,
            "sources": sources and _json(sources),
            "traces": traced and self._traces,
        }
        made = page(
            title=strip_control(headline(self._results.decision)),
            script=SCRIPT,
            styles=STYLES,
            data={name: block for name, block in data.items() if block},
            fallback=_fallback(self._results),
            live=self._live is not None,
        )
        return HtmlReport(made, tuple(text for _, text in left_out))

    def _omissions(self, portions: int, *, scores: bool, traced: bool) -> Iterator[tuple[str, str]]:
        """Yield what the page leaves out: the block, and a sentence."""
        limits, plan = self._limits, self._plan
        larger = f"`assay report DIR --max-size {_size_text(2 * limits.max_bytes)}` includes more."
        if not limits.source:
            yield "sources", "Source excerpts are turned off."
        elif self._texts is None:
            yield "sources", "No source excerpts: the corpora were not opened. `assay report DIR` includes them."
        elif plan.portions and not portions:
            yield "sources", f"Size limit: no source excerpts. {larger}"
        else:
            yield (
                "sources",
                f"Source excerpts show targets and, for queries on which engines differ, the top {limits.top} results "
                f"of each engine, at most {limits.lines} lines each.",
            )
            if portions < len(plan.portions):
                missing = {portion.query for portion in plan.portions[portions:]}
                complete = count(sum(query not in missing for query in self._scored.queries), "query", "queries")
                yield (
                    "sources",
                    f"Size limit: complete excerpts for {complete} of {len(self._scored.queries):,}, largest "
                    f"differences first. {larger}",
                )
        if not scores:
            yield "rankings", f"Size limit: no scores of single results. {larger}"
        if not traced and self._traces:
            yield "traces", f"Size limit: no traces. {larger}"
        for block, notes in (("sources", self._texts.notes if self._texts else ()), ("traces", self._trace_notes)):
            yield from ((block, note) for note in notes)

    @cached_property
    def _with_scores(self) -> CompressedBlock:
        return self._packed()

    @cached_property
    def _without_scores(self) -> CompressedBlock:
        return _pack(self._scored, self._limits, scores=False)


def _pack(scored: ScoredRun, limits: PageLimits, *, scores: bool) -> CompressedBlock:
    return compress(pack_rankings(scored, scores=scores, error_length=limits.error))


def _json(value: object) -> CompressedBlock:
    return compress(dump(value).encode("utf-8"))


def _fallback(results: Results) -> str:
    texts = (*card(results.decision).lines, results.reading, *results.warnings)
    body = "".join(f"<p>{escape(strip_control(text))}</p>" for text in texts)
    return (
        f"<main>{body}<p>Tables and queries require JavaScript; {PAGE} in the same directory has the tables.</p></main>"
    )


def _size_text(size: int) -> str:
    """Format a size as --max-size accepts it, rounded up so that the named size suffices."""
    if size < _KILOBYTE:
        return f"{size}B"
    unit, name = (_KILOBYTE, "kB") if size < _LARGE else (_MEGABYTE, "MB")
    return f"{ceil(size / unit * 1000) / 1000:g}{name}"


def in_folder(text: str, directory: str | Path) -> str:
    """Replace DIR in the `assay report` commands of a sentence by the directory of the run."""
    return text.replace("`assay report DIR", f"`assay report {directory}")


@dataclass(frozen=True, slots=True)
class ReportSettings:
    max_size: str = setting("3MB", "maximum size of report.html")
    source: bool = setting(True, "include source excerpts in report.html")
    traces: int = setting(USUAL_TRACES, "queries of the builtin engine that are traced after a run", least=0)


def page_options(
    spec: Spec | None = None, *, max_size: str | None = None, no_source: bool = False, traces: int | None = None
) -> PageOptions:
    """Read [report] of a configuration; arguments override it."""
    settings = read_table(ReportSettings, spec, "report", spec.report) if spec else ReportSettings()
    try:
        with setting_errors("max_size"):
            size = parse_size(settings.max_size, "max_size")
    except ConfigError as error:
        raise (locate_error(error, spec, "report") if spec else error) from error
    if traces is not None and traces < 0:
        raise ConfigError(f"--traces: expected 0 or more, got {traces}", hint="--traces 0 turns traces off")
    size = size if max_size is None else parse_size(max_size, "--max-size")
    limits = replace(DEFAULT_LIMITS, max_bytes=size, source=settings.source and not no_source)
    return PageOptions(limits, settings.traces if traces is None else traces, cheap=traces is None)


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
    second = _rankings_by_query(scored, set(competing_engines(scored.run)).difference(judged))
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
    alive = [name for name in competing_engines(scored.run) if name not in failed_engines(scored.run)]
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
class PageOptions:
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


def make_traces(scored: ScoredRun, rival: str, page: PageOptions) -> Traces | None:
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
