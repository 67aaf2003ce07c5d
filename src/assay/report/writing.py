"""The files a run leaves for people and programs, each replaced whole: nothing in them but what the run says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.experiment.records.layout import (
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
from assay.experiment.records.trec import trec_files
from assay.files import remove_leftovers, write_atomic
from assay.report.case import Case, pick
from assay.report.explorer.building import Page, TooSmallError, build_page
from assay.report.explorer.saying import in_folder
from assay.report.explorer.settings import PagePlan
from assay.report.pages.markdown import to_markdown
from assay.report.pages.plain import indented
from assay.report.per_query import parquet_bytes, per_query_csv
from assay.report.results import Results, results_json
from assay.report.rows import rows_text
from assay.report.sections import document
from assay.report.tables import table_files
from assay.report.traced import traces_for

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


def make_reports(results: Results, case: Case, *, parquet: bool = False, page: PagePlan = _USUAL) -> Reports:
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


def make_html(results: Results, case: Case, page: PagePlan = _USUAL) -> Page:
    """Make report.html; corpora are opened where they lie on this machine, and nothing is fetched."""
    from assay.experiment.places.texts import corpus_texts

    texts = corpus_texts(case.run) if page.limits.source else None
    traces = traces_for(case, results.challenger, page.traces, cheap=page.cheap)
    return build_page(case, results, texts=texts, traces=traces, limits=page.limits)


def write_html(results: Results, case: Case, path: Path, page: PagePlan = _USUAL) -> Page:
    """Make report.html alone and write it."""
    made = make_html(results, case, page)
    _replace(path, made.data)
    return made


def _replace(path: Path, data: bytes) -> None:
    """Replace a file whole; what a killed writer left beside it goes."""
    remove_leftovers(path.parent, path.name)
    write_atomic(path, data)


def write_reports(
    results: Results, case: Case, folder: Path, *, parquet: bool = False, page: PagePlan = _USUAL
) -> None:
    """Make the files of a run and write them."""
    make_reports(results, case, parquet=parquet, page=page).write(folder)


def _sweep(folder: Path, keep: Iterable[str]) -> None:
    """Remove the files of engines and gold sets that the run no longer has, and of tables it does not want."""
    kept = {folder / name for name in keep}
    for pattern in _EXTRA:
        for path in sorted(folder.glob(pattern)):
            if path not in kept:
                path.unlink(missing_ok=True)
