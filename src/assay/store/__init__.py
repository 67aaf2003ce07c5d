"""What is kept so that it need not be made again: addressed by what decides it, checked when it is used."""

from __future__ import annotations

from assay.store.artifacts import Artefacts
from assay.store.code import code_digest, package_digest
from assay.store.maintenance import Other, Pruned, Usage
from assay.store.paths import KINDS, Kind, Limits, parse_age, parse_size
from assay.store.scratch import scratch

__all__ = [
    "KINDS",
    "Artefacts",
    "Kind",
    "Limits",
    "Other",
    "Pruned",
    "Usage",
    "code_digest",
    "package_digest",
    "parse_age",
    "parse_size",
    "scratch",
]
