"""How a file is cut into the units that are found: by syntax, by heading, or by size."""

from __future__ import annotations

from assay.search.chunking.cutting import cut
from assay.search.chunking.unit import Cut, Source, Unit

__all__ = ["Cut", "Source", "Unit", "cut"]
