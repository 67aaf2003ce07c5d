"""The percentile bootstrap that published results use, beside our own intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from assay.report.case import Case, dead_engines, pick, real_engines
from assay.report.pages.document import Block, Cell, Heading, Paragraph, Tone, table
from assay.report.results import Results
from assay.report.tables.base import OnDemand
from assay.report.wording import ends, signed_ends
from assay.stats import paired_percentile_bootstrap, percentile_bootstrap
from assay.stats.config import DEFAULT
from assay.stats.records import Comparison, Interval
from assay.stats.tables import headline

_DIFFERS = (
    "What differs: the percentile bootstrap redraws queries as if each were drawn for itself, so it is too narrow "
    "where queries of one repository are alike and, without a t quantile, on a few dozen queries; where no query "
    "differs it claims [0, 0]. Our intervals redraw nothing: Wilson for means, cluster-t for differences, the rule of "
    "three where there is no spread. Verdicts rest on ours, with p-values adjusted for the family."
)


@dataclass(frozen=True, slots=True)
class Resampled:
    """A mean or a paired difference with the interval that published results use, and ours beside it."""

    engine: str
    against: str  # empty for a mean
    measure: str
    value: float
    published: Interval  # percentile bootstrap over queries
    ours: Interval
    queries: int
    resamples: int


def _numbers(case: Case, comparison: Comparison) -> Iterator[Resampled]:
    """Resample the means of the engines that compete, then their differences to the baseline, on the primary measure.

    Each starts from the claim's seed, so that a row does not depend on which others there are.
    """
    names = [name for name in real_engines(case.run) if name not in dead_engines(case.run)]
    if not names:
        return
    shown = headline(pick(case.scores, engines=names, measures=(case.primary,)))
    values = dict(zip(shown.engines, shown.values[:, 0], strict=True))
    level = 1 - case.claim.alpha
    for row in comparison.means:
        if row.engine in values and row.measure == case.primary:
            there = values[row.engine][~np.isnan(values[row.engine])]
            found = percentile_bootstrap(there, np.random.default_rng(case.claim.seed), level=level)
            yield Resampled(row.engine, "", row.measure, row.mean, found, row.interval, row.queries, _B)
    for pair in comparison.rows:
        if pair.in_family and pair.engine in values and pair.baseline in values:
            new, old = values[pair.engine], values[pair.baseline]
            both = ~(np.isnan(new) | np.isnan(old))
            rng = np.random.default_rng(case.claim.seed)
            found = paired_percentile_bootstrap(old[both], new[both], rng, level=level)
            yield Resampled(
                pair.engine, pair.baseline, pair.measure, pair.difference, found, pair.interval, pair.queries, _B
            )


_B = DEFAULT.percentile_resamples


def _blocks(results: Results) -> list[Block]:
    """Show means, then differences, with both intervals and what each would say."""
    means = [row for row in BOOTSTRAP.of(results) if not row.against]
    pairs = [row for row in BOOTSTRAP.of(results) if row.against]
    if not means:
        return []
    heads = [f">percentile bootstrap, B = {_B:,}", ">ours"]
    first = [[row.engine, f"{row.value:.3f}", ends(row.published), ends(row.ours)] for row in means]
    second = [_difference(row) for row in pairs]
    blocks: list[Block] = [
        Heading(f"Bootstrap of {results.comparison.primary}"),
        table(["engine", ">mean", *heads], first),
    ]
    if pairs:
        columns = ["engine", "against", ">difference", heads[0], "excludes 0", heads[1], "excludes 0"]
        blocks.append(table(columns, second, f"Paired, query by query, over {pairs[0].queries} queries."))
    return [*blocks, Paragraph(_DIFFERS, "quiet")]


def _difference(row: Resampled) -> list[str | Cell]:
    """Write one paired difference; the two methods disagreeing is what the table is for."""
    said = [_excludes(interval) for interval in (row.published, row.ours)]
    tone: Tone = "plain" if said[0] == said[1] else "warning"
    return [
        row.engine,
        row.against,
        f"{row.value:+.3f}",
        signed_ends(row.published),
        Cell(said[0], tone),
        signed_ends(row.ours),
        Cell(said[1], tone),
    ]


def _excludes(interval: Interval) -> str:
    """Tell whether an interval lies on one side of 0; one that ends at 0 does not."""
    return "yes" if interval.low > 0 or interval.high < 0 else "no"


BOOTSTRAP: Final = OnDemand("bootstrap", _blocks, _numbers)
