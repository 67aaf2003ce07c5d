"""Points with intervals, for a plot of one's own: forest.csv, and the pictures in report.html."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from assay.experiment.records.layout import FOREST as FOREST_FILE
from assay.report.pages.document import Block, Estimate, Forest, Heading, Paragraph
from assay.report.results import Results
from assay.report.tables.base import OnDemand
from assay.report.tables.bootstrap import BOOTSTRAP
from assay.scoring import parse_measure


@dataclass(frozen=True, slots=True)
class _Point:
    """One line of the file: a mean, or a difference where `against` names somebody."""

    engine: str
    against: str
    measure: str
    mean: float
    low: float
    high: float
    n: int
    interval: str  # the method


def _points(results: Results) -> Iterator[_Point]:
    """List means, then differences, then what was resampled."""
    for row in results.comparison.means:
        ends = row.interval
        yield _Point(row.engine, "", row.measure, row.mean, ends.low, ends.high, row.queries, ends.method)
    for pair in (*results.comparison.rows, *results.comparison.secondary):
        ends = pair.interval
        yield _Point(
            pair.engine, pair.baseline, pair.measure, pair.difference, ends.low, ends.high, pair.queries, ends.method
        )
    for drawn in BOOTSTRAP.of(results):
        ends = drawn.published
        yield _Point(
            drawn.engine, drawn.against, drawn.measure, drawn.value, ends.low, ends.high, drawn.queries, ends.method
        )


def forest_csv(results: Results) -> str:
    """Write one line a point; numbers read back as the same numbers."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["engine", "against", "measure", "mean", "low", "high", "n", "interval"])
    for p in _points(results):
        numbers = [repr(float(value)) for value in (p.mean, p.low, p.high)]
        writer.writerow([p.engine, p.against, p.measure, *numbers, p.n, p.interval])
    return stream.getvalue()


def _blocks(results: Results) -> list[Block]:
    """Draw each measure where there is room for it; the primary one stands under Scores already."""
    blocks: list[Block] = [
        Heading("Forest"),
        Paragraph(
            f"{FOREST_FILE} holds every mean and every difference with its interval; report.html draws every measure, "
            f"Scores draws {results.comparison.primary}.",
            "quiet",
        ),
    ]
    for name in results.measures:
        points = tuple(
            Estimate(f"{results.shown(row.engine)}, {name}", row.mean, row.interval.low, row.interval.high)
            for row in results.comparison.means
            if row.measure == name
        )
        measure = parse_measure(name)
        if points and name != results.comparison.primary and abs(measure.high - measure.low) != float("inf"):
            blocks.append(Forest(points, measure.low, measure.high, on_pages=True))
    return blocks


def _files(results: Results) -> dict[str, str]:
    """Give the file."""
    return {FOREST_FILE: forest_csv(results)}


FOREST: Final[OnDemand[object]] = OnDemand("forest", _blocks, files=_files)
