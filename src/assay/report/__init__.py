"""Claims → people: numbers first, then a document, then terminal, Markdown and HTML."""

from assay.report.analysis import analyse
from assay.report.sections import document
from assay.report.writing import results_json, write_reports

__all__ = ["analyse", "document", "results_json", "write_reports"]
