"""What [report] of assay.toml and the flags say of report.html."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from assay.errors import ConfigError
from assay.experiment.spec import Spec
from assay.experiment.spec.own_tables import placed, read_table
from assay.report.explorer.limits import DEFAULT_LIMITS, PageLimits
from assay.report.traced import USUAL_TRACES
from assay.store.paths import parse_size


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
        raise (placed(error, spec, "report", spec.report) if spec else error) from error
    if traces is not None and traces < 0:
        raise ConfigError(f"--traces {traces}", hint="it is 0 or more")
    size = wanted.limits.max_bytes if max_size is None else parse_size(max_size, "--max-size")
    limits = replace(wanted.limits, max_bytes=size, source=wanted.limits.source and not no_source)
    return PagePlan(limits, wanted.traces if traces is None else traces, cheap=traces is None)


def _plan(settings: ReportSettings) -> PagePlan:
    """Check the values of [report]."""
    if settings.traces < 0:
        raise ConfigError(f"traces = {settings.traces}", hint="it is 0 or more")
    limits = PageLimits(max_bytes=parse_size(settings.max_size, "max_size"), source=settings.source)
    return PagePlan(limits, settings.traces)
