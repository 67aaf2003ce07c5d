"""The files an audit leaves, each replaced whole."""

from __future__ import annotations

import json
from pathlib import Path

from assay.audit.pages import audit_json, document
from assay.audit.records import Audit
from assay.experiment.records import keep_out
from assay.files import write_atomic
from assay.report.pages.html import to_html
from assay.report.pages.markdown import to_markdown
from assay.report.pages.plain import plain

FILES = ("audit.json", "audit.md", "audit.html")


def write_audit(audit: Audit, folder: Path) -> None:
    """Write audit.json, audit.md and audit.html into a folder that no corpus takes in."""
    page = document(audit)
    data = json.dumps(plain(audit_json(audit)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    keep_out(folder)
    for name, text in zip(FILES, (data, to_markdown(page), to_html(page)), strict=True):
        write_atomic(folder / name, text)
