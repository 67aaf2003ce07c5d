"""From a run and what may be claimed of it to the rows that are about it."""

from __future__ import annotations

from collections.abc import Iterator

from assay.experiment.records import config_hash
from assay.experiment.records.merging import Footing, day_of, footing_of
from assay.report.case import Case
from assay.report.comparison_blocks import NOT_COMPARED
from assay.report.rows.records import Row, Value
from assay.stats.records import Comparison
from assay.types import EngineRun, Status


def make_rows(case: Case, comparison: Comparison) -> tuple[Row, ...]:
    """Make the rows of a run: its engines in their order, then what was skipped."""
    footing = footing_of(case.run)
    return (*(_measured(case, footing, engine, comparison) for engine in case.run.engines), *_skipped(case))


def _measured(case: Case, footing: Footing, engine: EngineRun, comparison: Comparison) -> Row:
    """Make the row of an engine that was asked."""
    units = [case.scores.units[at] for at in case.headline]
    variation = engine.variation
    return Row(
        engine=engine.name,
        role=engine.role,
        base=variation.base if variation else "",
        changes=dict(variation.changes) if variation else {},
        date=day_of(engine, case.run),
        assay=engine.assay or case.run.header.assay,
        version=engine.version,
        gold_hash=footing.gold_hash,
        corpora=dict(footing.corpora),
        config_hash=config_hash(engine.config),
        fingerprint=engine.fingerprint,
        code=engine.code,
        k=footing.k,
        forms=footing.forms,
        queries=len(units),
        repositories=len({unit.repository for unit in units}),
        asked=len(engine.rankings),
        failed=sum(ranking.status != Status.OK for ranking in engine.rankings),
        primary=comparison.primary,
        values=tuple(_values(engine.name, comparison)),
        baseline=comparison.baseline,
        verdict=_verdict(engine.name, comparison),
    )


def _values(name: str, comparison: Comparison) -> Iterator[Value]:
    """List the means of an engine with their intervals."""
    for row in comparison.means:
        if row.engine == name:
            yield Value(row.measure, row.mean, row.interval.low, row.interval.high, row.queries)


def _verdict(name: str, comparison: Comparison) -> str:
    """Say what is claimed of an engine against the baseline; nothing of one outside the family."""
    if name in comparison.failed:
        return NOT_COMPARED
    return next((row.claim for row in comparison.rows if row.engine == name and row.in_family), "")


def _skipped(case: Case) -> Iterator[Row]:
    """Make the rows of engines that were not run."""
    there = {engine.name for engine in case.run.engines}
    for name, reason in case.run.header.skipped.items():
        if name not in there:
            yield Row(name, "skipped", reason)
