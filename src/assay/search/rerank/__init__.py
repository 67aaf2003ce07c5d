"""Re-order the best candidates with a model that reads query and passage together; off unless one is named."""

from __future__ import annotations

from assay.search.rerank.base import Passage, Reranker
from assay.search.rerank.make import make_reranker
from assay.search.rerank.order import rerank

__all__ = ["Passage", "Reranker", "make_reranker", "rerank"]
