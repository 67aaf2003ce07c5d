"""Digests: what tells one value from another, the same on every machine and in every process."""

from __future__ import annotations

import hashlib
import json


def digest_of(value: object) -> str:
    """Digest what JSON can hold; anything else in it counts as the text that it is shown as."""
    return text_digest(json.dumps(value, sort_keys=True, ensure_ascii=True, default=str))


def text_digest(text: str) -> str:
    """Digest a text; halves of characters, which file names may hold, count too."""
    return bytes_digest(text.encode("utf-8", "surrogatepass"))


def bytes_digest(data: bytes) -> str:
    """Digest what a file holds: that of its text where it is UTF-8."""
    return hashlib.sha256(data).hexdigest()
