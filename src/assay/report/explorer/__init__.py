"""A run as one page: its numbers, its queries, every ranking and what of the source fits, packed into report.html."""

from assay.report.explorer.excerpts import SourceTexts
from assay.report.explorer.limits import PageLimits
from assay.report.explorer.page import build_page

__all__ = ["PageLimits", "SourceTexts", "build_page"]
