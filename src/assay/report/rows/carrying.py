"""Rows of earlier runs: none is lost, and one that cannot be compared any more says why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from assay.experiment.records.merging import LASTING, Footing, skipped_now
from assay.report.rows.records import Row

GONE = "its records were replaced"


def carry(
    rows: Iterable[Row], earlier: Iterable[Row], now: Footing, stale: Mapping[str, str] | None = None
) -> tuple[Row, ...]:
    """Put the rows of earlier runs behind those of this one, marked stale; an engine has one row, the newest."""
    current = tuple(rows)
    measured = {row.engine for row in current if row.state == "measured"}
    skipped = {row.engine: row.reason for row in current if row.state == "skipped"}
    kept = {
        row.engine: replace(row, state="stale", reason=_reason(row, now, stale or {}, skipped), baseline="", verdict="")
        for row in earlier
        if row.state != "skipped" and row.engine not in measured
    }
    # A row with numbers says more than one without; its reason has that of the other.
    fresh = [row for row in current if row.engine not in kept]
    return (*fresh, *(kept[name] for name in sorted(kept)))


def _reason(row: Row, now: Footing, stale: Mapping[str, str], skipped: Mapping[str, str]) -> str:
    """Say why a row takes no part in this run."""
    if row.engine in skipped:
        return skipped_now(skipped[row.engine])
    lasting = row.reason if row.reason in LASTING else GONE
    return stale.get(row.engine) or row.footing.left_by(now) or lasting
