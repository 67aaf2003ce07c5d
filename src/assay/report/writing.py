"""The files a run leaves for people and programs, each replaced whole: nothing in them but what the run says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

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
from assay.report.pages.html import to_html
from assay.report.pages.markdown import to_markdown
from assay.report.pages.plain import indented, plain
from assay.report.per_query import parquet_bytes, per_query_csv
from assay.report.results import Results
from assay.report.rows import rows_text
from assay.report.sections import document
from assay.report.tables import table_files
from assay.scoring import score
from assay.types import Run, Scores

#: What a person looks for in the folder.
WRITTEN = f"{HTML}, {PAGE}, {RESULTS}, {SCORES}, TREC runs and the records"
#: Files that not every run leaves; whatever of an earlier run is there goes.
_EXTRA = (f"{RUNS}*.trec", f"{LINE_RUNS}*.trec", f"{OLD_RUNS}*.trec", f"{QRELS}*.qrels", FOREST)


def results_json(results: Results) -> dict[str, Any]:
    """Give the results as JSON can hold them."""
    fields = cast(dict[str, Any], plain(results))
    return {"schema": "assay/results/1", **fields, "skipped": fields["header"]["skipped"]}


@dataclass(frozen=True, slots=True)
class Reports:
    """Every file that is made from a run, whole before the first of them is written."""

    files: Mapping[str, bytes]  # by name

    def write(self, folder: Path) -> None:
        """Write them; whatever an earlier run left of those that not every run has goes."""
        for name, data in self.files.items():
            remove_leftovers((folder / name).parent, Path(name).name)
            write_atomic(folder / name, data)
        _sweep(folder, self.files)


def make_reports(results: Results, run: Run, *, parquet: bool = False, scores: Scores | None = None) -> Reports:
    """Make RESULTS.md, results.json, rows.json, per-query.csv, TREC files, report.html, and what tables have beside.

    `scores` are those of the measures that the results are about, where somebody has them already.
    """
    report = document(results)
    scores = scores or score(run, results.measures)
    texts = {
        RESULTS: indented(results_json(results)) + "\n",
        ROWS: rows_text(results.rows),
        PAGE: to_markdown(report),
        SCORES: per_query_csv(scores),
        HTML: to_html(report),
        **trec_files(run),
        **table_files(results),
    }
    packed = {PARQUET: parquet_bytes(scores)} if parquet else {}
    return Reports({name: text.encode("utf-8") for name, text in texts.items()} | packed)


def write_reports(
    results: Results, run: Run, folder: Path, *, parquet: bool = False, scores: Scores | None = None
) -> None:
    """Make the files of a run and write them."""
    make_reports(results, run, parquet=parquet, scores=scores).write(folder)


def _sweep(folder: Path, keep: Iterable[str]) -> None:
    """Remove the files of engines and gold sets that the run no longer has, and of tables it does not want."""
    kept = {folder / name for name in keep}
    for pattern in _EXTRA:
        for path in sorted(folder.glob(pattern)):
            if path not in kept:
                path.unlink(missing_ok=True)
