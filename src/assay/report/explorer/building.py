"""Make report.html: every block, as much source as fits, and the sentences about what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from assay.browser.shell import Packed, packed, page, room_in
from assay.errors import ConfigError
from assay.experiment.records.codec import dump
from assay.experiment.records.layout import PAGE
from assay.report.case import Case, pick
from assay.report.explorer.excerpts import Texts, Wanted, cut, fitting, wanted
from assay.report.explorer.gathering import queries, shown_measures, summary, trace_data
from assay.report.explorer.limits import DEFAULT_LIMITS, PageLimits
from assay.report.explorer.packing import pack_values
from assay.report.explorer.rankings import pack_rankings
from assay.report.explorer.saying import Absence, Coverage, Shown, left_out, size_text, size_words
from assay.report.headlines import headline
from assay.report.pages.texts import tame
from assay.report.results import Results

if TYPE_CHECKING:
    from assay.experiment.running.tracing import Traces

SCRIPT = "explorer/main.js"
STYLES = ("base.css", "report.css", "queries.css", "rerun.css")
#: Of the portions of source that seem to fit, those that are tried where more did not.
_LESS = 0.97


class TooSmallError(ConfigError):
    """A page cannot be made as small as it was wanted."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and what it says of what is not in it."""

    data: bytes
    left_out: tuple[str, ...]


def build_page(
    case: Case,
    results: Results,
    *,
    texts: Texts | None,
    traces: Traces | None = None,
    limits: PageLimits = DEFAULT_LIMITS,
    live: Mapping[str, Any] | None = None,
) -> Page:
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

    case: Case
    results: Results
    texts: Texts | None
    traces: Traces | None
    limits: PageLimits
    live: Mapping[str, Any] | None

    def fitted(self, *, scores: bool, traced: bool) -> Page:
        """Make the page with as much source as fits; one that is too large even without any is given as it is."""
        bare = self._made(0, scores=scores, traced=traced)
        room = room_in(self.limits.max_bytes - len(bare.data), "sources")
        count = fitting(self.wanted, self.texts, room) if self.texts and room else 0
        while count:
            made = self._made(count, scores=scores, traced=traced)
            if len(made.data) <= self.limits.max_bytes:
                return made
            over = (self.limits.max_bytes - len(bare.data)) / (len(made.data) - len(bare.data))
            count = int(count * min(over, 1) * _LESS)
        return bare

    def _made(self, count: int, *, scores: bool, traced: bool) -> Page:
        """Make the page with the first portions of source."""
        golds = [gold.name for gold in self.case.run.suite.golds]
        sources = cut(self.wanted, count, self.texts, golds) if self.texts and count else {}
        said = self._left_out(Shown(self._coverage(count), scores, traced or not self._traces))
        data = {
            "summary": _json({**self._facts, "left_out": [one._asdict() for one in said], "live": self.live}),
            "queries": self._queries,
            "values": self._values,
            "rankings": self._with_scores if scores else self._without_scores,
            "sources": sources and _json(sources),
            "traces": traced and self._traces,
        }
        made = page(
            title=tame(headline(self.results)),
            script=SCRIPT,
            styles=STYLES,
            data={name: block for name, block in data.items() if block},
            fallback=_fallback(self.results),
            live=self.live is not None,
        )
        return Page(made, tuple(one.text for one in said))

    def _left_out(self, shown: Shown) -> list[Absence]:
        """Say what is not there, and why."""
        asked = {"sources": self.texts, "traces": self.traces}
        return left_out(shown, self.limits, {block: one.notes for block, one in asked.items() if one})

    def _coverage(self, count: int) -> Coverage | None:
        """Say how much of the source is there with the first portions."""
        found = self.wanted
        if self.texts is None:
            return None
        whole = count == len(found.portions)
        empty = not count and bool(found.portions)
        return Coverage(len(found.differing), found.complete(count), found.begun(count), whole, found.told, empty)

    @cached_property
    def wanted(self) -> Wanted:
        """All source that there would be with room enough."""
        return wanted(self.case, self.results, self.limits)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """The results, whatever else is there."""
        return summary(self.case, self.results, self.limits)

    @cached_property
    def _queries(self) -> Packed:
        """The block of queries."""
        return _json(queries(self.case))

    @cached_property
    def _values(self) -> Packed:
        """The block of values."""
        return packed(pack_values(pick(self.case.scores, measures=shown_measures(self.case)).values))

    @cached_property
    def _with_scores(self) -> Packed:
        """The block of rankings."""
        return packed(pack_rankings(self.case, scores=True, error_length=self.limits.error))

    @cached_property
    def _without_scores(self) -> Packed:
        """The block of rankings, smaller."""
        return packed(pack_rankings(self.case, scores=False, error_length=self.limits.error))

    @cached_property
    def _traces(self) -> Packed | None:
        """The block of traces, where there are any."""
        return _json(trace_data(self.case, self.traces)) if self.traces and self.traces.made else None


def _json(value: object) -> Packed:
    """Write a block of JSON."""
    return packed(dump(value).encode("utf-8"))


def _fallback(results: Results) -> str:
    """Say the verdict to who runs no scripts, and where the tables are."""
    said = (headline(results), results.reading, *results.warnings)
    body = "".join(f"<p>{escape(tame(text))}</p>" for text in said)
    return f"<main>{body}<p>Tables and queries need scripts in this page; {PAGE} beside it has the tables.</p></main>"
