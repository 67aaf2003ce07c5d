"""A content-checked cache of results that are expensive to compute, addressed by their inputs."""

from __future__ import annotations

from assay.store.artifacts import ArtifactStore
from assay.store.code import code_digest, package_digest
from assay.store.maintenance import DiskUsage, ExternalCache, PruneResult
from assay.store.paths import KINDS, ArtifactKind, StoreLimits, parse_age, parse_size
from assay.store.scratch import scratch

__all__ = [
    "KINDS",
    "ArtifactKind",
    "ArtifactStore",
    "DiskUsage",
    "ExternalCache",
    "PruneResult",
    "StoreLimits",
    "code_digest",
    "package_digest",
    "parse_age",
    "parse_size",
    "scratch",
]
