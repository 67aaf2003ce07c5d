"""Every set that the benchmarks of meaning ask, as far as it is on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.pages import Unavailable
from benchmarks.quality.pool import (
    TUNING,
    Source,
    octocode_sources,
    stdlib_source,
    synthetic_sources,
    visible_sources,
)
from benchmarks.quality.sources import say, visible
from benchmarks.quality.synthetic import kept_for_tuning, reported


@dataclass(frozen=True, slots=True)
class Gathered:
    """The sets, and what is missing or was opened in another way."""

    sources: tuple[Source, ...]
    notes: tuple[str, ...]


def gather(*, tuning: bool = False) -> Gathered:
    """Take the visible half, octocode, the standard library and the synthetic sets; on wish those for tuning, too."""
    here = visible()
    made = reported(here.golds)
    sources = [stdlib_source(), *visible_sources(here.golds), *synthetic_sources(made.sets)]
    notes = [*here.notes, *made.notes]
    if tuning:
        others = kept_for_tuning(here.golds)
        sources += synthetic_sources(others.sets, TUNING)
        notes += others.notes
    try:
        sources += octocode_sources()
    except Unavailable as problem:
        notes.append(say(f"octocode is left out: {problem}"))
    return Gathered(tuple(sources), tuple(notes))
