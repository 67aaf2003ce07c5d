"""Search by meaning: embedders turn texts into vectors, `Vectors` stores and scores them, the cache spares the work.

Nothing here is imported before somebody asks for dense search, and no embedder's package before that embedder.
"""

from __future__ import annotations

from assay.search.dense.cache import EmbeddingCache
from assay.search.dense.config import EmbedderConfig, VectorConfig
from assay.search.dense.embedders import Embedder, Role
from assay.search.dense.registry import make_embedder
from assay.search.dense.vectors import Vectors, raw_loss

__all__ = [
    "Embedder",
    "EmbedderConfig",
    "EmbeddingCache",
    "Role",
    "VectorConfig",
    "Vectors",
    "make_embedder",
    "raw_loss",
]
