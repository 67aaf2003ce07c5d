"""The files a run leaves for people and programs, each replaced whole: nothing in them but what the run says."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from assay.experiment.records.trec import trec_files
from assay.files import remove_leftovers, write_atomic
from assay.report.pages.html import to_html
from assay.report.pages.markdown import to_markdown
from assay.report.pages.plain import indented, plain
from assay.report.per_query import per_query_csv, write_parquet
from assay.report.results import Results
from assay.report.rows import rows_text
from assay.report.sections import document
from assay.report.tables.forest import FILE as FOREST_FILE
from assay.report.tables.forest import forest_csv
from assay.scoring import score
from assay.types import Run, Scores

#: What a person looks for in the folder.
WRITTEN = "report.html, RESULTS.md, results.json, per-query.csv, TREC runs and the records"
#: Files that not every run leaves; whatever of an earlier run is there goes.
_EXTRA = ("runs/*.trec", "runs/files/*.trec", "qrels/*.qrels", FOREST_FILE)


def results_json(results: Results) -> dict[str, Any]:
    """Give the results as JSON can hold them."""
    fields = cast(dict[str, Any], plain(results))
    return {"schema": "assay/results/1", **fields, "skipped": fields["header"]["skipped"]}


def write_reports(
    results: Results, run: Run, folder: Path, *, parquet: bool = False, scores: Scores | None = None
) -> None:
    """Write RESULTS.md, results.json, rows.json, per-query.csv, TREC files, report.html, and forest.csv if wanted.

    `scores` are those of the measures that the results are about, where somebody has them already.
    """
    report = document(results)
    scores = scores or score(run, results.measures)
    extra = trec_files(run) | ({FOREST_FILE: forest_csv(results)} if "forest" in results.tables else {})
    texts = {
        "results.json": indented(results_json(results)) + "\n",
        "rows.json": rows_text(results.rows),
        "RESULTS.md": to_markdown(report),
        "per-query.csv": per_query_csv(scores),
        "report.html": to_html(report),
        **extra,
    }
    for name, text in texts.items():
        remove_leftovers((folder / name).parent, Path(name).name)
        write_atomic(folder / name, text)
    if parquet:
        write_parquet(scores, folder / "per-query.parquet")
    _sweep(folder, extra)


def _sweep(folder: Path, keep: Iterable[str]) -> None:
    """Remove the files of engines and gold sets that the run no longer has, and of tables it does not want."""
    kept = {folder / name for name in keep}
    for pattern in _EXTRA:
        for path in sorted(folder.glob(pattern)):
            if path not in kept:
                path.unlink(missing_ok=True)
