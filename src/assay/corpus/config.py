"""Limits and settings of corpora."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Size limits of archives, and timeouts of tools and downloads."""

    #: The largest source wheel on PyPI is smaller; larger ones (CUDA, torch) are binaries.
    archive_bytes: int = 1_000_000_000
    #: Twice the checked-out size of the Linux kernel (1.5 GB in 2024).
    unpacked_bytes: int = 3_000_000_000
    #: Four times the 86,000 files of the Linux kernel.
    members: int = 350_000
    #: DEFLATE reaches 1,032:1 and source compresses 3 to 8:1, so 200:1 over the whole archive is a bomb ...
    ratio: int = 200
    #: ... unless it is small, such as an archive of test data full of zeros.
    ratio_grace_bytes: int = 64_000_000
    #: A clone or a download on a slow connection.
    tool_seconds: float = 1800.0
    #: One response of an index; pip's default is 15 s, a scanning proxy takes longer.
    http_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class WalkConfig:
    """Which files of a tree are included."""

    #: The limit of semble, so that both index the same files. The largest module of the standard library has 757,011
    #: bytes (pydoc_data/topics.py); larger files are generated tables, bundles and data.
    max_bytes: int = 1_000_000
    #: git decides between binary and text by the first 8,000 bytes.
    head_bytes: int = 8192
    #: A file that is not UTF-8 is binary above this share of control characters. They are 27 of the 255 bytes other
    #: than NUL, so 11 % of compressed or random data; texts with stray ones have far fewer than 2 %.
    control_share: float = 0.02
    #: Pages and JSON written by Assay are marked within their first 100 bytes, plus whitespace.
    own_bytes: int = 512
    #: Names listed in a note before "and N more".
    listed: int = 5


DEFAULT_LIMITS = ArchiveLimits()
DEFAULT_WALKING = WalkConfig()
