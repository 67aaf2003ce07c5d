"""The reference engine: code search on a CPU, with nothing to download and a trace of every ranking.

It imports nothing of gold sets, measures or statistics; `engines/builtin.py` and `assay.Index` are its entry points.
"""

from __future__ import annotations

from assay.search.config import SearchConfig
from assay.search.index import Index
from assay.search.query import Per

__all__ = ["Index", "Per", "SearchConfig"]
