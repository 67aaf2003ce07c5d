"""From a run that was just made to its folder: joined with what stands there, written down, reported on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.errors import AssayError
from assay.experiment.records import earlier_run, write_run, writing
from assay.experiment.records.merging import Declared, Merged, footing_of, merge_runs
from assay.experiment.spec.claim import BASELINE, claim_of
from assay.report.analysis import analyse, analyse_case
from assay.report.case import Case, open_case
from assay.report.explorer.settings import PagePlan
from assay.report.results import Results
from assay.report.rows import Row, carry, read_rows
from assay.report.writing import make_reports
from assay.types import Claim, Run

_USUAL = PagePlan()


@dataclass(frozen=True, slots=True)
class Published:
    """What lies in the folder now."""

    run: Run  # with the engines of earlier runs that take part
    results: Results
    kept: tuple[str, ...] = ()  # engines that were not asked now


def publish(
    made: Run,
    claim: Claim,
    folder: Path,
    *,
    declared: Mapping[str, Declared] | None = None,
    forget: bool = False,
    parquet: bool = False,
    page: PagePlan = _USUAL,
) -> Published:
    """Write a run and its reports into a folder that nobody else writes to meanwhile.

    Everything is computed before anything is written: what cannot be reported on replaces no good results.
    `declared` has every engine that keeps its row and, where it can be compared, its place in the run, though it was
    not asked now (`--only`). All other rows are kept as stale ones; `forget` drops those.
    """
    with writing(folder):
        before = earlier_run(folder)
        merged = merge_runs(before, made, declared or {})
        run, said = _with_claim(merged.run, claim)
        earlier = () if forget else _earlier_rows(folder, before, merged)
        case = open_case(run, run.header.claim or claim)
        results = analyse_case(case)
        rows = carry(results.rows, earlier, footing_of(run), merged.stale)
        results = replace(results, rows=rows, warnings=(*said, *results.warnings))
        reports = make_reports(results, case, parquet=parquet, page=page)
        write_run(run, folder)
        reports.write(folder)
    return Published(run, results, merged.kept)


@dataclass(frozen=True, slots=True)
class Reopened:
    """A run that was read from its folder, scored, and what may be said of it."""

    case: Case
    results: Results


def reopen(run: Run, claim: Claim, folder: Path, *, worst: bool = True) -> Reopened:
    """Score the run in a folder, and compute what may be said of it, with the rows of earlier runs kept there."""
    case = open_case(run, claim)
    results = analyse_case(case, worst=worst)
    rows = carry(results.rows, read_rows(folder) or (), footing_of(run))
    return Reopened(case, replace(results, rows=rows))


def report_again(run: Run, claim: Claim, folder: Path) -> Results:
    """Compute what may be said of the run in a folder."""
    return reopen(run, claim, folder).results


def _with_claim(run: Run, claim: Claim) -> tuple[Run, tuple[str, ...]]:
    """Give a run its claim; somebody else is compared with where the baseline is neither run nor kept from earlier."""
    names = [engine.name for engine in run.engines]
    known = {*names, *run.header.skipped}
    family = tuple(name for name in claim.family if name in known) or claim.family
    if claim.baseline in names:
        return replace(run, header=replace(run.header, claim=replace(claim, family=family))), ()
    other = BASELINE if BASELINE in names else names[0]
    why = run.header.skipped.get(claim.baseline, "it was not run, and no earlier run of it fits this one")
    changed = replace(claim, baseline=other, family=tuple(name for name in family if name != other))
    said = f"{claim.baseline}, the declared baseline, is not in this run ({why}): {other} stands in its place."
    return replace(run, header=replace(run.header, claim=changed)), (said,)


def _earlier_rows(folder: Path, before: Run | None, merged: Merged) -> tuple[Row, ...]:
    """Read the rows that earlier runs left; those of a run from before there were any are computed."""
    rows = read_rows(folder)
    if rows is not None or before is None or not merged.stale:
        return rows or ()
    try:
        return analyse(before, claim_of(before)).rows
    except AssayError:  # a run that can no longer be scored has no row to keep
        return ()
