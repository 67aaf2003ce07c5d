"""One row an engine, merged over runs: what was measured now, what was skipped, what stands from earlier runs."""

from assay.report.rows.carrying import carry
from assay.report.rows.files import read_rows, rows_text
from assay.report.rows.making import make_rows
from assay.report.rows.records import Row, Value
from assay.report.rows.showing import row_blocks, skipped_blocks

__all__ = ["Row", "Value", "carry", "make_rows", "read_rows", "row_blocks", "rows_text", "skipped_blocks"]
