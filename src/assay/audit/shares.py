"""Counts as shares with their intervals."""

from __future__ import annotations

from assay.audit.records import Share


def share(count: int, of: int) -> Share | None:
    """Give the share with its 95 % Wilson interval; none of nothing."""
    if of == 0:
        return None
    from assay.stats.intervals import share_interval

    found = share_interval(count, of)
    return Share(count, of, found.low, found.high, found.level)
