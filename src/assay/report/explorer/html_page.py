from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from assay.report.decision import card, headline
from assay.report.explorer.excerpts import (
    DEFAULT_LIMITS,
    USUAL_TRACES,
    PageLimits,
    PagePlan,
    SourceTexts,
    estimate_fitting,
    plan_excerpts,
    read_excerpts,
)
from assay.report.explorer.page_data import pack_rankings, page_measures, queries, summary, trace_data
from assay.report.gate_history import GatedCommit
from assay.report.render.formatting import count, plain, strip_control
from assay.report.results_file import Results
from assay.report.scored_run import ScoredRun, pick
from assay.settings import setting, setting_errors
from assay.store.kinds import parse_size

if TYPE_CHECKING:
    from assay.experiment.tracing import Traces

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


def page_plan(
    spec: Spec | None = None, *, max_size: str | None = None, no_source: bool = False, traces: int | None = None
) -> PagePlan:
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
    return PagePlan(limits, settings.traces if traces is None else traces, cheap=traces is None)
