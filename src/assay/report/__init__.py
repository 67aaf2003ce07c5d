"""Claims → people: numbers first, then a document for terminal and Markdown, and the data that report.html draws."""

from assay.report.analysis import analyse
from assay.report.per_query import require_parquet
from assay.report.publishing import publish, reopen, report_again
from assay.report.results import results_json
from assay.report.sections import document
from assay.report.writing import WRITTEN, write_html, write_reports

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
