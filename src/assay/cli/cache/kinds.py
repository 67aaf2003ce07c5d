"""Cache entries outside the artifact store; sizes and dates as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.store import ExternalCache

_STEP = 1000


def others() -> tuple[ExternalCache, ...]:
    """List the folders that are no artefacts."""
    from assay.corpus.cache import cache_dir
    from assay.search.index_files import index_dir
    from assay.store import KINDS, ExternalCache
    from assay.store.paths import INDEX

    named = {kind.name: cache_dir() / kind.name for kind in KINDS if not kind.artefact} | {INDEX.name: index_dir()}
    return tuple(ExternalCache(name, folder) for name, folder in named.items())


def shown_size(size: float) -> str:
    """Write a size for people: 1.5 GB."""
    for unit in ("B", "kB", "MB"):
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.2f} GB"


def shown_day(seconds: float) -> str:
    """Write the day of a date."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
