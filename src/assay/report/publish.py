"""Write a finished run to its directory and report on it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from assay.errors import AssayError, ConfigError, SetupError, install_hint
from assay.experiment.records import lock_directory, read_earlier_run, write_run
from assay.experiment.records.directory import (
    FOREST,
    HTML,
    LINE_RUNS,
    OLD_RUNS,
    PAGE,
    PARQUET,
    QRELS,
    RESULTS,
    ROWS,
    RUNS,
    SCORES,
)
from assay.experiment.records.merge import Merged, RetainedEngine, comparability_of, merge_runs
from assay.experiment.records.trec import trec_files
from assay.experiment.spec.model import BASELINE, analysis_plan_of
from assay.files import remove_leftovers, write_atomic
from assay.report.analysis import analyse, analyse_case
from assay.report.explorer.excerpts import traces_for
from assay.report.explorer.page import HtmlReport, PagePlan, TooSmallError, build_page, in_folder
from assay.report.render.markup import to_markdown
from assay.report.render.terminal import indented
from assay.report.results import Results, results_json
from assay.report.rows import EngineRow, carry_over, read_rows, rows_text
from assay.report.scored_run import ScoredRun, open_case, pick
from assay.report.sections import document
from assay.report.tables import table_files
from assay.types import AnalysisPlan, Run, Scores, Unit

_NAMES = ("engine", "gold", "query", "form", "repository", "hash", "shared")


def per_query_csv(scores: Scores) -> str:
    """Write one line for each engine × form of a query, one column for each measure; empty where it does not apply."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_NAMES, *scores.measures])
    for engine, values in zip(scores.engines, scores.values, strict=True):
        for unit, row in zip(scores.units, values.T.tolist(), strict=True):
            writer.writerow([*_names(engine, unit), *map(_text, row)])
    return stream.getvalue()


def _names(engine: str, unit: Unit) -> tuple[str, ...]:
    return (engine, unit.gold, unit.query, unit.form, unit.repository, unit.hash, unit.shared)


def _text(value: float) -> str:
    """Write a value so that it reads back as the same number."""
    return "" if math.isnan(value) else repr(value)


