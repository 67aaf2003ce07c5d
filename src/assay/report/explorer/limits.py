"""Size limits of report.html."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How large a page may become and what goes into it."""

    max_bytes: int = 3_000_000  # of the whole file: it goes through mail and opens in a second
    source: bool = True  # False: no line of source at all
    around: int = 3  # lines shown before and after a place: enough to see what it stands in
    lines: int = 60  # of one place: longer ones are read in an editor
    top: int = 3  # results of an engine whose source is shown: what a person looks at first
    error: int = 300  # characters of an error text; the records hold the rest


DEFAULT_LIMITS = PageLimits()
