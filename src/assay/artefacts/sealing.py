"""Bytes under a checksum, so that what a disk lost or somebody cut short is never taken for an answer."""

from __future__ import annotations

import hashlib
from typing import Final

_MAGIC: Final = b"assay-artefact 1 "
_HEAD: Final = len(_MAGIC) + 64 + 1


def name_of(kind: str, key: str) -> str:
    """Turn a key into a file name; 160 bits never meet by chance."""
    return hashlib.sha256(f"{kind}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()[:40]


def seal(name: str, data: bytes) -> bytes:
    """Put a checksum before data; the name is under it too, so that a file that was moved is noticed."""
    return _MAGIC + _checksum(name, data) + b"\n" + data


def unseal(name: str, sealed: bytes) -> bytes | None:
    """Give the data; None unless they are, to the bit, what was sealed under this name."""
    data = sealed[_HEAD:]
    return data if sealed[:_HEAD] == _MAGIC + _checksum(name, data) + b"\n" else None


def _checksum(name: str, data: bytes) -> bytes:
    """Give the checksum as text."""
    return hashlib.sha256(name.encode("ascii") + b"\0" + data).hexdigest().encode("ascii")
