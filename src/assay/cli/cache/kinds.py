"""What lies in the cache beside artefacts, and how sizes and dates are shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.artefacts import Other

#: Folders of the cache whose members can each be made or fetched again.
_FOLDERS = ("descriptions", "embeddings", "mirrors", "trees")
_STEP = 1000


def others() -> tuple[Other, ...]:
    """List the folders that are no artefacts."""
    from assay.artefacts import Other
    from assay.corpus.cache import cache_dir
    from assay.search.store.place import index_dir

    return (*(Other(name, cache_dir() / name) for name in _FOLDERS), Other("index", index_dir()))


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
