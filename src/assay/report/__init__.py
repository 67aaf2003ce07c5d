"""Analysis and output of runs."""

from assay.report.analysis import analyse
from assay.report.publish import WRITTEN, publish, reopen, report_again, require_parquet, write_html, write_reports
from assay.report.results import results_json
from assay.report.sections import document

__all__ = [
    "WRITTEN",
    "analyse",
    "document",
    "publish",
    "reopen",
    "report_again",
    "require_parquet",
    "results_json",
    "write_html",
    "write_reports",
]
