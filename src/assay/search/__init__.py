"""The reference engine: a plain identifier-aware BM25 over windows of lines.

It knows nothing of gold sets, measures or statistics; `engines/builtin.py` is the only door to it.
"""

from __future__ import annotations

from assay.search.config import SearchConfig
from assay.search.index import Index, Per

__all__ = ["Index", "Per", "SearchConfig"]
