"""Sections of RESULTS.md, and numbers as they are written there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.stats.records import ComparisonRow, MeanRow


class Unavailable(Exception):
    """A benchmark that cannot run on this machine."""


@dataclass(frozen=True, slots=True)
class Section:
    """What one benchmark has to say."""

    lines: tuple[str, ...]
    passed: bool = True  # every target that was set is met


def figures_section(figures: Mapping[str, object]) -> Section:
    """Make a section of named figures, of which `passed` says whether the targets were met."""
    return Section(table(("figure", "value"), list(figures.items())), bool(figures["passed"]))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> tuple[str, ...]:
    """Write a table."""
    lines = [header, ["---"] * len(header), *rows]
    return (*("| " + " | ".join(map(str, row)) + " |" for row in lines), "")


def signed(value: float) -> str:
    """Write a difference."""
    return f"{value:+.3f}"


def mean_text(row: MeanRow) -> str:
    """Write a mean with its interval."""
    return f"{row.mean:.3f} [{row.interval.low:.3f}, {row.interval.high:.3f}]"


def difference_text(row: ComparisonRow) -> str:
    """Write a difference with its interval; nothing that differs has none worth writing."""
    if not row.wins + row.losses:
        return "the same everywhere"
    return f"{signed(row.difference)} [{signed(row.interval.low)}, {signed(row.interval.high)}]"


def target_text(value: float, target: float) -> str:
    """Write a value beside what was wanted."""
    return f"{value:.3f} ({'met' if value >= target else 'missed'}: {target:.2f})"
