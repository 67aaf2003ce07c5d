"""report.html: numbers, queries, rankings and source excerpts in one file."""

from assay.report.explorer.excerpts import SourceTexts
from assay.report.explorer.limits import PageLimits
from assay.report.explorer.page import build_page

__all__ = ["PageLimits", "SourceTexts", "build_page"]
