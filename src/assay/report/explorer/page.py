"""Build report.html within its size limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.browser.bundle import CompressedBlock, packed, page, remaining_bytes
from assay.errors import ConfigError
from assay.experiment.records.codec import dump
from assay.experiment.records.directory import PAGE
from assay.experiment.spec import Spec
from assay.experiment.spec.model import locate_error, read_table
from assay.report.explorer.data import pack_rankings, queries, shown_measures, summary, trace_data
from assay.report.explorer.excerpts import USUAL_TRACES, ExcerptPlan, SourceTexts, cut, fitting, wanted
from assay.report.explorer.limits import DEFAULT_LIMITS, PageLimits
from assay.report.explorer.packing import pack_values
from assay.report.headlines import headline
from assay.report.render.text import count, strip_control
from assay.report.results import Results
from assay.report.scored_run import ScoredRun, pick
from assay.store.kinds import parse_size

if TYPE_CHECKING:
    from assay.experiment.tracing import Traces


_KILOBYTE, _MEGABYTE = 1_000, 1_000_000
#: From here on a size is said in megabytes.
_LARGE = 100_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the source that was wanted is in the page, counted in queries."""

    differing: int  # on which engines differ
    complete: int  # of those: all of theirs is here
    begun: int  # of those: some of theirs is here
    others: bool  # whether what belongs to the other queries is here
    told: Sequence[str]  # the engines whose results come first
    empty: bool = False  # there is none at all, for want of room


@dataclass(frozen=True, slots=True)
class PageContents:
    """What is in a page."""

    coverage: Coverage | None  # None: there is nobody to ask for source
    scores: bool
    traces: bool  # False: there were some, but no room


class Omission(NamedTuple):
    """A sentence on what is not in a page, and the block that would have it."""

    block: str
    text: str


def omissions(shown: PageContents, limits: PageLimits, notes: Mapping[str, Sequence[str]]) -> list[Omission]:
    """Say what is not in a page; `notes` are those of whoever was asked for a block."""
    return [
        *(Omission("sources", text) for text in _sources(shown.coverage, limits)),
        *_dropped(shown, limits),
        *(Omission(block, text) for block, said in notes.items() for text in said),
    ]


def _sources(coverage: Coverage | None, limits: PageLimits) -> Iterator[str]:
    if not limits.source:
        yield "No source is in this file, as --no-source asked for: `assay report FOLDER` puts it in."
        return
    if coverage is None:
        yield "No source is in this file: nobody opened the corpora. `assay report FOLDER` does."
        return
    if coverage.empty:
        yield f"No source is in this file: there was no room for any. {_larger(limits)}"
        return
    yield (
        f"Source is shown around gold places and the first {limits.top} results of each engine, up to {limits.lines} "
        "lines of a place, for queries on which engines differ; of other queries around gold places only."
    )
    if coverage.complete < coverage.differing or not coverage.others:
        yield f"{_counts(coverage)} {_larger(limits)}"


def _counts(coverage: Coverage) -> str:
    if coverage.complete == coverage.differing:
        return "The gold places of queries on which no engine differs are not all here: the file would be too large."
    every = f"of {count(coverage.differing, 'query', 'queries')} that differ, those that differ most first"
    some, told = coverage.begun - coverage.complete, ", ".join(("gold", *coverage.told))
    if not coverage.begun:
        return f"There was room for none {every}."
    if not coverage.complete:
        return f"There was room for {some:,} {every}, and of those for {told} only."
    part = f"; {some:,} more have that of {told} only" if some else ""
    return f"There was room for all of {coverage.complete:,} {every}{part}."


def _dropped(shown: PageContents, limits: PageLimits) -> Iterator[Omission]:
    large = f"the file would be too large. {_larger(limits)}"
    if not shown.scores:
        yield Omission("rankings", f"The scores that engines gave their results are not here: {large}")
    if not shown.traces:
        yield Omission("traces", f"The traces are not here: {large}")


def _larger(limits: PageLimits) -> str:
    return f"`assay report FOLDER --max-size {size_text(2 * limits.max_bytes)}` makes room."


def size_text(size: int) -> str:
    """Write a size so that --max-size reads it back, rounded up: whoever names it gets what it is about."""
    if size < _KILOBYTE:
        return f"{size}B"
    unit, name = (_KILOBYTE, "kB") if size < _LARGE else (_MEGABYTE, "MB")
    return f"{ceil(size / unit * 1000) / 1000:g}{name}"


def size_words(size: int) -> str:
    """Write a size for a sentence."""
    return count(size, "byte") if size < _KILOBYTE else size_text(size)


def in_folder(text: str, folder: str | Path) -> str:
    """Name the folder in a sentence for who is told it now; a page says FOLDER, for it is read anywhere."""
    return text.replace("`assay report FOLDER", f"`assay report {folder}")


SCRIPT = "explorer/main.js"
STYLES = ("base.css", "report.css", "queries.css", "rerun.css")
#: Of the portions of source that seem to fit, those that are tried where more did not.
_LESS = 0.97


class TooSmallError(ConfigError):
    """A page cannot be made as small as it was wanted."""


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """A page, and what it says of what is not in it."""

    data: bytes
    left_out: tuple[str, ...]


def build_page(
    case: ScoredRun,
    results: Results,
    *,
    texts: SourceTexts | None,
    traces: Traces | None = None,
    limits: PageLimits = DEFAULT_LIMITS,
    live: Mapping[str, Any] | None = None,
) -> HtmlReport:
    """Make the page of a run, and say what is not in it.

    Where it would become too large, scores and traces go, and source comes in as far as it fits.
    """
    draft = _Draft(case, results, texts if limits.source else None, traces, limits, live)
    least = 0
    for scores, traced in ((True, True), (False, True), (False, False)):
        made = draft.fitted(scores=scores, traced=traced)
        if len(made.data) <= limits.max_bytes:
            return made
        least = len(made.data)
    raise TooSmallError(
        f"the report of this run has at least {size_words(least)}, more than the {size_words(limits.max_bytes)} of "
        "--max-size",
        hint=f"`assay report FOLDER --max-size {size_text(least)}` makes it",
    )


