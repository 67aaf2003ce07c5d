"""The cache on disk: values, directories and workspaces, each identified by a kind and a key."""

from __future__ import annotations

from assay.store.kinds import KINDS, LIMITED, ArtifactKind, StoreLimits, cache_dir, parse_age, parse_size
from assay.store.maintenance import DiskUsage, PruneResult
from assay.store.scratch import scratch
from assay.store.store import Store, writer_lock

__all__ = [
    "KINDS",
    "LIMITED",
    "ArtifactKind",
    "DiskUsage",
    "PruneResult",
    "Store",
    "StoreLimits",
    "cache_dir",
    "parse_age",
    "parse_size",
    "scratch",
    "writer_lock",
]
