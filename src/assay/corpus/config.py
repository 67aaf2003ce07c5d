"""The numbers of this room, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may be before it is refused as a bomb, and how long a tool may take."""

    #: The biggest wheel on PyPI that holds source is below this; the rest (CUDA, torch) is binaries.
    archive_bytes: int = 1_000_000_000
    #: Twice the checked-out size of the Linux kernel (1.5 GB in 2024).
    unpacked_bytes: int = 3_000_000_000
    #: The Linux kernel has 86,000 files; four times that is no source package.
    members: int = 350_000
    #: DEFLATE ends at 1,032:1 and source compresses 3 to 8:1, so 200:1 over the whole archive is a bomb ...
    ratio: int = 200
    #: ... once it is big enough to hurt: a small archive of test data full of zeros is not one.
    ratio_grace_bytes: int = 64_000_000
    #: A clone or a download on a slow line; past this, somebody should look.
    tool_seconds: float = 1800.0
    #: One answer of an index; pip's own default is 15, a proxy that scans takes longer.
    http_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class WalkConfig:
    """Which files of a tree count."""

    #: The limit of semble, so that both see the same files. The largest module of the standard library has 757,011
    #: bytes (pydoc_data/topics.py); above a megabyte are generated tables, bundles and data.
    max_bytes: int = 1_000_000
    #: git's own window for telling binary from text is 8,000 bytes.
    head_bytes: int = 8192
    #: A file that is not UTF-8 is binary beyond this share of control characters. They are 27 of the 255 bytes that are
    #: not NUL, so 11 % of compressed or random data; a text that holds a stray one has far fewer than one in fifty.
    control_share: float = 0.02
    #: Our own pages and JSON say so within their first 100 bytes, whatever spaces somebody has put there.
    own_bytes: int = 512
    #: How many names a note lists before it says "and N more".
    listed: int = 5


DEFAULT_LIMITS = ArchiveLimits()
DEFAULT_WALKING = WalkConfig()