@dataclass(frozen=True)
class _Draft:
    """A page in the making; what does not change from try to try is made once."""

    case: ScoredRun
    results: Results
    texts: SourceTexts | None
    traces: Traces | None
    limits: PageLimits
    live: Mapping[str, Any] | None

    def fitted(self, *, scores: bool, traced: bool) -> HtmlReport:
        bare = self._made(0, scores=scores, traced=traced)
        room = remaining_bytes(self.limits.max_bytes - len(bare.data), "sources")
        count = fitting(self.wanted, self.texts, room) if self.texts and room else 0
        while count:
            made = self._made(count, scores=scores, traced=traced)
            if len(made.data) <= self.limits.max_bytes:
                return made
            over = (self.limits.max_bytes - len(bare.data)) / (len(made.data) - len(bare.data))
            count = int(count * min(over, 1) * _LESS)
        return bare

    def _made(self, count: int, *, scores: bool, traced: bool) -> HtmlReport:
        golds = [gold.name for gold in self.case.run.suite.golds]
        sources = cut(self.wanted, count, self.texts, golds) if self.texts and count else {}
        said = self._left_out(PageContents(self._coverage(count), scores, traced or not self._traces))
        data = {
            "summary": _json({**self._facts, "left_out": [one._asdict() for one in said], "live": self.live}),
            "queries": self._queries,
            "values": self._values,
            "rankings": self._with_scores if scores else self._without_scores,
            "sources": sources and _json(sources),
            "traces": traced and self._traces,
        }
        made = page(
            title=strip_control(headline(self.results)),
            script=SCRIPT,
            styles=STYLES,
            data={name: block for name, block in data.items() if block},
            fallback=_fallback(self.results),
            live=self.live is not None,
        )
        return HtmlReport(made, tuple(one.text for one in said))

    def _left_out(self, shown: PageContents) -> list[Omission]:
        asked = {"sources": self.texts, "traces": self.traces}
        return omissions(shown, self.limits, {block: one.notes for block, one in asked.items() if one})

    def _coverage(self, count: int) -> Coverage | None:
        found = self.wanted
        if self.texts is None:
            return None
        whole = count == len(found.portions)
        empty = not count and bool(found.portions)
        return Coverage(len(found.differing), found.complete(count), found.begun(count), whole, found.told, empty)

    @cached_property
    def wanted(self) -> ExcerptPlan:
        return wanted(self.case, self.results, self.limits)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return summary(self.case, self.results, self.limits)

    @cached_property
    def _queries(self) -> CompressedBlock:
        return _json(queries(self.case))

    @cached_property
    def _values(self) -> CompressedBlock:
        return packed(pack_values(pick(self.case.scores, measures=shown_measures(self.case)).values))

    @cached_property
    def _with_scores(self) -> CompressedBlock:
        return packed(pack_rankings(self.case, scores=True, error_length=self.limits.error))

    @cached_property
    def _without_scores(self) -> CompressedBlock:
        return packed(pack_rankings(self.case, scores=False, error_length=self.limits.error))

    @cached_property
    def _traces(self) -> CompressedBlock | None:
        return _json(trace_data(self.case, self.traces)) if self.traces and self.traces.made else None


def _json(value: object) -> CompressedBlock:
    return packed(dump(value).encode("utf-8"))


def _fallback(results: Results) -> str:
    said = (headline(results), results.reading, *results.warnings)
    body = "".join(f"<p>{escape(strip_control(text))}</p>" for text in said)
    return f"<main>{body}<p>Tables and queries need scripts in this page; {PAGE} beside it has the tables.</p></main>"


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """The keys of [report]."""

    max_size: str = field(default="3MB", metadata={"about": "the most that report.html may have"})
    source: bool = field(default=True, metadata={"about": "put excerpts of the source into report.html"})
    traces: int = field(
        default=USUAL_TRACES, metadata={"about": "queries of the builtin engine that are traced after a run"}
    )


@dataclass(frozen=True, slots=True)
class PagePlan:
    """How a page is made."""

    limits: PageLimits = DEFAULT_LIMITS
    traces: int = USUAL_TRACES
    cheap: bool = True  # traces that would need a new index of a large corpus are left out


def page_plan(
    spec: Spec | None = None, *, max_size: str | None = None, no_source: bool = False, traces: int | None = None
) -> PagePlan:
    """Read [report]; flags go before it."""
    settings = read_table(ReportSettings, spec, "report", spec.report) if spec else ReportSettings()
    try:
        wanted = _plan(settings)
    except ConfigError as error:
        raise (locate_error(error, spec, "report", spec.report) if spec else error) from error
    if traces is not None and traces < 0:
        raise ConfigError(f"--traces {traces}", hint="it is 0 or more")
    size = wanted.limits.max_bytes if max_size is None else parse_size(max_size, "--max-size")
    limits = replace(wanted.limits, max_bytes=size, source=wanted.limits.source and not no_source)
    return PagePlan(limits, wanted.traces if traces is None else traces, cheap=traces is None)


def _plan(settings: ReportSettings) -> PagePlan:
    if settings.traces < 0:
        raise ConfigError(f"traces = {settings.traces}", hint="it is 0 or more")
    limits = PageLimits(max_bytes=parse_size(settings.max_size, "max_size"), source=settings.source)
    return PagePlan(limits, settings.traces)
