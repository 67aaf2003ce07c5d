"""A run as one page: its numbers, its queries, every ranking and what of the source fits, packed into report.html."""

from assay.report.explorer.building import make_page
from assay.report.explorer.limits import PageLimits, Texts

__all__ = ["PageLimits", "Texts", "make_page"]
