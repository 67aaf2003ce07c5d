"""How much the explorer keeps and reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExploringLimits:
    """Bounds of what one server holds in memory and does for one request."""

    depth: int = 3  # folders below the one that was named: results/2026-11/shop
    folders: int = 20_000  # that are looked into for runs: a home folder would take minutes
    runs: int = 1_000  # that are listed; somebody has put them there by a program
    opened: int = 3  # runs in memory: two that are compared, and one more; a big one takes 200 MB
    pages: int = 6  # 3 MB each
    corpora: int = 8  # lists of files; one has some 100 bytes a file
    indexes: int = 3  # the run's own, one of other settings, and the one before it; 100 MB for a large repository
    fresh: float = 20.0  # seconds for which a corpus is not looked at again: 5,000 files take one
    query: int = 4_000  # characters that are asked: the longest that anybody typed, ten times over
    deep: int = 100  # results that are ranked, so that those who left the first k are followed
    source: int = 2_000_000  # bytes of a file that is shown


LIMITS = ExploringLimits()
