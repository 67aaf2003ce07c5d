from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType

from assay.errors import ConfigError, SetupError, install_hint
from assay.experiment.records import directory as layout
from assay.experiment.records import lock_directory, read_earlier_run, write_run
from assay.experiment.records.merge import RetainedEngine, comparability_of, merge_runs
from assay.experiment.spec.analysis_plan import BASELINE, fall_back_to_files
from assay.files import remove_leftovers, write_atomic
from assay.processes.forks import forked
from assay.report.analysis import analyze_scored
from assay.report.explorer.html_page import HtmlReport, PageOptions, TooSmallError, build_page, in_folder, make_traces
from assay.report.extra_tables import forest_csv
from assay.report.render.document import to_markdown
from assay.report.render.formatting import format_json
from assay.report.report_sections import document
from assay.report.results_file import Results, results_json
from assay.report.rows_file import carry_over, read_rows, rows_text
from assay.report.scored_run import ScoredRun, pick, score_run
from assay.types import AnalysisPlan, Query, Run, Scores, Unit

#: Files that not every run writes: those of an earlier run are deleted.
_OPTIONAL_FILES = (
    *(f"{directory}*.trec" for directory in (layout.RUNS, layout.LINE_RUNS)),
    f"{layout.QRELS}*.qrels",
    layout.FOREST,
)
_UNIT_COLUMNS = ("engine", "gold", "query", "form", "repository", "hash", "shared", "text")
_USUAL = PageOptions()


@dataclass(frozen=True, slots=True)
class WrittenRun:
    run: Run  # with the retained engines of earlier runs
    scored: ScoredRun
    results: Results
    kept: tuple[str, ...] = ()  # retained engines
    replaced: tuple[str, ...] = ()  # engines whose rankings were only in the earlier run


def publish(
    made: Run,
    plan: AnalysisPlan,
    directory: Path,
    *,
    declared: Mapping[str, RetainedEngine] | None = None,
    drop_stale: bool = False,
    parquet: bool = False,
    page: PageOptions = _USUAL,
) -> WrittenRun:
    """Write a run and its reports into a directory, under its lock.

    Everything is computed before the first write, so a run that cannot be reported on replaces no earlier results.
    Engines in `declared` that did not run now (`--only`) take part with their earlier results, if these are comparable.
    Other rows of earlier runs are kept as stale; `drop_stale` drops them.
    """
    with lock_directory(directory):
        before = read_earlier_run(directory)
        merged = merge_runs(before, made, declared or {})
        run, warnings = _with_plan(merged.run, plan)
        earlier = () if drop_stale else read_rows(directory) or ()
        scored = score_run(run, run.header.analysis_plan or plan)
        results = analyze_scored(scored)
        rows = carry_over(results.rows, earlier, comparability_of(run), merged.stale)
        warnings += results.warnings
        results = replace(results, rows=rows, warnings=warnings, decision=replace(results.decision, warnings=warnings))
        files, problem = _make_files(results, scored, parquet=parquet, page=page)
        write_run(run, directory)
        _write_files(directory, files, problem)
    tested = [engine.name for engine in before.engines if engine.role == "candidate"] if before else []
    replaced = tuple(name for name in tested if name in merged.stale)
    return WrittenRun(run, scored, results, merged.kept, replaced)


def _with_plan(run: Run, plan: AnalysisPlan) -> tuple[Run, tuple[str, ...]]:
    plan = fall_back_to_files(plan, run)
    names = [engine.name for engine in run.engines]
    known = {*names, *run.header.skipped}
    plan = replace(plan, family=tuple(name for name in plan.family if name in known) or plan.family)
    warnings: tuple[str, ...] = ()
    if plan.baseline and plan.baseline not in names:
        other = BASELINE if BASELINE in names else names[0]
        why = run.header.skipped.get(plan.baseline, "it was not run, and no earlier result is comparable")
        warnings = (f"The declared baseline {plan.baseline} is not in this run ({why}); the baseline is {other}.",)
        plan = replace(plan, baseline=other, family=tuple(name for name in plan.family if name != other))
    return replace(run, header=replace(run.header, analysis_plan=plan)), warnings


def reopen(run: Run, plan: AnalysisPlan, directory: Path, *, worst: bool = True) -> tuple[ScoredRun, Results]:
    """Score and analyze the run of a directory; the rows of earlier runs are kept."""
    scored = score_run(run, plan)
    results = analyze_scored(scored, worst=worst)
    rows = carry_over(results.rows, read_rows(directory) or (), comparability_of(run))
    return scored, replace(results, rows=rows)