def require_parquet() -> ModuleType:
    """Load what writes Parquet, or say how to get it: before anything runs, not after."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise SetupError("--parquet needs pyarrow", hint=install_hint("parquet")) from error
    module: ModuleType = pyarrow
    return module


def parquet_bytes(scores: Scores) -> bytes:
    """Give what the CSV has, typed: names as text, values as doubles, null where a measure does not apply."""
    pyarrow = require_parquet()
    rows = [_names(engine, unit) for engine in scores.engines for unit in scores.units]
    columns = {name: pyarrow.array([row[at] for row in rows], pyarrow.string()) for at, name in enumerate(_NAMES)}
    for m, measure in enumerate(scores.measures):
        columns[measure] = pyarrow.array(scores.values[:, m, :].reshape(-1), pyarrow.float64(), from_pandas=True)
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()


#: What a person looks for in the folder.
WRITTEN = f"{HTML}, {PAGE}, {RESULTS}, {SCORES}, TREC runs and the records"
_USUAL = PagePlan()
#: Files that not every run leaves; whatever of an earlier run is there goes.
_EXTRA = (f"{RUNS}*.trec", f"{LINE_RUNS}*.trec", f"{OLD_RUNS}*.trec", f"{QRELS}*.qrels", FOREST)


@dataclass(frozen=True, slots=True)
class Reports:
    """Every file that is made from a run, whole before the first of them is written."""

    files: Mapping[str, bytes]  # by name
    problem: ConfigError | None = None  # why there is no report.html

    def write(self, folder: Path) -> None:
        """Write them; whatever an earlier run left of those that not every run has goes.

        A page that cannot be as small as it was wanted is no reason to lose what took hours: it is told at the end.
        """
        for name, data in self.files.items():
            _replace(folder / name, data)
        _sweep(folder, self.files)
        if self.problem is not None:
            (folder / HTML).unlink(missing_ok=True)
            raise ConfigError(self.problem.message, hint=in_folder(self.problem.hint or "", folder))


def make_reports(results: Results, case: ScoredRun, *, parquet: bool = False, page: PagePlan = _USUAL) -> Reports:
    """Make RESULTS.md, results.json, rows.json, per-query.csv, TREC files, report.html, and what tables have beside."""
    report = document(results)
    scores = pick(case.scores, measures=results.measures)
    texts = {
        RESULTS: indented(results_json(results)) + "\n",
        ROWS: rows_text(results.rows),
        PAGE: to_markdown(report),
        SCORES: per_query_csv(scores),
        **trec_files(case.run),
        **table_files(results),
    }
    packed = {PARQUET: parquet_bytes(scores)} if parquet else {}
    problem = None
    try:
        packed[HTML] = make_html(results, case, page).data
    except TooSmallError as error:
        problem = ConfigError(error.message, hint=f"{error.hint}; all else is written")
    return Reports({name: text.encode("utf-8") for name, text in texts.items()} | packed, problem)


def make_html(results: Results, case: ScoredRun, page: PagePlan = _USUAL) -> HtmlReport:
    """Make report.html; corpora are opened where they lie on this machine, and nothing is fetched."""
    from assay.experiment.corpora import corpus_texts

    texts = corpus_texts(case.run) if page.limits.source else None
    traces = traces_for(case, results.challenger, page.traces, cheap=page.cheap)
    return build_page(case, results, texts=texts, traces=traces, limits=page.limits)


def write_html(results: Results, case: ScoredRun, path: Path, page: PagePlan = _USUAL) -> HtmlReport:
    """Make report.html alone and write it."""
    made = make_html(results, case, page)
    _replace(path, made.data)
    return made


def _replace(path: Path, data: bytes) -> None:
    remove_leftovers(path.parent, path.name)
    write_atomic(path, data)


def write_reports(
    results: Results, case: ScoredRun, folder: Path, *, parquet: bool = False, page: PagePlan = _USUAL
) -> None:
    """Make the files of a run and write them."""
    make_reports(results, case, parquet=parquet, page=page).write(folder)


def _sweep(folder: Path, keep: Iterable[str]) -> None:
    kept = {folder / name for name in keep}
    for pattern in _EXTRA:
        for path in sorted(folder.glob(pattern)):
            if path not in kept:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """What lies in the folder now."""

    run: Run  # with the engines of earlier runs that take part
    results: Results
    kept: tuple[str, ...] = ()  # engines that were not asked now


def publish(
    made: Run,
    claim: AnalysisPlan,
    folder: Path,
    *,
    declared: Mapping[str, RetainedEngine] | None = None,
    forget: bool = False,
    parquet: bool = False,
    page: PagePlan = _USUAL,
) -> WrittenRun:
    """Write a run and its reports into a folder that nobody else writes to meanwhile.

    Everything is computed before anything is written: what cannot be reported on replaces no good results.
    `declared` has every engine that keeps its row and, where it can be compared, its place in the run, though it was
    not asked now (`--only`). All other rows are kept as stale ones; `forget` drops those.
    """
    with lock_directory(folder):
        before = read_earlier_run(folder)
        merged = merge_runs(before, made, declared or {})
        run, said = _with_claim(merged.run, claim)
        earlier = () if forget else _earlier_rows(folder, before, merged)
        case = open_case(run, run.header.claim or claim)
        results = analyse_case(case)
        rows = carry_over(results.rows, earlier, comparability_of(run), merged.stale)
        results = replace(results, rows=rows, warnings=(*said, *results.warnings))
        reports = make_reports(results, case, parquet=parquet, page=page)
        write_run(run, folder)
        reports.write(folder)
    return WrittenRun(run, results, merged.kept)


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run that was read from its folder, scored, and what may be said of it."""

    case: ScoredRun
    results: Results


def reopen(run: Run, claim: AnalysisPlan, folder: Path, *, worst: bool = True) -> LoadedRun:
    """Score the run in a folder, and compute what may be said of it, with the rows of earlier runs kept there."""
    case = open_case(run, claim)
    results = analyse_case(case, worst=worst)
    rows = carry_over(results.rows, read_rows(folder) or (), comparability_of(run))
    return LoadedRun(case, replace(results, rows=rows))


def report_again(run: Run, claim: AnalysisPlan, folder: Path) -> Results:
    """Compute what may be said of the run in a folder."""
    return reopen(run, claim, folder).results


def _with_claim(run: Run, claim: AnalysisPlan) -> tuple[Run, tuple[str, ...]]:
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


def _earlier_rows(folder: Path, before: Run | None, merged: Merged) -> tuple[EngineRow, ...]:
    rows = read_rows(folder)
    if rows is not None or before is None or not merged.stale:
        return rows or ()
    try:
        return analyse(before, analysis_plan_of(before)).rows
    except AssayError:  # a run that can no longer be scored has no row to keep
        return ()
