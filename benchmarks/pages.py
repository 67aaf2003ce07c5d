"""Sections of RESULTS.md, and numbers as they are written there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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


def timed_command(command: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None) -> Seconds:
    """Run a command and return its wall and processor time; raise Unavailable if it fails."""
    before, start = os.times(), time.perf_counter()
    variables = {**os.environ, **(environment or {})}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode > 1:  # 1 is a verdict
        raise Unavailable(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    return Seconds(wall, after.children_user + after.children_system - before.children_user - before.children_system)


@dataclass(frozen=True, slots=True)
class Seconds:
    wall: float
    cpu: float  # of all processes; on a busy machine, the steadier of the two


def median_text(values: Sequence[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def most_text(values: Sequence[float], most: float) -> str:
    """Return the median and range of values, and whether the median is at most `most`."""
    return f"{median_text(values)}; {'met' if median(values) <= most else 'missed'}: {most:g}"
