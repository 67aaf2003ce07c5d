"""The reference engine: code search on a CPU, with nothing to download, that explains itself.

It knows nothing of gold sets, measures or statistics; `engines/builtin.py` and `assay.Index` are the doors to it.
"""

from __future__ import annotations

from assay.search.config import SearchConfig
from assay.search.index import Index
from assay.search.query import Per

__all__ = ["Index", "Per", "SearchConfig"]
