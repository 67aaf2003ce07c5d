"""The built-in search engine. This package does not import gold sets, measures or statistics."""

from __future__ import annotations

from assay.search.config import SearchConfig
from assay.search.index import Index
from assay.search.query import Per

__all__ = ["Index", "Per", "SearchConfig"]
