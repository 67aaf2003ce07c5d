"""The built-in search engine; by default it needs no GPU and downloads nothing. Every ranking can be traced.

This package does not import gold sets, measures or statistics. Its entry points are `engines/builtin.py` and
`assay.Index`.
"""

from __future__ import annotations

from assay.search.config import SearchConfig
from assay.search.index import Index
from assay.search.query import Per

__all__ = ["Index", "Per", "SearchConfig"]
