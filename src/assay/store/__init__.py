"""What is kept so that it need not be made again: addressed by what decides it, checked when it is used."""

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
