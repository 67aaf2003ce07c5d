"""Know lines again by what they say: a short hash that a line anchor may carry, `path:10-42#0123456789ab`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

#: Hex digits. 48 bits: two of a million ranges are the same by chance once in some hundred sets of that size.
DIGEST_LENGTH = 12


def content_digest(lines: Sequence[str]) -> str:
    """Hash lines without the blanks at their ends, which editors and git change at will."""
    said = "\n".join(line.rstrip() for line in lines)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]


def places(lines: Sequence[str], digest: str, length: int) -> Iterator[int]:
    """Yield the first line, counted from 1, of each run of `length` lines that has the digest."""
    for start in range(1, len(lines) - length + 2):
        if content_digest(lines[start - 1 : start - 1 + length]) == digest:
            yield start