def write_reports(
    results: Results, scored: ScoredRun, directory: Path, *, parquet: bool = False, page: PageOptions = _USUAL
) -> None:
    """Write every file of a run directory that is made from the records."""
    _write_files(directory, *_make_files(results, scored, parquet=parquet, page=page))


def write_html(results: Results, scored: ScoredRun, path: Path, page: PageOptions = _USUAL) -> HtmlReport:
    made = _make_html(results, scored, page)
    remove_leftovers(path.parent, path.name)
    write_atomic(path, made.data)
    return made


def _make_html(results: Results, scored: ScoredRun, page: PageOptions) -> HtmlReport:
    texts = page.texts(scored.run) if page.texts and page.limits.source else None
    traces = make_traces(scored, results.challenger, page)
    return build_page(scored, results, texts=texts, traces=traces, limits=page.limits, history=page.history)


def _make_files(
    results: Results, scored: ScoredRun, *, parquet: bool, page: PageOptions
) -> tuple[dict[str, bytes], ConfigError | None]:
    """Return the contents of all files by name, and an error if report.html would be too large."""
    scores = pick(scored.scores, measures=results.measures)
    with forked(partial(_make_html, results, scored, page)) as html:
        texts = {
            layout.RESULTS: format_json(results_json(results)) + "\n",
            layout.ROWS: rows_text(results.rows),
            layout.PAGE: to_markdown(document(results)),
            layout.SCORES: per_query_csv(scores, scored.queries),
            **layout.trec_files(scored.run),
            **({layout.FOREST: forest_csv(results)} if "forest" in results.tables else {}),
        }
        files = {name: text.encode("utf-8") for name, text in texts.items()}
        files |= {layout.PARQUET: parquet_bytes(scores, scored.queries)} if parquet else {}
        try:
            return files | {layout.HTML: html().data}, None
        except TooSmallError as error:
            return files, ConfigError(error.message, hint=f"{error.hint}; all other files are written")


def _write_files(directory: Path, files: Mapping[str, bytes], problem: ConfigError | None) -> None:
    """Write the files, then raise `problem`; the run may have taken hours."""
    for name, data in files.items():
        path = directory / name
        remove_leftovers(path.parent, path.name)
        write_atomic(path, data, sync=False)  # `assay score --write` makes them again
    for pattern in _OPTIONAL_FILES:
        for path in sorted(directory.glob(pattern)):
            if path.relative_to(directory).as_posix() not in files:
                path.unlink(missing_ok=True)
    if problem is not None:
        (directory / layout.HTML).unlink(missing_ok=True)
        raise ConfigError(problem.message, hint=in_folder(problem.hint or "", directory))


def per_query_csv(scores: Scores, queries: Mapping[tuple[str, str], Query] = MappingProxyType({})) -> str:
    """Format a CSV with one line per engine and phrasing and one column per measure.

    `queries`, by gold set and id, provide the texts. Values are empty where a measure does not apply.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_UNIT_COLUMNS, *scores.measures])
    for engine, values in zip(scores.engines, scores.values, strict=True):
        for unit, row in zip(scores.units, values.T.tolist(), strict=True):
            numbers = ("" if math.isnan(value) else repr(value) for value in row)
            writer.writerow([*_unit_cells(engine, unit, queries), *numbers])
    return stream.getvalue()


def _unit_cells(engine: str, unit: Unit, queries: Mapping[tuple[str, str], Query]) -> tuple[str, ...]:
    query = queries.get((unit.gold, unit.query))
    text = query.forms.get(unit.form, "") if query else ""
    return (engine, unit.gold, unit.query, unit.form, unit.repository, unit.hash, unit.shared, text)


def require_parquet() -> ModuleType:
    """Import pyarrow, or raise SetupError."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise SetupError("--parquet needs pyarrow", hint=install_hint("parquet")) from error
    module: ModuleType = pyarrow
    return module


def parquet_bytes(scores: Scores, queries: Mapping[tuple[str, str], Query]) -> bytes:
    """Return the CSV's contents as Parquet: names as text, values as doubles, null where a measure does not apply."""
    pyarrow = require_parquet()
    rows = [_unit_cells(engine, unit, queries) for engine in scores.engines for unit in scores.units]
    columns = {
        name: pyarrow.array([row[at] for row in rows], pyarrow.string()) for at, name in enumerate(_UNIT_COLUMNS)
    }
    for m, measure in enumerate(scores.measures):
        columns[measure] = pyarrow.array(scores.values[:, m, :].reshape(-1), pyarrow.float64(), from_pandas=True)
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()
