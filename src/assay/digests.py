"""Reproducible SHA-256 digests."""

from __future__ import annotations

import hashlib
import json


def digest_of(value: object) -> str:
    """Return the digest of a JSON value; other objects inside it count as their `str`."""
    return text_digest(json.dumps(value, sort_keys=True, ensure_ascii=True, default=str))


def text_digest(text: str) -> str:
    """Return the digest of a text, which may contain lone surrogates, as file names do."""
    return bytes_digest(text.encode("utf-8", "surrogatepass"))


def bytes_digest(data: bytes) -> str:
    """Return the digest of bytes; that of UTF-8 bytes equals the digest of their text."""
    return hashlib.sha256(data).hexdigest()
